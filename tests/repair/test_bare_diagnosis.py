"""Diagnose with a reference that returns only ids and the bytes of its tokens, or without one."""

from dataclasses import replace

import pytest

from support.bare_tokenizer import Bare, IdsOnly
from support.spec_maker import BYTE, CONTROL, USER_DEFINED, bpe_spec, spm_spec
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.repair import piece_change
from tokverify.repair.budget import Budget
from tokverify.repair.evidence import Evidence, Target
from tokverify.repair.search import DiagnosisResult, diagnose
from tokverify.report.run import run_exit_code
from tokverify.spec import TokenizerSpec, TokenType

NORMAL, UNUSED = TokenType.NORMAL.value, TokenType.UNUSED.value
SPM = spm_spec(
    {"▁": -5, "a": -1, "b": -2, "ab": -3, "▁a": -4, "  ": 0, "   ": 0, "<x>": 0},
    {"  ": USER_DEFINED, "   ": USER_DEFINED, "<x>": CONTROL},
)
RUNS = spm_spec({"▁": -5, "a": -1, "b": -2, "ab": -3, "▁a": -4, "▁▁": -6})
BPE = bpe_spec(["a b", "ab c", "Ġ a", "1 2"], {"<x>": CONTROL})
BERT = TokenizerSpec(
    model="bert",
    tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁a", "▁b", "a", "b"],
    types=[CONTROL] * 5 + [NORMAL] * 4,
    special_ids={"unk": 1, "bos": 2, "sep": 3},
)
PLAMO = TokenizerSpec(
    model="plamo2",
    tokens=["<unk>", *SPM.tokens[3:259], "a", "b", "ab"],
    types=[TokenType.UNKNOWN.value, *[BYTE] * 256, *[NORMAL] * 3],
    scores=[0.0] * 257 + [-1.0, -2.0, -0.5],
    special_ids={"unk": 0},
)
TEXTS = ("ab", "a  b", "a<x>b", "abc 12", " ab", "x", "don't 12ab", "\u00ea")


def typed(spec: TokenizerSpec, **types: int) -> TokenizerSpec:
    """Set types by id, with ids written as `id5`."""
    return replace(spec, types=[types.get(f"id{id}", type) for id, type in enumerate(spec.types)])


def written(spec: TokenizerSpec, old: str, new: str) -> TokenizerSpec:
    tokens = [token if token in SPM.tokens[3:259] else token.replace(old, new) for token in spec.tokens]
    return replace(spec, tokens=tokens)


def swapped(spec: TokenizerSpec, left: str, right: str) -> TokenizerSpec:
    other = {left: right, right: left}
    return replace(spec, tokens=[other.get(token, token) for token in spec.tokens])


def found(wrong: TokenizerSpec, right: TokenizerSpec, *texts: str, parse_special: bool = True) -> DiagnosisResult:
    expected = Bare(Encoder(right, "right"))
    cases = [Case(id=text, suite="s", text=text, parse_special=parse_special) for text in texts or TEXTS]
    actual = Encoder(wrong)
    return diagnose(wrong, Opened(expected), verify_tokenizers(actual, expected, cases).results, encoder=actual)


def found_in_refused(wrong: TokenizerSpec, text: str, expected: Bare | None = None) -> DiagnosisResult:
    """Diagnose a file that is refused, beside the intact PLAMO, by one case."""
    expected = expected or Bare(Encoder(PLAMO))
    results = verify_tokenizers(expected, expected, [Case(id="a", suite="s", text=text)]).results
    refused = [replace(result, status=result.status.ERROR, actual=()) for result in results]
    return diagnose(wrong, Opened(expected), refused)


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        (
            SPM,
            typed(SPM, id264=NORMAL, id265=NORMAL),
            "setting the type of 2 tokens (ids 264-265, runs of spaces) to USER_DEFINED",
        ),
        (SPM, typed(SPM, id266=NORMAL), 'setting the type of token 266 "<x>" to CONTROL'),
        (SPM, typed(SPM, id262=USER_DEFINED), 'setting the type of token 262 "ab" to NORMAL'),
        (SPM, written(SPM, "▁", " "), "rewriting 2 tokens (ids 259, 263) with ▁ instead of spaces"),
        (RUNS, written(RUNS, "▁", " "), "rewriting 3 tokens (ids 259, 263-264) with ▁ instead of spaces"),
        (SPM, written(SPM, "▁", "Ġ"), "rewriting 2 tokens (ids 259, 263) with ▁ instead of Ġ"),
        (BPE, written(BPE, "Ġ", " "), "rewriting 2 tokens (ids 32, 258) with Ġ instead of spaces"),
        (BPE, swapped(BPE, "a", "b"), "rewriting 2 tokens (ids 97-98) to represent the same bytes as in the reference"),
        (BERT, replace(BERT, tokens=[*BERT.tokens[:5], "a", "b", "##a", "##b"]), "rewriting 4 tokens (ids 5-8) with ▁"),
    ],
)
def test_a_single_fault_is_diagnosed(right, wrong, sentence):
    result = found(wrong, right)
    best = result.diagnosis.explanations[0]
    assert best.sentence.startswith(sentence)
    assert (best.explained, best.unexplained) == (result.diagnosis.failing, ())
    assert best.expressible
    changed, intact = Encoder(result.changes[0].transform(wrong)), Encoder(right)
    assert [changed.encode(text) for text in TEXTS] == [intact.encode(text) for text in TEXTS]


