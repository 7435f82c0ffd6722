"""The formats of `tokverify diff`, of a comparison in which everything changed; most are read in test_ci_formats.py."""

import json
from dataclasses import replace

from lxml import etree

from support.ci_reading import runner_reads
from support.hostile_finding import hostile_change
from support.paths import ROOT
from tokverify.case import Case
from tokverify.compare.diff.compare import add_examples
from tokverify.render.diff import change_line, consequence_lines, list_issues, summarize_part, verdict
from tokverify.render.issue import Level
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.diff import (
    ChangeReport,
    Consequence,
    Effect,
    Outcome,
    Part,
    PartChange,
    Witness,
    behaves_alike,
    diff_exit_code,
)
from tokverify.report.diff import Level as Affected
from tokverify.report.fuzz import Stop
from tokverify.report.run import CaseResult, Report, Status
from tokverify.report.side import Side
from tokverify.report.vocabulary_difference import VocabularyDifference

TOKENS = Part("tokens", tuple(PartChange("added", f"t{n}", None, f"id {n}") for n in range(12)))


def result(id: str, text: str, message: str | None = None) -> CaseResult:
    status = Status.ERROR if message else Status.MATCH
    return CaseResult(Case(id=id, suite="s", text=text, file="s.yaml", line=3), status, message=message)


def report_of(*results: CaseResult, **fields: object) -> ChangeReport:
    report = Report(Side("new", "m/new.json"), Side("old", "HEAD:m/new.json"), None, results)
    return add_examples(ChangeReport((), report, **fields))


def written(name: str, report: ChangeReport) -> str:
    return FORMATS["diff"][name](report, RenderOptions())


# Issues


def test_each_part_is_an_issue_at_the_file_with_examples():
    report = replace(report_of(result("a", "x"), file="m/new.json"), parts=(TOKENS,))
    (issue,) = list_issues(report)
    assert (issue.check, issue.level, issue.path, issue.line) == ("changed-part", Level.ERROR, "m/new.json", 1)
    lines = issue.message.splitlines()
    assert lines[:3] == ["tokens: 12 added", "added t0: id 0", "added t1: id 1"]
    assert lines[-1] == "and 2 more"
    (allowed,) = list_issues(replace(report, behavior_only=True))
    assert allowed.level is Level.NOTE


def test_a_part_with_other_changes_is_another_issue():
    first, second = (
        next(list_issues(replace(report_of(), parts=(Part("tokens", TOKENS.changes[:count]),)))) for count in (1, 2)
    )
    assert first.fingerprint != second.fingerprint


def test_cases_of_one_cause_are_one_issue_at_the_first_of_them():
    alike = [result(f"c{n}", "x" * (n + 1), "no") for n in range(30)]
    (issue,) = list_issues(report_of(*alike, result("fine", "y")))
    assert (issue.check, issue.path, issue.line, issue.title) == ("change-error", "s.yaml", 3, "error: s/c0")
    lines = issue.message.splitlines()
    assert lines[:2] == ["no", "actual is m/new.json, expected is HEAD:m/new.json"]
    assert lines[2].startswith("the same change in 29 more cases: s/c1, s/c2, ")
    assert lines[2].endswith("s/c20 and 9 more")


def test_the_corpus_is_an_issue_only_if_it_changes():
    same, changed = (report_of(result("a", "x"), effect=Effect(9, lines, 9, lines, 5, 5)) for lines in (0, 1))
    assert list(list_issues(same)) == []
    (issue,) = list_issues(changed)
    assert (issue.check, issue.path) == ("changed-corpus", "m/new.json")
    assert issue.message.startswith("11.11% of 9 lines")


def test_generated_texts_point_at_the_tokenizers_file():
    paths = {issue.path for issue in list_issues(hostile_change()) if issue.check.startswith("fuzz-")}
    assert paths == {hostile_change().file}


def test_an_annotation_says_what_changed():
    read = [runner_reads(line) for line in written("github", replace(hostile_change(), breaking=())).splitlines()]
    titles = [properties["title"] for _, properties, _ in read]
    assert titles[:4] == ["tokverify", "changed: tokens", "changed: types", "changed: corpus"]
    assert read[0][2].startswith("tokens: 1 moved, 1 removed; types: 1,100 changed; ")
    assert [command for command, _, _ in read].count("warning") == 2


def test_with_breaking_the_broken_and_unknown_levels_are_errors_and_parts_are_notes():
    issues = list(list_issues(hostile_change()))
    levels = {issue.title: issue.level for issue in issues}
    assert levels["broken: vocabulary"] is levels["not compared: special"] is Level.ERROR
    assert levels["changed: tokens"] is Level.NOTE
    assert [issue.check for issue in issues[:2]] == ["broken-consequence", "not-compared"]
    assert all(issue.check != "broken-consequence" for issue in list_issues(replace(hostile_change(), breaking=())))


def test_ids_in_a_proof_are_separated_by_spaces_and_decoded_texts_are_exact():
    witness = Witness("  ", add_special=False, parse_special=False, old="4", new="1714 1714")
    ids = Consequence(Affected.IDS, Outcome.BROKEN, "found", witness=witness)
    assert consequence_lines(ids)[-3:] == [
        "proof: ·· (add_special off, parse_special off)",
        "old: 4",
        "new: 1714 1714",
    ]
    assert consequence_lines(replace(ids, level=Affected.TEXT))[-1] == "new: 1714·1714"


