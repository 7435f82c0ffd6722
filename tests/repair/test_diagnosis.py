"""Diagnose tokenizers small enough to see the fault at a glance, and real pairs."""

import html
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import pytest

from support.bare_tokenizer import Bare
from support.fake_tokenizer import FakeTokenizer
from support.faults.spellings import encoded_twice
from support.paths import SAMPLE
from support.spec_maker import CONTROL, USER_DEFINED, bpe_spec, spm_spec
from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.opened import Opened
from tokverify.engine.byte_level import to_byte_level
from tokverify.engine.encoder import Encoder
from tokverify.engine.settings import resolve
from tokverify.references import open_reference
from tokverify.repair.array_change import merges, scores
from tokverify.repair.budget import Budget
from tokverify.repair.evidence import Evidence, Target
from tokverify.repair.piece_change import all_reference_texts, reference_texts
from tokverify.repair.search import DiagnosisResult, diagnose
from tokverify.repair.setting_change import declared_special_ids, special_ids
from tokverify.sources.load import load_gguf
from tokverify.spec import TokenizerSpec, TokenType

SPM = spm_spec({"▁": -5, "a": -1, "b": -2, "ab": -3, "▁a": -4, "  ": 0, "<x>": 0}, {"  ": USER_DEFINED, "<x>": CONTROL})
BPE = bpe_spec(["a b", "ab c", "Ġ a", "1 2"], {"<x>": CONTROL})
TEXTS = ("ab", "a  b", "a<x>b", "abc 12", " ab", "x", "", "don't 12ab")


def cases(*texts: str) -> list[Case]:
    modes = [(False, True), (True, True)]
    return [
        Case(id=f"{index}-{add_special}", suite="s", text=text, add_special=add_special, parse_special=parse_special)
        for index, text in enumerate(texts)
        for add_special, parse_special in modes
    ]


def found(wrong: TokenizerSpec, right: TokenizerSpec, *texts: str) -> DiagnosisResult | None:
    actual, expected = Encoder(wrong), Encoder(right, "right")
    report = verify_tokenizers(actual, expected, cases(*(texts or TEXTS)))
    return diagnose(wrong, Opened(expected), report.results, encoder=actual)


def retyped(spec: TokenizerSpec, text: str, type: TokenType) -> TokenizerSpec:
    return replace(
        spec, types=[type.value if token == text else old for token, old in zip(spec.tokens, spec.types, strict=True)]
    )


def test_a_role_is_not_given_to_another_token_that_has_the_same_number():
    def insert(values, value):
        return [*values[:1], value, *values[1:]]

    moved = replace(
        SPM,
        tokens=insert(SPM.tokens, "new"),
        types=insert(list(SPM.types), TokenType.NORMAL.value),
        scores=insert(SPM.scores, 0.0),
        special_ids={"bos": 0},
    )
    target = Target("s/one", "a", add_special=True, parse_special=True, expected=(1, 260))
    changes = special_ids(Evidence(moved, Encoder(moved), Opened(Encoder(SPM)), [target]))
    assert [change.sentence for change in changes if "bos" in change.sentence] == [
        'making token 2 "<s>" the bos token (tokenizer.ggml.bos_token_id)'
    ]


def test_the_reference_of_another_model_is_not_diagnosed():
    assert found(load_gguf(SAMPLE / "sample.gguf").spec, SPM, *TEXTS) is None


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        (SPM, retyped(SPM, "  ", TokenType.NORMAL), 'setting the type of token 264 "  " to USER_DEFINED'),
        (SPM, retyped(SPM, "<x>", TokenType.NORMAL), 'setting the type of token 265 "<x>" to CONTROL'),
        (SPM, retyped(SPM, "b", TokenType.USER_DEFINED), 'setting the type of token 261 "b" to NORMAL'),
        (SPM, replace(SPM, add_space_prefix=False), "turning add_space_prefix on"),
        (SPM, replace(SPM, add_bos=False), "turning add_bos on"),
        (SPM, replace(SPM, add_eos=True), "turning add_eos off"),
        (SPM, replace(SPM, special_ids={"bos": 2}), 'making token 1 "<s>" the bos token (tokenizer.ggml.bos_token_id)'),
        (SPM, replace(SPM, scores=[0.0] * 266), "using the reference's scores (4 tokens rank in another order)"),
        (BPE, replace(BPE, pre="qwen2"), "setting the pre-tokenizer to gpt-2 instead of qwen2 (tokenizer.ggml.pre)"),
        (
            BPE,
            replace(BPE, merges=BPE.merges[1:]),
            "using the reference's 4 merges (1 missing, 0 extra)",
        ),
        (BPE, replace(BPE, tokens=BPE.tokens[:-1], types=BPE.types[:-1]), "adding token 260 (new) from the reference"),
    ],
)
def test_a_single_fault_is_diagnosed(right: TokenizerSpec, wrong: TokenizerSpec, sentence: str):
    result = found(wrong, right)
    best = result.diagnosis.explanations[0]
    assert (best.sentence, best.explained, best.unexplained) == (sentence, result.diagnosis.failing, ())
    assert best.expressible
    changed = Encoder(result.changes[0].transform(wrong))
    intact = Encoder(right)
    assert [changed.encode(text, add_special=True) for text in TEXTS] == [
        intact.encode(text, add_special=True) for text in TEXTS
    ]


