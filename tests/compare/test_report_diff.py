"""What changed between two reports: every kind of change, its order, and the exit code."""

import json
from dataclasses import replace

import pytest

from tokverify.case import Case
from tokverify.compare.digest import make_difference
from tokverify.compare.report_diff import compare_reports
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.render.report_diff import verdict
from tokverify.report.finding import ERROR as ERROR_SEVERITY
from tokverify.report.finding import INFO
from tokverify.report.known_difference import KnownDifference
from tokverify.report.report_diff import CaseChangeKind as Kind
from tokverify.report.report_diff import report_diff_exit_code
from tokverify.report.run import CaseResult, Report, Status
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import Aspect
from tokverify.texts.alignment import compare
from tokverify.tokenizer import Token

KNOWN = KnownDifference(case="s/x", difference="0" * 16, reason="so")


def tokens(*ids: int) -> list[Token]:
    return [Token(id, f"p{id}", b"x") for id in ids]


def result(name: str, status: Status, *ids: int, text: str = "x") -> CaseResult:
    """A result; what differs does so from one token 9."""
    differs = status in {Status.MISMATCH, Status.KNOWN}
    return CaseResult(
        Case(id=name, suite="s", text=text),
        status,
        actual=ids,
        expected=(9,) if differs else ids,
        difference=compare(tokens(*ids), tokens(9)) if differs else None,
        message="\x1b[31mno `|` ::error::" if status in {Status.ERROR, Status.SKIPPED} else None,
        known=KNOWN if status is Status.KNOWN else None,
    )


def report(*results: CaseResult, fingerprint: str = "0" * 64, version: str = "1") -> Report:
    actual = Side("m", "m.gguf", fingerprint=fingerprint)
    return Report(actual, Side("r", "r.json", sha256="1" * 64), None, results, versions={"tokverify": version})


MATCH, MISMATCH, ERROR, KNOWN_STATUS, SKIPPED = Status


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ((MATCH, 1), (MATCH, 1), None),
        ((MISMATCH, 1), (MISMATCH, 1), None),
        ((ERROR,), (ERROR,), None),
        ((KNOWN_STATUS, 1), (KNOWN_STATUS, 1), None),
        ((MATCH, 1), (MISMATCH, 1), Kind.FAILED),
        ((SKIPPED,), (ERROR,), Kind.FAILED),
        ((KNOWN_STATUS, 1), (MISMATCH, 1), Kind.FAILED),
        ((MISMATCH, 1), (MISMATCH, 2), Kind.CHANGED),
        ((MISMATCH, 1), (ERROR,), Kind.CHANGED),
        ((MISMATCH, 1), (MATCH, 1), Kind.FIXED),
        ((KNOWN_STATUS, 1), (MATCH, 1), Kind.FIXED),
        ((ERROR,), (SKIPPED,), Kind.STATUS),
        ((MISMATCH, 1), (KNOWN_STATUS, 1), Kind.STATUS),
        ((MATCH, 1), (SKIPPED,), Kind.STATUS),
        ((MATCH, 1), (MATCH, 2), Kind.IDS),
        (None, (MATCH, 1), Kind.NEW),
        (None, (SKIPPED,), Kind.NEW),
        (None, (ERROR,), Kind.NEW_FAILED),
        ((MISMATCH, 1), None, Kind.VANISHED),
    ],
)
def test_every_kind_of_change_is_shown(old, new, kind):
    first = report(*([result("x", *old)] if old else []))
    second = report(*([result("x", *new)] if new else []))
    diff = compare_reports(first, second)
    assert [change.kind for change in diff.changes] == ([kind] if kind else [])
    assert report_diff_exit_code(diff) == (kind in {Kind.FAILED, Kind.NEW_FAILED})


def test_every_kind_of_change_of_a_difference_between_the_tokenizers():
    fails = make_difference(Aspect.SPECIAL_IDS, ERROR_SEVERITY, "EOS differs", [1])
    shown = make_difference(Aspect.PADDING, INFO, "padding differs", [2])
    accepted = replace(fails, known=KNOWN)
    other = make_difference(Aspect.SPECIAL_IDS, ERROR_SEVERITY, "EOS differs", [2])
    rows = [
        ([], [fails], ["failed"]),
        ([accepted], [fails], ["failed"]),
        ([fails], [other], ["failed", "fixed"]),
        ([], [shown], ["shown"]),
        ([], [accepted], ["shown"]),
        ([fails], [accepted], ["fixed"]),
        ([fails], [], ["fixed"]),
        ([shown], [], ["vanished"]),
        ([fails, shown], [fails, shown], []),
    ]
    for old, new, kinds in rows:
        first, second = (replace(report(result("x", MATCH, 1)), differences=tuple(each)) for each in (old, new))
        diff = compare_reports(first, second)
        assert [change.kind for change in diff.differences] == kinds
        assert report_diff_exit_code(diff) == ("failed" in kinds)
        assert ("between the tokenizers" in verdict(diff)) == bool(kinds)


