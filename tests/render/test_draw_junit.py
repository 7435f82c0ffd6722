"""JUnit from issues: every outcome of a report is one of its tests."""

import pytest
from lxml import etree

from support.hostile_reports import REPORTS
from support.paths import DATA
from tokverify.render.draw_issues import draw_junit, passed, suite
from tokverify.render.issue import Check, CiReport, Issue, Level
from tokverify.render.kinds import FORMATS, present
from tokverify.render.options import RenderOptions

CHECKS = (
    Check("X1", "first", "s", Level.ERROR),
    Check("X2", "second", "s", Level.WARNING),
    Check("X3", "third", "s", Level.ERROR),
)


def issue(check: str, level: Level, title: str, accepted: str | None = None) -> Issue:
    return Issue(check=check, level=level, title=title, message="m\nmore", path="p", key="k", accepted=accepted)


def outcomes(report: CiReport) -> dict[str, str]:
    root = etree.fromstring(draw_junit("kind", report).encode())
    return {test.get("name"): test[0].tag if len(test) else "" for test in root.iter("testcase")}


def test_an_error_fails_a_warning_is_skipped_and_a_note_passes():
    issues = [issue("X1", Level.ERROR, "e"), issue("X2", Level.WARNING, "w"), issue("X2", Level.NOTE, "n")]
    report = CiReport(issues=issues, checks=CHECKS, verdict="v", exit_code=1, evaluated={"X3"}, skipped=["why"])
    assert outcomes(report) == {
        "e": "failure",
        "w": "skipped",
        "n": "system-out",
        "X3 third": "",
        "not compared, 1": "skipped",
        "verdict": "failure",
    }


def test_issues_of_one_title_are_one_test():
    issues = [issue("X1", Level.NOTE, "e"), issue("X1", Level.ERROR, "e")]
    report = CiReport(issues=issues, checks=CHECKS, verdict="v", exit_code=1)
    assert outcomes(report) == {"e": "failure", "verdict": "failure"}
    assert draw_junit("kind", report).count("more") == 2


def test_what_is_accepted_is_skipped():
    report = CiReport(issues=[issue("X1", Level.ERROR, "e", "known")], checks=CHECKS, verdict="v", exit_code=0)
    assert outcomes(report) == {"e": "skipped", "verdict": "system-out"}
    assert 'message="known"' in draw_junit("kind", report)


def test_nothing_fails_if_the_report_passes():
    report = CiReport(issues=[issue("X1", Level.ERROR, "e")], checks=CHECKS, verdict="v", exit_code=0)
    assert outcomes(report) == {"e": "skipped", "verdict": "system-out"}


def test_a_report_that_could_not_compare_is_an_error():
    report = CiReport(issues=[], checks=CHECKS, verdict="v", exit_code=2)
    assert outcomes(report) == {"verdict": "error"}


def test_issues_that_other_suites_test_are_not_repeated():
    report = CiReport(
        issues=[issue("X1", Level.ERROR, "e")],
        checks=CHECKS,
        verdict="v",
        exit_code=1,
        properties={"model": "m"},
        suites=lambda properties: [suite("cases", properties, [passed("a", "cases")])],
        tested={"X1"},
    )
    assert outcomes(report) == {"a": "", "verdict": "failure"}
    assert draw_junit("kind", report).count('<property name="model" value="m" />') == 2


@pytest.mark.parametrize("kind", REPORTS)
def test_junit_is_valid_and_fails_exactly_if_the_report_does(kind: str):
    report = REPORTS[kind]()
    root = etree.fromstring(FORMATS[kind]["junit"](report, RenderOptions()).encode())
    etree.XMLSchema(etree.parse(DATA / "junit.xsd")).assertValid(root)
    names = [(suite.get("name"), test.get("name")) for suite in root for test in suite.iter("testcase")]
    assert names
    assert len(names) == len(set(names))
    failing = int(root.get("failures")) + int(root.get("errors"))
    assert (failing > 0) == (present(kind, report).exit_code != 0)