def test_tokens_matched_without_parsing_control_tokens_are_user_defined():
    best = found(typed(SPM, id266=CONTROL), typed(SPM, id266=USER_DEFINED), parse_special=False).diagnosis.explanations[
        0
    ]
    assert best.sentence == 'setting the type of token 266 "<x>" to USER_DEFINED'


def test_an_unused_token_that_the_reference_uses_is_replaced():
    wrong = typed(replace(SPM, tokens=[*SPM.tokens[:-1], "[PAD266]"]), id266=UNUSED)
    result = found(wrong, SPM)
    best = result.diagnosis.explanations[0]
    assert best.sentence == 'replacing token 266 "[PAD266]" with the reference\'s'
    assert Encoder(result.changes[0].transform(wrong)).encode("a<x>b") == Encoder(SPM).encode("a<x>b")


def test_byte_types_of_a_refused_file_are_found():
    wrong = replace(PLAMO, types=[TokenType.UNKNOWN.value, *[NORMAL] * 259])
    best = found_in_refused(wrong, "ab\n").diagnosis.explanations[0]
    assert best.sentence == "setting the type of 256 tokens (ids 1-256, bytes) to BYTE"


def test_words_typed_byte_are_found():
    result = found(typed(PLAMO, id257=BYTE, id259=BYTE), PLAMO, "ab", "ba", "aab")
    best = result.diagnosis.explanations[0]
    assert best.sentence == "setting the type of 2 tokens (ids 257, 259) to NORMAL"
    assert (best.explained, best.unexplained) == (result.diagnosis.failing, ())


def test_byte_types_that_are_exchanged_with_others_are_found():
    exchanged = {BYTE: NORMAL, NORMAL: BYTE}
    wrong = replace(PLAMO, types=[exchanged.get(type, type) for type in PLAMO.types])
    best = found_in_refused(wrong, "ab\n").diagnosis.explanations[0]
    assert best.sentence == (
        "setting the type of 256 tokens (ids 1-256, bytes) to BYTE"
        " and setting the type of 3 tokens (ids 257-259) to NORMAL"
    )


def test_byte_tokens_are_restored_by_their_place_among_the_others():
    lost = replace(PLAMO, tokens=[token.replace("<0x41>", "<lost>") for token in PLAMO.tokens])
    wrong = typed(lost, id30=NORMAL)
    result = found_in_refused(wrong, "abA\x1d")
    assert result.diagnosis.explanations[0].sentence == "restoring 2 tokens (ids 30, 66) as byte tokens"
    assert result.changes[0].transform(wrong) == PLAMO


def test_a_byte_token_is_restored_by_its_byte_if_the_reference_does_not_show_all_of_them(monkeypatch):
    wrong = typed(replace(PLAMO, tokens=[token.replace("<0xC3>", "<lost>") for token in PLAMO.tokens]), id196=NORMAL)
    expected = Bare(Encoder(PLAMO))
    shown = expected.token_bytes
    # Some servers show nothing for the token of the byte 0.
    monkeypatch.setattr(expected, "token_bytes", lambda id: shown(id).strip(b"\0"))
    result = found_in_refused(wrong, "ab\u00e9", expected)
    assert result.diagnosis.explanations[0].sentence == 'restoring token 196 "<lost>" as a byte token'
    assert result.changes[0].transform(wrong) == PLAMO


def test_texts_are_restored_even_if_byte_tokens_are_among_them():
    wrong = swapped(PLAMO, "<0x41>", "ab")
    result = found_in_refused(wrong, "abA")
    best = result.diagnosis.explanations[0]
    assert best.sentence == "rewriting 2 tokens (ids 66, 259) to represent the same bytes as in the reference"
    assert result.changes[0].transform(wrong).tokens == PLAMO.tokens


