"""Whether two models can be used together: planted pairs, with what each program says of them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from click.testing import CliRunner

from support.limits import write_json
from support.paths import SAMPLE
from support.rule_maker import bpe_json
from support.spec_maker import CONTROL, bpe_spec, spm_spec
from tokverify.case import Case
from tokverify.commands.cli import main
from tokverify.commands.tasks.diff import diff_tokenizers
from tokverify.compare.diff.compare import compare_versions
from tokverify.compare.diff.version import Version
from tokverify.compare.side import side_of
from tokverify.engine.encoder import Encoder
from tokverify.render.diff import verdict
from tokverify.report.diff import Fit, Use, check_diff, diff_exit_code
from tokverify.sources.gguf.writer import write_gguf
from tokverify.spec import TokenizerSpec, TokenType

ENDS = {"<s>": CONTROL, "<e>": CONTROL}
"""The tokens 259 and 260."""
BASE = bpe_spec(["a b", "c d", "ab cd"], ENDS, special_ids={"bos": 259, "eos": 260}, add_bos=True)
TEXTS = [Case(id=text, suite="pairs", text=text) for text in ("abcd", "x")]


def renamed(token: int, piece: str) -> TokenizerSpec:
    return replace(BASE, tokens=[*BASE.tokens[:token], piece, *BASE.tokens[token + 1 :]])


def padded(count: int, type: TokenType = TokenType.UNUSED) -> TokenizerSpec:
    pads = [f"[PAD{len(BASE.tokens) + number}]" for number in range(count)]
    return replace(BASE, tokens=[*BASE.tokens, *pads], types=[*BASE.types, *[type.value] * count])


TURNS = replace(
    BASE, tokens=[*BASE.tokens, "<|im_end|>"], types=[*BASE.types, CONTROL], special_ids={"bos": 259, "eos": 260}
)
"""llama.cpp ends a generation at both 260 and 261."""
THINKING = replace(BASE, tokens=[*BASE.tokens, "<think>"], types=[*BASE.types, CONTROL])


def judge(a: TokenizerSpec, b: TokenizerSpec, *uses: Use, texts: Sequence[Case] = TEXTS):
    versions = [Version(encoder := Encoder(spec), side_of(encoder), spec) for spec in (a, b)]
    return compare_versions(*versions, texts, uses=uses)


@pytest.mark.parametrize(
    ("use", "b", "fit", "reason"),
    [
        (Use.SPECULATIVE, BASE, Fit.USABLE, "every id is the same token"),
        (Use.SPECULATIVE, padded(128), Fit.LIMITED, "the ids up to 260 are the same tokens"),
        (
            Use.SPECULATIVE,
            padded(129),
            Fit.UNUSABLE,
            "the target has 261 tokens, the draft 390; the numbers may differ",
        ),
        (Use.SPECULATIVE, spm_spec({"a": -1.0}), Fit.UNUSABLE, "the target is a bpe model, the draft a spm model"),
        (Use.SPECULATIVE, replace(BASE, add_bos=False), Fit.UNUSABLE, "only the target adds BOS"),
        (
            Use.SPECULATIVE,
            replace(BASE, special_ids={"bos": 260, "eos": 260}),
            Fit.UNUSABLE,
            "BOS is 259 in the target",
        ),
        (
            Use.SPECULATIVE,
            replace(BASE, special_ids={"bos": 259, "eos": 259}),
            Fit.USABLE,
            "every id is the same token; EOS is 260 in the target, 259 in the draft, which llama.cpp does not compare",
        ),
        (Use.SPECULATIVE, renamed(5, "renamed"), Fit.UNUSABLE, 'such as 5: "'),
        (Use.SPECULATIVE, renamed(4, "renamed"), Fit.LOSSY, "of which these are other tokens: 4"),
        (Use.SPECULATIVE, replace(BASE, merges=BASE.merges[:2]), Fit.LOSSY, "12 of 88 texts get different ids"),
        (Use.SPECULATIVE, THINKING, Fit.LIMITED, "the ids up to 260 are the same tokens"),
        (Use.SPECULATIVE, replace(THINKING, merges=BASE.merges[:2]), Fit.LOSSY, "texts get different ids"),
        (
            Use.SPECULATIVE_VLLM,
            padded(1),
            Fit.UNUSABLE,
            "vLLM refuses the pair: the target has 261 tokens, the draft 262",
        ),
        (Use.SPECULATIVE_VLLM, renamed(256, "ba"), Fit.LOSSY, 'such as 256: "ab" in A, "ba" in B'),
        (Use.SPECULATIVE_SGLANG, renamed(256, "ba"), Fit.UNUSABLE, "SGLang refuses the pair: 1 id is another token"),
        (Use.SPECULATIVE_SGLANG, BASE, Fit.USABLE, "every id"),
        (Use.ADAPTER, BASE, Fit.USABLE, "every id"),
        (Use.ADAPTER, padded(3, TokenType.NORMAL), Fit.LIMITED, "A has 261 tokens, B 264"),
        (Use.ADAPTER, renamed(256, "ba"), Fit.UNUSABLE, "the adapter would read other tokens"),
        (Use.ADAPTER, replace(BASE, special_ids={"bos": 259, "eos": 259}), Fit.LOSSY, "changed: eos"),
        (Use.EMBEDDING, BASE, Fit.USABLE, "texts needs more tokens"),
        (Use.EMBEDDING, replace(BASE, merges=BASE.merges[:2]), Fit.LOSSY, "1 of 2 texts need more tokens in B"),
        (Use.GRAMMAR, BASE, Fit.USABLE, "every id"),
        (Use.GRAMMAR, TURNS, Fit.LIMITED, "the ids up to 260 are the same tokens"),
        (
            Use.GRAMMAR,
            replace(TURNS, special_ids={"bos": 259, "eos": 261}),
            Fit.UNUSABLE,
            "only one of the two ends a generation at 260",
        ),
        (Use.GRAMMAR, renamed(256, "ba"), Fit.UNUSABLE, "the engine would allow texts"),
        (Use.GRAMMAR, replace(BASE, special_ids={"bos": 259, "eos": 259}), Fit.UNUSABLE, "ends a generation at 259"),
    ],
)
def test_pair(use, b, fit, reason):
    report = judge(BASE, b, use)
    [pairing] = report.pairings
    assert (pairing.use, pairing.fit) == (use, fit), pairing.reason
    assert reason in pairing.reason
    assert diff_exit_code(report) == (fit in {Fit.LOSSY, Fit.UNUSABLE})


UNNAMED = "11 (llama.cpp's default, because none is named) in the"


@pytest.mark.parametrize("role", ["bos", "eos"])
@pytest.mark.parametrize("is_added", [False, True])
def test_a_special_token_that_one_model_names_is_compared_if_it_is_added(role, is_added):
    ids, name = {"bos": 259, "eos": 260}, role.upper()
    flags = {"add_bos": False, "add_eos": False, f"add_{role}": is_added}
    named = replace(BASE, special_ids=ids, **flags)
    unnamed = replace(named, special_ids={each: id for each, id in ids.items() if each != role})
    fit = Fit.UNUSABLE if is_added else Fit.USABLE
    for pair, reason in (
        ((named, unnamed), f"{name} is {ids[role]} in the target, {UNNAMED} draft"),
        ((unnamed, named), f"{name} is {UNNAMED} target, {ids[role]} in the draft"),
    ):
        report = judge(*pair, Use.SPECULATIVE)
        [pairing] = report.pairings
        assert pairing.fit is fit
        assert reason in pairing.reason
        assert ("does not compare because it is not added" in pairing.reason) == (not is_added)
        assert diff_exit_code(report) == is_added


def test_a_default_that_is_the_named_token_is_no_difference():
    named, unnamed = (replace(BASE, special_ids=ids) for ids in ({"bos": 11, "eos": 11}, {}))
    for pair in ((named, unnamed), (unnamed, named)):
        [pairing] = judge(*pair, Use.SPECULATIVE).pairings
        assert (pairing.fit, pairing.reason) == (Fit.USABLE, "every id is the same token")


def test_an_id_that_one_model_leaves_unused_is_not_another_token():
    trained = replace(padded(2), tokens=[*BASE.tokens, "<think>", "</think>"], types=[*BASE.types, CONTROL, CONTROL])
    [grammar, adapter] = judge(padded(2), trained, Use.GRAMMAR, Use.ADAPTER).pairings
    assert grammar.fit is Fit.LIMITED
    assert grammar.reason == "2 ids are used by only one of the two, the first of them 261"
    assert (adapter.fit, "2 control tokens" in adapter.reason) == (Fit.LOSSY, True)


def test_a_text_that_is_no_case_counts_for_an_embedder():
    [pairing] = judge(BASE, replace(BASE, merges=BASE.merges[:2]), Use.EMBEDDING, texts=TEXTS[1:]).pairings
    assert pairing.fit is Fit.LOSSY
    assert "12 of 88 texts need more tokens in B" in pairing.reason


@pytest.mark.parametrize(
    ("b", "uses"),
    [
        (renamed(256, "ba"), [Use.SPECULATIVE, Use.SPECULATIVE_VLLM, Use.SPECULATIVE_SGLANG, Use.ADAPTER, Use.GRAMMAR]),
        (replace(BASE, merges=BASE.merges[:2]), [Use.EMBEDDING]),
    ],
)
def test_nothing_is_compared_that_cannot_change_the_answer(b, uses):
    for chosen in (uses, *([use] for use in uses)):
        report = judge(BASE, b, *chosen)
        assert (report.parts, report.consequences, report.report.results) == ((), (), ())
        assert diff_exit_code(report) == 1
        assert verdict(report).endswith("; nothing else was compared, because this decides")
    assert not list(check_diff(report, "report"))


def test_what_is_asked_besides_a_use_is_compared():
    versions = [Version(encoder := Encoder(spec), side_of(encoder), spec) for spec in (BASE, renamed(256, "ba"))]
    assert compare_versions(*versions, TEXTS, uses=[Use.GRAMMAR], corpus=["abcd"]).effect
    assert judge(BASE, renamed(256, "ba"), Use.GRAMMAR, Use.SPECULATIVE).parts == ()
    assert judge(BASE, replace(BASE, merges=BASE.merges[:2]), Use.GRAMMAR, Use.SPECULATIVE).parts


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders with a tokenizer.json each: `a`, `b` with one more token, and `c`; beside `c` is no config.json."""
    root = tmp_path_factory.mktemp("folders")
    for name, added in (("a", {}), ("b", {"<more>": CONTROL}), ("c", {})):
        (root / name).mkdir()
        document = bpe_json(bpe_spec(["a b"], {"<s>": CONTROL, **added}), merges=["a b"])
        write_json(root / name / "tokenizer.json", document)
        if name != "c":
            write_json(root / name / "config.json", {"text_config": {"vocab_size": 320}})
    return root


