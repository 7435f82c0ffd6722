import pytest

from support.fake_tokenizer import FakeTokenizer
from tokverify.case import Case
from tokverify.cases.suite import parse_suite
from tokverify.cases.suite_writer import insert_expected
from tokverify.commands.tasks.record import check_edit, ids_to_write, record_cases
from tokverify.errors import TokverifyError
from tokverify.report.record import RecordedChange, Recording, recording_exit_code
from tokverify.report.side import Side

PIECES = ("a", "b", "<s>", "<", "s", ">")
MODEL = FakeTokenizer(*PIECES, special=["<s>"], special_ids={"bos": 2})
REFERENCE = FakeTokenizer(*PIECES, special=["<s>"], special_ids={"bos": 2}, name="reference")
LAME = FakeTokenizer(*PIECES, special=["<s>"], parses_special=False, adds_special=False, name="lame")


def case(text: str, **fields) -> Case:
    return Case(id=f"of-{text}", suite="suite", text=text, **fields)


def recorded(one: Case, reference=REFERENCE, model=MODEL):
    return record_cases(model, reference, [one], "key")[0]


def test_the_ids_are_those_of_the_reference():
    other = FakeTokenizer("b", "a", name="other")
    result = recorded(case("ab"), other)
    assert (result.change, result.ids, result.model_agrees) == (RecordedChange.ADDED, (1, 0), False)
    assert recorded(case("ab")).model_agrees


def test_the_options_of_the_case_are_kept():
    assert recorded(case("a<s>", add_special=True)).ids == (2, 0, 2)
    assert recorded(case("a<s>", parse_special=False)).ids == (0, 3, 4, 5)


def test_only_expectations_that_no_longer_hold_are_changed():
    assert recorded(case("a", expect={"key": (0,)})).change is RecordedChange.UNCHANGED
    assert recorded(case("a", expect={"key": ("a",)})).change is RecordedChange.UNCHANGED
    assert recorded(case("a", expect={"key": (1,)})).change is RecordedChange.CHANGED
    assert recorded(case("a", expect={"other": (0,)})).change is RecordedChange.ADDED


def test_more_ids_than_a_suite_should_hold_are_not_recorded():
    result = recorded(case("a" * 100_001))
    assert (result.change, result.ids) == (RecordedChange.NOT_RECORDED, ())
    assert result.message == "reference: the text becomes 100,001 tokens, more than the 100,000 that can be recorded"


def test_a_text_that_the_reference_cannot_encode_is_not_recorded():
    result = recorded(case("%"))
    assert (result.change, result.ids) == (RecordedChange.NOT_RECORDED, ())
    assert result.message == "reference: no piece for '%'"


def test_a_text_that_only_the_model_cannot_encode_is_recorded():
    result = recorded(case("b"), model=FakeTokenizer("a"))
    assert (result.change, result.ids, result.model_agrees) == (RecordedChange.ADDED, (1,), False)


@pytest.mark.parametrize(
    ("text", "options", "unable"),
    [
        ("<s>", {}, "parse_special"),
        ("a", {"add_special": True}, "add_special"),
        ("<s>", {"add_special": True}, "add_special and parse_special"),
    ],
)
def test_an_option_the_reference_lacks_is_dropped_only_if_it_makes_no_difference(text, options, unable):
    result = recorded(case(text, **options), LAME)
    assert result.change is RecordedChange.NOT_RECORDED
    assert result.message == f"lame: does not support {unable}, which changes the ids of this text"
    assert recorded(case("ab"), LAME).ids == (0, 1)
    assert recorded(case("<s>", parse_special=False), LAME).ids == (3, 4, 5)


def test_only_new_ids_are_written():
    cases = [case("a"), case("b", expect={"key": (1,)}), case("%"), case("ab", expect={"key": (0,)})]
    assert ids_to_write(record_cases(MODEL, REFERENCE, cases, "key")) == {"of-a": (0,), "of-ab": (0, 1)}


@pytest.mark.parametrize(("texts", "code"), [("ab", 0), ("a%", 1), ("%&", 2)])
def test_the_exit_code_depends_on_whether_all_some_or_no_cases_were_recorded(texts, code):
    results = tuple(record_cases(MODEL, REFERENCE, [case(text) for text in texts], "key"))
    recording = Recording(Side("a", "a"), Side("b", "b"), "key", True, results)
    assert recording_exit_code(recording) == code


def test_progress_is_reported():
    seen = []
    record_cases(MODEL, REFERENCE, [case("a"), case("b")], "key", on_progress=lambda *done: seen.append(done))
    assert seen == [(1, 2), (2, 2)]


SUITE = "cases:\n  - {id: a, text: x}\n  - {id: b, text: y}\n"


def test_an_equivalent_edit_is_accepted():
    suite = parse_suite(SUITE, "f.yaml", "f")
    check_edit(suite, SUITE.replace("text: x", "text: x, expect: {k: [1]}"), "k", {"a": (1,)})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SUITE, "without changing anything else"),
        (SUITE.replace("text: x", "text: z, expect: {k: [1]}"), "without changing anything else"),
        (SUITE.replace("text: x", "text: x, expect: {k: [2]}"), "without changing anything else"),
        (SUITE.replace("text: x", "text: x, expect: {k: [1], l: [1]}"), "without changing anything else"),
        ("cases:\n  - {id: a, text: x, expect: {k: [1]}}\n", "without changing anything else"),
        (SUITE.replace("text: x", "text: x, expect: {k: [1}"), "write out aliases"),
        (SUITE + "#" * (16 << 20), "larger than 16 MiB"),
    ],
)
def test_an_edit_that_changes_anything_else_is_rejected(text, reason):
    with pytest.raises(TokverifyError, match=r"f\.yaml: (cannot|would)") as caught:
        check_edit(parse_suite(SUITE, "f.yaml", "f"), text, "k", {"a": (1,)})
    assert reason in str(caught.value)


def test_a_text_without_a_final_newline_is_rejected_with_advice():
    text = "cases:\n  - id: one\n    text: |\n      a"
    suite = parse_suite(text, "s.yaml", "s")
    with pytest.raises(TokverifyError, match=r"and end each line with a newline, including the last one$"):
        check_edit(suite, insert_expected(text, "key", {"one": (0,)}), "key", {"one": (0,)})