def test_tokens_behind_padding_are_exchanged_with_it():
    size = len(BPE.tokens)
    pads = [f"[PAD{id}]" for id in range(size - 1, size + 1)]
    unused = [TokenType.UNUSED] * 2
    tokens, types = [*BPE.tokens[:-1], *pads, "<x>"], [*BPE.types[:-1], *unused, CONTROL]
    wrong = replace(BPE, tokens=tokens, types=types, special_ids={"eos": size + 1, "pad": 0})
    result = found(wrong, BPE)
    best = result.diagnosis.explanations[0]
    assert best.unexplained == ()
    assert best.sentence.startswith(f"rewriting token {size - 1} ")
    assert f"which puts padding in the place of token {size + 1} " in best.sentence
    assert best.sentence.endswith(", and moves eos along")
    changed = result.changes[0].transform(wrong)
    assert changed.special_ids == {"eos": size - 1, "pad": 0}
    assert list(changed.tokens) == [*BPE.tokens, pads[1], pads[0]]
    assert list(changed.types) == [*BPE.types, *unused]


def test_two_faults_are_diagnosed_together():
    wrong = replace(retyped(BPE, "<x>", TokenType.NORMAL), pre="qwen2")
    best = found(wrong, BPE).diagnosis.explanations[0]
    assert best.kind in {"types+pre", "pre+types"}
    assert best.unexplained == ()
    assert best.gguf_command is None


def test_a_change_that_breaks_a_matching_case_is_not_reported():
    # Without "12" in the vocabulary the failing text needs no merge, the matching one does.
    right, wrong = BPE, replace(BPE, pre="qwen2")
    for change in found(wrong, right, "12", "12ab", "abc").changes:
        changed = Encoder(change.transform(wrong))
        assert changed.encode("abc") == Encoder(right).encode("abc")


def test_matching_tokenizers_need_no_diagnosis():
    assert found(SPM, SPM) is None


def test_a_reference_that_returns_only_ids_is_enough():
    class Plain(FakeTokenizer):
        """Gives the ids of the right tokenizer, and nothing else."""

        def encode(self, text: str, **options: bool) -> list[int]:
            return Encoder(SPM).encode(text, **options)

    wrong = retyped(retyped(SPM, "  ", TokenType.NORMAL), "<x>", TokenType.NORMAL)
    actual, expected = Encoder(wrong), Plain(*SPM.tokens)
    report = verify_tokenizers(actual, expected, cases("a  b", "ab", "b<x>a"))
    result = diagnose(wrong, Opened(expected), report.results, encoder=actual)
    assert result.diagnosis.explanations[0].unexplained == ()
    assert resolve(result.changes[0].transform(wrong)).added_tokens == resolve(SPM).added_tokens


def test_the_search_stops_at_its_limit_and_names_what_was_not_tried():
    wrong = replace(BPE, pre="qwen2")
    actual, expected = Encoder(wrong), Encoder(BPE)
    report = verify_tokenizers(actual, expected, cases(*TEXTS))
    found = diagnose(wrong, Opened(expected), report.results, encoder=actual, budget=Budget(-1)).diagnosis
    assert (found.explanations, found.stopped_early, found.tried) == ((), True, 0)
    assert {"pre-tokenizer", "merges"} <= set(found.not_tried)


def test_flags_are_added_to_the_best_change_even_if_the_budget_is_spent():
    wrong = replace(BPE, pre="qwen2", add_eos=True)
    actual, expected = Encoder(wrong), Encoder(BPE)
    report = verify_tokenizers(actual, expected, cases("12", "a 12", "12ab", "1 12"))
    found = diagnose(wrong, Opened(expected), report.results, encoder=actual, budget=Budget(120)).diagnosis
    best = found.explanations[0]
    pre = "setting the pre-tokenizer to gpt-2 instead of qwen2 (tokenizer.ggml.pre)"
    assert best.sentence == f"{pre}, and turning add_eos off"
    assert (best.unexplained, found.stopped_early) == ((), False)


