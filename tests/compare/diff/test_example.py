"""The examples of `tokverify diff`: which cases share a cause, and the facts about it."""

from dataclasses import replace

import pytest

from tokverify.case import Case
from tokverify.compare.diff.compare import add_examples
from tokverify.report.diff import ChangeReport, Part, PartChange
from tokverify.report.run import CaseResult, Report, Status
from tokverify.report.side import Side
from tokverify.report.vocabulary_difference import VocabularyDifference
from tokverify.texts.alignment import compare
from tokverify.tokenizer import Token


def result(id: str, text: str, actual: tuple[int, ...], expected: tuple[int, ...]) -> CaseResult:
    status = Status.MATCH if actual == expected else Status.MISMATCH
    return CaseResult(Case(id=id, suite="s", text=text), status, actual=actual, expected=expected)


def report_of(*results: CaseResult, parts: tuple[Part, ...] = (), **fields: object) -> ChangeReport:
    side = Side("m", "m", family="gpt2")
    return ChangeReport(parts, Report(side, side, VocabularyDifference(9, 9), results), **fields)


def examples(report: ChangeReport) -> list[tuple[str, tuple[str, ...], tuple[str, ...], bool]]:
    """Return each example: its id, the other cases, the parts that are the cause, and whether nothing else changed."""
    results = report.report.results
    return [
        (results[example.index].case.id, example.others, example.parts, example.is_only)
        for example in add_examples(report).examples
    ]


def test_an_example_is_the_shortest_text_of_its_cause():
    results = [
        result("other", "x", (7,), (8,)),
        result("long", "ab cd", (1, 2, 3), (1, 4)),
        result("same", "ab", (5,), (5,)),
        result("short", "cd", (2, 3), (4,)),
    ]
    assert [(id, others) for id, others, _, _ in examples(report_of(*results))] == [
        ("short", ("s/long",)),
        ("other", ()),
    ]


def differing(id: str, actual: tuple[str, ...], expected: tuple[str, ...]) -> CaseResult:
    sides = [[Token(int(piece, 36), piece, piece.encode()) for piece in pieces] for pieces in (actual, expected)]
    made = result(id, "".join(expected), *(tuple(token.id for token in side) for side in sides))
    return replace(made, difference=compare(*sides))


def part(name: str, *tokens: str) -> Part:
    return Part(name, tuple(PartChange("changed", token, "old", "new") for token in tokens))


ABC = differing("abc", ("a", "bc"), ("ab", "c"))
DEF = differing("def", ("d", "ef", "g"), ("de", "f", "g"))
BOTH = differing("both", ("a", "bc", "x", "d", "ef"), ("ab", "c", "x", "de", "f"))
SETTINGS = part("settings", "add_bos")


def test_cases_share_a_cause_if_nothing_else_changed():
    results = (ABC, DEF, BOTH)
    for parts in [("settings",), ("types", "added tokens"), ("merges",)]:
        report = report_of(*results, parts=tuple(map(part, (*parts, "chat templates"))))
        assert examples(report) == [("abc", ("s/def", "s/both"), parts, True)]


def setting(name: str, old: object, new: object) -> PartChange:
    return PartChange("changed", name, str(old), str(new))


@pytest.mark.parametrize(
    ("changes", "is_one"),
    [
        ([setting("add_bos", True, False)], True),
        ([setting("add_bos", True, False), setting("add_space_prefix", True, False)], False),
        ([setting("add_bos", True, False), setting("special_ids.bos", 1, 2)], False),
        ([setting("add_bos", True, False), setting("special_ids.pad", 1, 2), setting("eog_ids", "[1]", "[]")], True),
        ([setting("pre", "default", "llama-bpe"), setting("ignore_merges", False, True)], True),
        ([setting("pre", "default", "llama-bpe"), setting("add_bos", False, True)], True),
        ([setting("pre", "default", "gpt-2"), setting("add_bos", False, True)], False),
        ([setting("pre", "default", "odd"), setting("add_bos", False, True)], False),
        ([setting("lowercase", True, False), setting("strip_accents", True, False)], True),
        ([setting("lowercase", True, False), setting("strip_accents", False, True)], False),
    ],
)
def test_two_settings_are_two_causes_unless_one_implies_the_other(changes: list[PartChange], is_one: bool):
    report = report_of(ABC, DEF, parts=(Part("settings", tuple(changes)),))
    assert [is_only for _, _, _, is_only in examples(report)] == ([True] if is_one else [False, False])


def test_no_part_is_the_only_one_if_something_was_not_compared():
    report = report_of(ABC, DEF, parts=(SETTINGS,), not_compared=("not the types",))
    assert examples(report) == [("abc", (), (), False), ("def", (), (), False)]
    report = report_of(ABC, DEF, parts=(SETTINGS,)).report
    of_library = replace(report, expected=Side("tokenizers", "tokenizer.json"))
    respelled = replace(report, vocabulary=VocabularyDifference(9, 9, respelled=1))
    for other in (of_library, respelled):
        assert examples(ChangeReport((SETTINGS,), other)) == [("abc", (), (), False), ("def", (), (), False)]


def test_cases_share_a_cause_if_they_differ_only_at_changed_tokens():
    report = report_of(ABC, DEF, BOTH, parts=(part("types", "ab", "ef"), part("scores", "f"), SETTINGS))
    assert examples(report) == [
        ("abc", ("s/both",), ("types",), False),
        ("def", (), ("types", "scores"), False),
    ]
    only_some = report_of(ABC, DEF, BOTH, parts=(part("types", "ab"), SETTINGS))
    assert [(id, parts) for id, _, parts, _ in examples(only_some)] == [("abc", ("types",)), ("def", ()), ("both", ())]


def test_a_text_that_one_version_cannot_encode_is_a_cause_of_its_own():
    error = replace(ABC, status=Status.ERROR, difference=None, message="cannot", actual=(), expected=())
    report = report_of(DEF, replace(error, case=replace(error.case, id="error")), parts=(SETTINGS,))
    assert examples(report) == [("def", (), ("settings",), True), ("error", (), (), False)]