@pytest.mark.parametrize(
    ("use", "b", "fit", "reason"),
    [
        (Use.SPECULATIVE_VLLM, "b", Fit.LIMITED, "are the same tokens"),
        (Use.SPECULATIVE_VLLM, "c", Fit.UNKNOWN, "there is none beside the draft"),
        (Use.SPECULATIVE_SGLANG, "b", Fit.UNUSABLE, "the target's tokenizer has"),
        (Use.SPECULATIVE, "c", Fit.USABLE, "every id is the same token"),
        (Use.GRAMMAR, "b", Fit.UNKNOWN, "what ends a generation in A and B is not declared"),
        (Use.ADAPTER, "c", Fit.UNKNOWN, "what ends a generation in A and B is not declared"),
    ],
)
def test_what_a_tokenizer_json_does_not_declare_is_not_asserted(folders, use, b, fit, reason):
    old, new = (folders / name / "tokenizer.json" for name in ("a", b))
    [pairing] = diff_tokenizers(old, new, TEXTS, uses=[use]).pairings
    assert pairing.fit is fit
    assert reason in pairing.reason


def test_what_only_a_gguf_file_names_is_unknown_of_its_draft(tmp_path):
    spec = replace(bpe_spec(["a b"], {"<s>": CONTROL}), special_ids={"eos": 257}, chat_template="x")
    write_gguf(tmp_path / "model.gguf", spec)
    write_json(tmp_path / "tokenizer.json", bpe_json(spec, merges=["a b"]))
    sides = tmp_path / "model.gguf", tmp_path / "tokenizer.json"
    for pair, reason in ((sides, "257 in the target, unknown in"), (sides[::-1], "unknown in the target, 257")):
        [pairing] = diff_tokenizers(*pair, TEXTS, uses=[Use.SPECULATIVE]).pairings
        assert pairing.fit is Fit.USABLE
        assert f"EOS is {reason}" in pairing.reason