def test_the_severity_that_fails_is_that_of_each_report():
    shown = make_difference(Aspect.PADDING, INFO, "padding differs", [2])
    first = replace(report(result("x", MATCH, 1)), differences=(shown,))
    second = replace(first, fail_on=("padding",))
    assert [change.kind for change in compare_reports(first, second).differences] == ["failed"]
    assert [change.kind for change in compare_reports(second, first).differences] == ["fixed"]


def test_a_difference_is_not_fixed_by_comparing_less():
    fails = make_difference(Aspect.SPECIAL_IDS, ERROR_SEVERITY, "EOS differs", [1])
    first = replace(report(result("x", MATCH, 1)), differences=(fails,), not_compared=("types: as before",))
    second = replace(first, differences=(), not_compared=("types: as before", "special ids: a \x1b[31mserver"))
    diff = compare_reports(first, second)
    assert [change.kind for change in diff.differences] == ["vanished"]
    assert diff.not_compared == ("special ids: a \x1b[31mserver",)
    assert verdict(diff).startswith(
        "1 vanished difference between the tokenizers; 1 comparison of the tokenizers no longer possible"
    )
    text = FORMATS["report diff"]["table"](diff, RenderOptions(width=100))
    assert "vanished      ERROR special-ids: EOS differs" in text
    assert "not compared  special ids: a \\x1b[31mserver" in text


def several():
    old = report(
        result("same", MATCH, 1),
        result("fails", MATCH, 1),
        result("differently", MISMATCH, 1),
        result("fixed", MISMATCH, 1),
        result("gone", MATCH, 1),
        result("ids", MATCH, *range(40)),
    )
    new = report(
        result("same", MATCH, 1),
        result("ids", MATCH, 2, text="another"),
        result("fixed", MATCH, 9),
        result("new", MATCH, 1),
        result("differently", ERROR),
        result("fails", MISMATCH, 1),
        fingerprint="2" * 64,
        version="2",
    )
    return compare_reports(old, new)


def test_the_worst_is_listed_first():
    assert [change.case for change in several().changes] == [
        "s/fails", "s/differently", "s/fixed", "s/ids", "s/new", "s/gone",
    ]  # fmt: skip
    sentence = verdict(several())
    assert sentence.startswith("1 failed, 1 failing differently, 1 fixed, 1 matching with other ids, 1 new, 1 vanished")
    assert sentence.endswith("6 cases before, 6 now")


def test_a_changed_case_is_reported():
    assert [change.case for change in several().changes if change.edited] == ["s/ids"]


def test_the_table():
    text = FORMATS["report diff"]["table"](several(), RenderOptions())
    assert text.index("FAILED: PASSED BEFORE") < text.index("FIXED: FAILED BEFORE") < text.index("VANISHED")
    assert f"before: m, m.gguf, fingerprint {'0' * 64}" in " ".join(text.split())
    assert "expected   r, r.json: the same" in text
    assert "tokverify  1 before, 2 now" in text
    assert "now: mismatch, at the start: 1 p1 in actual, 9 p9 in expected" in text
    assert "the case itself was changed" in text
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ..." in text
    assert "now: error, \\x1b[31mno `|` ::error::" in text
    assert "s/same" not in text
    quiet = FORMATS["report diff"]["table"](several(), RenderOptions(quiet=True))
    assert quiet.replace("\n", " ").strip() == verdict(several())


def test_markdown_keeps_texts_unchanged():
    text = FORMATS["report diff"]["markdown"](several(), RenderOptions())
    assert "- **s/differently**<br>before: mismatch" in text
    assert "\\\\x1b\\[31mno \\`\\|\\` ::error::" in text
    assert len(FORMATS["report diff"]["markdown"](several(), RenderOptions(quiet=True)).splitlines()) == 3


def test_json_contains_every_change():
    document = json.loads(FORMATS["report diff"]["json"](several(), RenderOptions()))
    assert document["summary"] == {
        "exit_code": 1,
        "differences": {"failed": 0, "shown": 0, "fixed": 0, "vanished": 0},
        "failed": 1, "new_failed": 0, "changed": 1, "fixed": 1, "status": 0, "ids": 1, "new": 1, "vanished": 1,
    }  # fmt: skip
    assert (document["old_cases"], document["new_cases"]) == (6, 6)
    first = document["changes"][0]
    assert (first["case"], first["kind"], first["old"]["status"]) == ("s/fails", "failed", "match")
    assert document["changes"][-1]["new"] is None
    assert document["actual"]["new"]["fingerprint"] == "2" * 64


def test_nothing_changed():
    one = report(result("x", MATCH, 1))
    diff = compare_reports(one, replace(one))
    assert verdict(diff) == "nothing changed; 1 case before, 1 now"
    assert report_diff_exit_code(diff) == 0