def test_the_broken_sample_is_diagnosed():
    encoder, found = load_gguf(SAMPLE / "sample-broken.gguf"), open_reference(SAMPLE / "sample.tokenizer.model")
    report = verify_tokenizers(encoder, found.tokenizer, load_cases())
    result = diagnose(encoder.spec, Opened(found.tokenizer, found.path), report.results, encoder=encoder)
    best = result.diagnosis.explanations[0]
    assert best.sentence.startswith("setting the type of 30 tokens (ids 4-33, runs of spaces, runs of tabs")
    assert best.sentence.endswith(" to USER_DEFINED")
    assert best.explained == best.failing >= 80


@pytest.mark.parametrize(
    ("name", "end", "kinds", "unexplained"),
    [
        ("xlnet", ".tokenizer.model", {"special_decoding"}, 0),
    ],
)
def test_real_differences_are_diagnosed(vocabs: Path, name: str, end: str, kinds: set[str], unexplained: int):
    encoder, found = load_gguf(vocabs / f"{name}.gguf"), open_reference(vocabs / (name + end))
    report = verify_tokenizers(encoder, found.tokenizer, load_cases())
    facts = Opened(found.tokenizer, found.path)
    result = diagnose(encoder.spec, facts, report.results, encoder=encoder, budget=Budget(3_000_000))
    best = result.diagnosis.explanations[0]
    assert set(best.kind.split("+")) == kinds
    assert len(best.unexplained) == unexplained


@pytest.mark.parametrize("id", [-1, -300])
def test_a_role_that_a_damaged_reference_gives_to_no_token_is_left_alone(id: int):
    reference = Bare(Encoder(BPE, "right"))
    reference.special_ids = {"eos": id, "bos": id}
    targets = [Target(text, text, add_special=True, parse_special=True, expected=(97, 256)) for text in "ab"]
    sentences = [change.sentence for change in special_ids(Evidence(BPE, Encoder(BPE), Opened(reference), targets))]
    assert not any(f"token {id} " in sentence for sentence in sentences)


def test_a_reference_that_adds_another_token_than_its_eos_gets_that_token():
    """Qwen3-Embedding ends texts with <|endoftext|>, and its configuration names <|im_end|>."""
    right = bpe_spec((), {"<|endoftext|>": CONTROL, "<|im_end|>": CONTROL}, special_ids={"eos": 256}, add_eos=True)
    wrong = replace(right, special_ids={"bos": 256, "eos": 257})
    reference = Bare(Encoder(right, "right"))
    reference.special_ids = {"eos": 257}
    ids = right.tokens.index
    targets = [Target(text, text, add_special=True, parse_special=True, expected=(ids(text), 256)) for text in "ab"]
    sentences = [change.sentence for change in special_ids(Evidence(wrong, Encoder(wrong), Opened(reference), targets))]
    assert sentences[0].startswith('making token 256 "<|endoftext|>" the eos token')
    assert not any("the bos token" in sentence for sentence in sentences)


def test_a_model_that_ranks_by_its_own_scores_is_kept_if_a_token_is_all_that_is_missing():
    """The scores of Gemma 3 do not follow from its merges, so a tokenizer.json is read as another model."""
    pieces = {"▁": -1, "a": -2, "b": -3, "ab": -4, "▁a": -5, "  ": -9}
    roles = {"bos": 1, "eos": 2, "unk": 0}
    right = spm_spec(pieces, {"  ": USER_DEFINED}, special_ids=roles, add_bos=True, add_space_prefix=False)
    spec = replace(right, tokens=[*right.tokens, "<image>"], types=[*right.types, 4], scores=[*right.scores, 0.0])
    expected = Encoder(spec, "right")
    facts = Opened(expected)
    # A tokenizer.json writes the run of spaces in its own way, which would break it here.
    tokens = [token.replace("  ", "▁▁") for token in spec.tokens]
    parts = {"model": "gemma4", "pre": "gemma4", "scores": None, "merges": ["▁ ▁", "a b", "▁ a"]}
    vars(facts)["spec"] = replace(spec, tokens=tokens, **parts)
    actual = Encoder(replace(right, special_ids={"bos": 2, "eos": 2, "unk": 0}))
    texts = ("ab", " a<image>b", "<image>", "ab ab", "a  a")
    result = diagnose(actual.spec, facts, verify_tokenizers(actual, expected, cases(*texts)).results, encoder=actual)
    assert result is not None
    best = result.diagnosis.explanations[0]
    assert "adding token" in best.sentence
    assert "gemma4" not in best.sentence
    assert not best.unexplained