@pytest.mark.parametrize(
    ("beside", "fit", "reason"),
    [
        ({}, Fit.UNKNOWN, "only the GGUF file names eos"),
        ({"eos_token": "<s>"}, Fit.LOSSY, "changed: 1 chat template"),
        ({"eos_token": "<s>", "chat_template": "x"}, Fit.USABLE, "every id is the same token"),
    ],
)
def test_special_tokens_that_a_tokenizer_json_leaves_open_are_not_the_same(tmp_path, beside, fit, reason):
    spec = replace(bpe_spec(["a b"], {"<s>": CONTROL}), special_ids={"eos": 257}, chat_template="x")
    write_gguf(tmp_path / "model.gguf", spec)
    write_json(tmp_path / "tokenizer.json", bpe_json(spec, merges=["a b"]))
    if beside:
        write_json(tmp_path / "tokenizer_config.json", beside)
    sides = tmp_path / "model.gguf", tmp_path / "tokenizer.json"
    [pairing] = diff_tokenizers(*sides, TEXTS, uses=[Use.ADAPTER]).pairings
    assert pairing.fit is fit, pairing.reason
    assert reason in pairing.reason


@pytest.mark.parametrize("normalizer", [None, {"type": "NFC"}], ids=["as a GGUF file", "not as a GGUF file"])
def test_what_only_one_tokenizer_json_has_beside_it_has_not_changed(tmp_path, normalizer):
    document = bpe_json(bpe_spec(["a b"], {"<s>": CONTROL}), merges=["a b"]) | {"normalizer": normalizer}
    for name in ("bare", "configured"):
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "tokenizer.json", document)
    write_json(tmp_path / "configured" / "tokenizer_config.json", {"eos_token": "<s>", "chat_template": "x"})
    sides = [tmp_path / name / "tokenizer.json" for name in ("bare", "configured")]
    for old, new in (sides, sides[::-1]):
        [pairing] = diff_tokenizers(old, new, TEXTS, uses=[Use.ADAPTER]).pairings
        assert pairing.fit is Fit.UNKNOWN
        assert "only one of the two names eos" in pairing.reason


def test_only_the_uses_decide():
    report = judge(BASE, replace(BASE, special_ids={"bos": 259, "eos": 259}), Use.SPECULATIVE, Use.EMBEDDING)
    assert report.parts
    assert diff_exit_code(report) == 0


def test_a_use_decides_at_the_command_line():
    sides = [str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf")]
    done = CliRunner().invoke(main, ["diff", *sides, "--for", "speculative", "--for", "grammar"])
    assert done.exit_code == 1
    assert "CAN THEY BE USED TOGETHER?" in done.output
    assert "speculative: lossy; grammar: usable" in " ".join(done.output.split())
    done = CliRunner().invoke(main, ["diff", *sides, "--for", "grammar", "-q"])
    assert done.exit_code == 0


def test_uses_exclude_levels():
    done = CliRunner().invoke(main, ["diff", "a", "b", "--for", "adapter", "--breaking", "ids"])
    assert done.exit_code == 2
    assert "use --for without --breaking" in done.output