def test_an_empty_text_in_a_proof_is_named():
    witness = Witness("", add_special=True, parse_special=False, old="", new="a")
    text = Consequence(Affected.TEXT, Outcome.BROKEN, "decoded differently", witness=witness)
    shown = written("table", replace(hostile_change(), consequences=(text,)))
    for lines in (consequence_lines(text), [" ".join(line.split()) for line in shown.splitlines()]):
        assert "proof: the empty text (add_special on, parse_special off)" in lines
        assert "old: the empty text" in lines


# JUnit


def test_junit_has_a_test_for_everything_that_is_compared():
    root = etree.fromstring(written("junit", replace(hostile_change(), breaking=())).encode())
    assert [suite.get("name") for suite in root] == ["hostile", "expect", "found", "diff"]
    tests = {test.get("name"): test[0] for test in root[-1].iter("testcase")}
    assert {name: found.tag for name, found in tests.items()} == {
        "changed: tokens": "failure",
        "changed: types": "failure",
        "not listed": "system-out",
        "changed: corpus": "failure",
        "decoding": "skipped",
        "not compared": "skipped",
        "verdict": "failure",
    }
    assert "and 1,090 more" in tests["changed: types"].text
    assert tests["changed: corpus"].get("message").startswith("99.90% of 1,000 lines")


def test_junit_with_breaking_has_a_test_for_each_level_that_is_not_valid_and_no_failing_part():
    root = etree.fromstring(written("junit", hostile_change()).encode())
    failures = [test.get("name") for test in root[-1].iter("testcase") if test.find("failure") is not None]
    assert failures == ["broken: vocabulary", "not compared: special", "changed: corpus", "verdict"]


def test_junit_without_changes_has_no_failure():
    report = report_of(result("a", "x"), effect=Effect(9, 0, 9, 0, 5, 5))
    root = etree.fromstring(written("junit", report).encode())
    assert (root.get("tests"), root.get("failures")) == ("2", "0")
    assert "no part differs" in root.find(".//testcase[@name='verdict']/system-out").text
    accepted = etree.fromstring(written("junit", replace(report, parts=(TOKENS,), behavior_only=True)).encode())
    assert accepted.get("failures") == "0"
    assert accepted.find(".//testcase[@name='changed: tokens']/system-out") is not None


# Formats for people


def test_markdown_shows_one_case_for_each_cause():
    alike = [result(f"c{n}", "x" * (n + 1), "no") for n in range(3)]
    report = replace(report_of(*alike, result("other", "y", "never")), parts=(TOKENS,))
    text = written("markdown", report)
    assert "### 4 cases changed, 2 causes" in text
    assert text.count("<details><summary>ERROR ") == 2
    assert FORMATS["diff"]["markdown"](report, RenderOptions(verbose=True)).count("<summary>ERROR ") == 4
    assert FORMATS["diff"]["markdown"](report, RenderOptions(quiet=True)).count("\n") == 3


def test_an_interrupted_comparison_is_neither_good_nor_bad():
    fuzzed = replace(hostile_change().fuzzed, stop=Stop.INTERRUPTED)
    report = replace(report_of(result("a", "x")), fuzzed=fuzzed)
    assert diff_exit_code(report) == 130
    assert not behaves_alike(report)
    assert written("markdown", report).startswith("## ⚠️ ")
    assert verdict(report).endswith("; fuzzing was interrupted")
    assert json.loads(written("json", report))["summary"]["exit_code"] == 130


def test_the_names_in_a_saved_report_are_escaped():
    part = Part("\x1b[1m", (PartChange("\u202e", "\x1b", "\x1b", None),))
    assert summarize_part(part) == "\\x1b[1m: 1 \\u202e"
    assert change_line(part.changes[0]) == "\\u202e \\x1b: \\x1b → none"
    for name in FORMATS["diff"]:
        assert not {"\x1b", "\u202e"} & set(written(name, replace(report_of(), parts=(part,)))), name


def test_tokens_that_are_only_stored_differently_are_named_for_two_files():
    def respelled(family: str | None) -> str:
        side = Side("m", "m", family=family)
        return verdict(ChangeReport((), Report(side, side, VocabularyDifference(9, 9, respelled=2), ())))

    assert respelled("llama").startswith("2 tokens stored differently, no other part differs; ")
    assert respelled(None).startswith("no part differs; ")


def test_a_verdict_sums_up_everything():
    sentence = verdict(replace(hostile_change(), report=report_of(result("a", "x")).report))
    assert sentence == (
        "broken: vocabulary; unknown: special; valid: ids, text, cost; "
        "tokens: 1 moved, 1 removed; types: 1,100 changed; some parts were not compared; 1 case: 1 match;"
        " 853 of 2,000 generated texts differ;"
        " 99.90% of 1,000 lines and 0.01% of the bytes of the corpus change, 400 tokens before, 500 after (+25.00%)"
    )


def test_every_key_of_the_summary_is_documented():
    document = json.loads(written("json", hostile_change()))
    documented = ROOT.joinpath("docs", "diff.md").read_text(encoding="utf-8")
    assert [key for key in document["summary"] if f"`{key}`" not in documented] == []