@pytest.mark.parametrize(
    ("model", "change", "reason"),
    [
        (
            "llama",
            lambda text: text.encode().decode("latin-1"),
            "as in the reference (their UTF-8 was read as Latin-1)",
        ),
        ("llama", lambda text: f"{text}\r", "as in the reference (a line end was kept behind each)"),
        ("llama", lambda text: text.replace("\n", "\r\n"), "as in the reference (line ends were converted)"),
        ("llama", lambda text: normalize("NFKC", text), "as in the reference (they were normalized with NFKC)"),
        ("llama", lambda text: text.replace("\n", "\\n"), "as in the reference (line breaks and tabs were escaped)"),
        ("llama", lambda text: text.swapcase(), "as in the reference"),
        ("llama", html.escape, "as in the reference (they were escaped for HTML)"),
        ("llama", lambda text: text[:2], "as in the reference (they were cut off)"),
        ("gpt2", str.lower, "as in the reference (they were written in lowercase)"),
        ("gpt2", lambda text: text.replace("Ġ", " "), "as in the reference (they had spaces instead of Ġ)"),
        ("gpt2", to_byte_level, "as in the reference (their bytes were mapped to characters twice)"),
        ("gpt2", encoded_twice, "as in the reference (their bytes were mapped to characters twice)"),
    ],
)
def test_the_cause_says_what_a_program_did_to_the_texts_of_tokens(model, change, reason):
    words = ["größe", "ﬁx", "naïve", "x\ny", "<b>"] if model == "llama" else ["Ġword", "Ġother", "ĠgrÃ¶ÃŁe"]
    made = {"llama": lambda: spm_spec(dict.fromkeys(words, -1.0)), "gpt2": lambda: bpe_spec((), tokens=words)}[model]
    right = made()
    tokens = [change(token) if token in words else token for token in right.tokens]
    facts = Opened(Encoder(right, "right"))
    evidence = Evidence(replace(right, tokens=tokens), None, facts, ())
    (all_texts,) = all_reference_texts(evidence)
    sentences = [change.sentence for change in reference_texts(evidence)]
    assert all_texts.sentence.endswith(f" {reason}")
    assert sentences == [all_texts.sentence]


def test_the_cause_says_that_pieces_are_spelled_as_in_a_vocab_txt():
    right = bpe_spec((), tokens=["▁the", "ing", "▁fox"])
    wrong = replace(right, tokens=[*right.tokens[:-3], "the", "##ing", "fox"])
    evidence = Evidence(wrong, None, Opened(Encoder(right, "right")), ())
    (all_texts,) = all_reference_texts(evidence)
    reason = "as in the reference (they were kept as in a vocab.txt, with ## inside words and no ▁ before them)"
    assert all_texts.sentence == f"rewriting 3 tokens (ids 256-258) {reason}"
    assert all_texts.sentence in [change.sentence for change in reference_texts(evidence)]


def test_a_role_is_named_by_both_texts_of_its_token_if_they_differ():
    right = bpe_spec((), {"<S>": CONTROL, "<E>": CONTROL}, special_ids={"bos": 256, "eos": 257})
    wrong = replace(right, tokens=[*right.tokens[:256], "<E>", "<S>"], special_ids={"bos": 257, "eos": 256})
    evidence = Evidence(wrong, None, Opened(Encoder(right, "right")), ())
    sentences = [change.sentence for change in declared_special_ids(evidence)]
    assert sentences[0].startswith('making token 257 "<S>" ("<E>" in the reference) the eos token')


def test_tokens_that_moved_because_others_are_lost_are_described_so():
    """A BERT file without `[unused0]` and so on."""
    right = bpe_spec((), tokens=["[unused0]", "word", "[unused1]", "other"])
    lost = replace(right, tokens=[token for token in right.tokens if "unused" not in token], types=[1] * 258)
    evidence = Evidence(lost, None, Opened(Encoder(right, "right")), ())
    reason = 'as in the reference (the file has lost 2 tokens, such as "[unused0]", so that these have lower ids)'
    expected = f"rewriting 2 tokens (ids 256-257) {reason}"
    assert [change.sentence for change in all_reference_texts(evidence)] == [expected]
    assert [change.sentence for change in reference_texts(evidence)] == [expected]


def test_scores_of_the_reference_are_used_for_the_tokens_that_it_has_if_the_file_has_padding():
    size = len(SPM.tokens)
    types = [*SPM.types, TokenType.UNUSED]
    padded = replace(SPM, tokens=[*SPM.tokens, "[PAD]"], types=types, scores=[-1000.0] * (size + 1))
    (change,) = scores(Evidence(padded, None, Opened(Encoder(SPM, "right")), ()))
    assert change.transform(padded).scores == [*SPM.scores, -1000.0]


def test_merges_that_are_separated_by_tabs_are_described_so():
    wrong = replace(BPE, merges=[merge.replace(" ", "\t") for merge in BPE.merges])
    (change,) = merges(Evidence(wrong, None, Opened(Encoder(BPE, "right")), ()))
    assert change.sentence == "using the reference's 4 merges (the same merges, with tabs instead of spaces)"