def test_the_text_of_the_unknown_token_is_restored():
    result = found(written(SPM, "<unk>", "<unk>~"), SPM, "a<unk>b", "b<unk>")
    best = result.diagnosis.explanations[0]
    assert best.sentence == 'rewriting token 0 "<unk>~" to represent the same bytes as in the reference'


def test_words_that_the_merges_miss_are_not_called_added_tokens():
    right = bpe_spec(["a b", "ab c", "c d", "abc d"])
    diagnosis = found(replace(right, merges=right.merges[:1]), right, "abc", "abcd", "ab").diagnosis
    assert all("USER_DEFINED" not in explanation.sentence for explanation in diagnosis.explanations)


def test_expected_ids_of_cases_are_enough_without_a_reference():
    wrong = typed(SPM, id264=NORMAL, id265=NORMAL, id266=NORMAL)
    intact = Encoder(SPM)
    cases = [
        Case(id=text, suite="s", text=text, expect={"llama": tuple(intact.encode(text))}) for text in ("a  b", "a<x>b")
    ]
    actual = Encoder(wrong)
    report = verify_tokenizers(actual, None, cases)
    assert run_exit_code(report) == 1
    best = diagnose(wrong, Opened(None), report.results, encoder=actual).diagnosis.explanations[0]
    assert best.unexplained == ()
    assert set(best.kind.split("+")) == {"types"}


def test_a_type_that_does_not_exist_is_undefined_as_in_llama_cpp():
    assert TokenType(143) is TokenType.UNDEFINED
    tokens = {"a": -1, "<|im_end|>": 0, "<|x|>": 0}
    wrong, right = (spm_spec(tokens, {"<|im_end|>": 143, "<|x|>": type}) for type in (143, CONTROL))
    result = found(wrong, right, "a<|im_end|>", "a<|x|>a")
    assert result.diagnosis.explanations[0].sentence == 'setting the type of token 261 "<|x|>" to CONTROL'


def test_a_long_text_costs_as_much_of_the_budget_as_many_short_ones():
    budget = Budget(1000)
    budget.spend_on([Target("short", "ab", False, True, (1,))])
    assert budget.left == 999
    budget.spend_on([Target("long", "ab" * 50_000, False, True, (1,))])
    assert budget.left == 498


def test_byte_tokens_are_put_in_order_by_ids_alone():
    wrong = replace(SPM, tokens=[*SPM.tokens[:3], *SPM.tokens[3:259][::-1], *SPM.tokens[259:]])
    expected = Opened(IdsOnly(Encoder(SPM)))
    (change,) = piece_change.ordered_bytes(Evidence(wrong, Encoder(wrong), expected, ()))
    assert change.sentence == "putting 256 tokens (ids 3-258, bytes) in order"
    assert change.transform(wrong).tokens == SPM.tokens
    assert not list(piece_change.ordered_bytes(Evidence(SPM, Encoder(SPM), expected, ())))


def test_an_empty_token_keeps_the_name_that_llama_cpp_gives_it():
    right = replace(BPE, tokens=[*BPE.tokens[:-1], ""], types=[*BPE.types[:-1], NORMAL])
    best = found(swapped(right, "a", "b"), right).diagnosis.explanations[0]
    assert best.sentence == "rewriting 2 tokens (ids 97-98) to represent the same bytes as in the reference"


@pytest.mark.parametrize(
    ("markers", "type"), [(["<|think|>", "<|end_think|>"], CONTROL), (["<think>", "</think>"], USER_DEFINED)]
)
def test_placeholders_get_the_markers_that_a_reference_without_tokens_encodes_to_their_ids(
    markers: list[str], type: int
):
    first, second = markers
    right = bpe_spec(["a b"], dict.fromkeys(markers, type), chat_template=f"{{{{ '{first}{second}' }}}}")
    lost = [right.tokens.index(text) for text in markers]
    tokens = [f"[PAD{id}]" if id in lost else token for id, token in enumerate(right.tokens)]
    types = [UNUSED if id in lost else each for id, each in enumerate(right.types)]
    wrong = replace(right, tokens=tokens, types=types)
    cases = [
        Case(id=str(parse_special), suite="s", text=f"a{first}b", parse_special=parse_special)
        for parse_special in (True, False)
    ]
    facts = Opened(IdsOnly(Encoder(right, "right")))
    results = verify_tokenizers(Encoder(wrong), facts.tokenizer, cases).results
    result = diagnose(wrong, facts, results, encoder=Encoder(wrong))
    fixed = result.changes[0].transform(wrong)
    assert list(fixed.tokens) == right.tokens
    assert list(fixed.types) == list(right.types)
    assert f'the markers that the reference encodes so ("{first}", "{second}")' in result.changes[0].sentence
