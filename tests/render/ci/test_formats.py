"""What CI systems read, read as they do, of a report whose every text tries to break out."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from lxml import etree

from support.ci_reading import check_visible, runner_reads
from support.hostile_audit import hostile_audit
from support.hostile_finding import hostile_fuzz, present_change, present_fuzz
from support.make_golden import MARKUP, hostile_report
from support.paths import DATA
from tokverify.case import Case
from tokverify.render.issue import path_from
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.fuzz import fuzz_exit_code
from tokverify.report.run import CaseResult, Report, Status, count_status, failing_differences, run_exit_code
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import Aspect
from tokverify.text.visible import visible_message


def run(name: str, report: Report | None = None) -> str:
    return FORMATS["run"][name](report or hostile_report(), RenderOptions())


def audit(name: str) -> str:
    return FORMATS["audit"][name](hostile_audit(), RenderOptions())


def fuzz(name: str) -> str:
    return present_fuzz().formats[name](RenderOptions())


def change(name: str) -> str:
    return present_change().formats[name](RenderOptions())


def failing(count: int) -> Report:
    results = [
        CaseResult(Case(id=f"c{n}", suite="s", text="", file="./s.yaml", line=n), Status.ERROR, message="no")
        for n in range(count)
    ]
    return Report(Side("a", "a.gguf"), Side("b", "b"), None, tuple(results))


def uncompared(fail_on: tuple[str, ...], matching: int = 1) -> Report:
    """Return a report in which nothing is wrong, but not everything was compared."""
    texts = [("text", Status.MATCH, None)] * matching + [("skipped", Status.SKIPPED, "it has no [text]")]
    results = [CaseResult(Case(id=name, suite="s", text=""), status, message=why) for name, status, why in texts]
    reasons = ("the vocabularies: the server lists none", "decoding")
    return Report(Side("a", "a.gguf"), Side("b", "b"), None, tuple(results), not_compared=reasons, fail_on=fail_on)


@pytest.mark.parametrize("name", FORMATS["run"])
def test_the_output_contains_nothing_invisible(name: str):
    check_visible(run(name))


@pytest.mark.parametrize("name", FORMATS["audit"])
def test_an_audit_contains_nothing_invisible(name: str):
    check_visible(audit(name))


@pytest.mark.parametrize("name", FORMATS["run"])
@pytest.mark.parametrize("write", [fuzz, change])
def test_findings_and_changes_contain_nothing_invisible(write, name: str):
    check_visible(write(name))


# What was not compared


@pytest.mark.parametrize(
    ("report", "code", "tag"),
    [
        (uncompared(("error", "not-compared")), 1, "failure"),
        (uncompared(("error",)), 0, "skipped"),
        (uncompared(("error",), matching=0), 2, "error"),
    ],
)
def test_a_junit_test_fails_if_the_run_fails_only_because_something_was_not_compared(report, code: int, tag: str):
    root = etree.fromstring(run("junit", report).encode())
    assert run_exit_code(report) == code
    outcomes = {test.get("name"): [child.tag for child in test] for test in root.iter("testcase")}
    # A run in which no case was compared fails at its cases.
    general = "failure" if code == 1 else "skipped"
    assert outcomes.pop("skipped") == [tag]
    assert outcomes.pop("not compared, 1") == outcomes.pop("not compared, 2") == [general]
    assert outcomes == ({"text": []} if code < 2 else {})
    messages = [element.get("message") for element in root.iter("failure", "skipped", "error")]
    assert messages == [*report.not_compared, "it has no [text]"]


@pytest.mark.parametrize("report", [uncompared(("not-compared",)), uncompared(("error",), matching=0)])
def test_what_was_not_compared_is_an_error_for_ci_if_the_run_fails_for_it(report):
    read = [runner_reads(line) for line in run("github", report).splitlines()]
    assert [(command, properties["title"]) for command, properties, _ in read] == [("error", "not compared")] * 3
    assert [message for _, _, message in read] == [*report.not_compared, "1 case: it has no [text]\ns/skipped"]
    assert [entry["severity"] for entry in json.loads(run("gitlab", report))] == ["major"] * 3
    levels = [result["level"] for result in json.loads(run("sarif", report))["runs"][0]["results"]]
    assert levels == ["error"] * 3


def test_what_was_not_compared_is_only_a_notification_for_ci_if_the_run_passes():
    report = uncompared(("error",))
    assert run("github", report) == ""
    [log] = json.loads(run("sarif", report))["runs"]
    notes = [note["message"]["text"] for note in log["invocations"][0]["toolConfigurationNotifications"]]
    assert notes == [f"not compared: {reason}" for reason in report.not_compared]
    assert log["results"] == []


def test_a_fuzzing_run_that_fails_because_something_was_not_compared_says_so_in_every_ci_format():
    fuzzed = replace(
        hostile_fuzz(),
        report=replace(uncompared(("not-compared",)), results=()),
        causes=(),
        failing=0,
        unlisted=0,
    )
    assert fuzz_exit_code(fuzzed) == 1
    formats = {name: FORMATS["fuzz"][name](fuzzed, RenderOptions()) for name in ("junit", "github", "sarif")}
    assert etree.fromstring(formats["junit"].encode()).get("failures") == "3"
    assert formats["github"].count("::error ") == 2
    assert formats["sarif"].count('"level": "error",\n          "message"') == 2


# JUnit


def test_junit_is_valid():
    schema = etree.XMLSchema(etree.parse(DATA / "junit.xsd"))
    texts = [run("junit", report) for report in (hostile_report(), failing(0), failing(3))]
    for text in (*texts, fuzz("junit"), change("junit")):
        schema.assertValid(etree.fromstring(text.encode()))


def test_junit_counts_as_the_report_does():
    report = hostile_report()
    root = etree.fromstring(run("junit").encode())
    counts = {name: int(root.get(name)) for name in ("tests", "failures", "errors")}
    aspects = len(Aspect) - 1  # no static rules were applied
    assert counts == {
        "tests": aspects + len(report.not_compared) + len(report.results),
        "failures": count_status(report, Status.MISMATCH) + len({each.aspect for each in failing_differences(report)}),
        "errors": count_status(report, Status.ERROR),
    }
    assert len(root.findall(".//failure")) == counts["failures"]
    assert len(root.findall(".//error")) == counts["errors"]
    not_run = count_status(report, Status.SKIPPED) + count_status(report, Status.KNOWN)
    assert len(root.findall(".//skipped")) == not_run + len(report.not_compared)
    assert [suite.get("file") for suite in root] == [None, "my[1].yaml", None]
    assert sum(int(suite.get("tests")) for suite in root) == counts["tests"]


def test_junit_holds_texts_as_they_are_shown():
    case = etree.fromstring(run("junit").encode()).find(".//testcase[@name='markup']")
    assert case.get("classname") == "hostile"
    assert "]]>&amp;<script>alert(1)</script>|`a``b```c`" in case.find("failure").text
    assert "·in·actual" not in case.find("failure").get("message")


# GitHub


def test_github_gets_one_annotation_for_each_failure():
    report = hostile_report()
    read = [runner_reads(line) for line in run("github").splitlines()]
    failures = [r for r in report.results if r.status in {Status.MISMATCH, Status.ERROR}]
    differences = failing_differences(report)
    summary, *errors = [(properties, message) for command, properties, message in read if command == "error"]
    assert summary[0] == {"title": "tokverify"}
    assert [properties["title"] for properties, _ in errors] == [
        "cause",
        *(f"tokenizers: {difference.aspect}" for difference in differences),
        *(f"{r.status}: {r.case.name}" for r in failures),
    ]
    assert [properties["line"] for properties, _ in errors] == [
        *("1" for _ in ["cause", *differences]),
        *(str(r.case.line or 1) for r in failures),
    ]
    assert {properties["file"] for properties, _ in errors} == {"my[1].yaml", "models/[/]model.gguf"}
    assert all(properties.keys() == {"file", "line", "title"} for properties, _ in errors)
    (markup,) = [message for properties, message in errors if properties["title"].endswith("/markup")]
    assert "text: ::error::%0A#\\x23[x]\\r↵]]>&amp;<script>" in markup


@pytest.mark.parametrize("write", [run, audit, fuzz, change])
def test_github_gets_only_commands_and_never_the_older_form(write):
    assert "##[" in MARKUP
    assert "##[" not in write("github")
    commands = {runner_reads(line)[0] for line in write("github").splitlines()}
    assert commands <= {"error", "warning", "notice"}


def test_ci_formats_say_why_cases_fail_and_what_repairs_them():
    read = [runner_reads(line) for line in run("github").splitlines()]
    place, body = next((place, body) for _, place, body in read if place.get("title") == "cause")
    assert place["file"] == "models/[/]model.gguf"
    assert body.splitlines() == [
        "typing token 7 [/INST]\\x1b USER_DEFINED makes 9 of 10 failing cases match",
        "repair: tokverify fix model.gguf -r REFERENCE -o model-fixed.gguf",
        "naming the pre-tokenizer [bold]\\u202e makes 1 of 10 failing cases match",
        "repair: gguf-new-metadata '[x]'",
        "normalizing texts with NFC first makes 10 of 10 failing cases match",
        "GGUF cannot express it: the runtime would have to do it",
    ]
    assert [entry["description"] for entry in json.loads(run("gitlab")) if entry["check_name"] == "diagnosis"] == [
        f"cause: {body.splitlines()[0]}"
    ]


def test_github_reports_accepted_failures_in_one_notice_and_fixed_ones_at_their_entries():
    read = [runner_reads(line) for line in run("github").splitlines()]
    notices = [(properties, message) for command, properties, message in read if command == "notice"]
    fixed, message = next((place, body) for place, body in notices if place["title"].startswith("fixed"))
    accepted, accepted_message = notices[-1]
    assert (fixed["file"], fixed["line"]) == ("known[1].yaml", "5")
    assert message.startswith("hostile/plain matches now")
    assert accepted["title"] == "tokverify: 2 accepted"
    assert [line.split(" (")[0] for line in accepted_message.splitlines()] == [
        "known: hostile/surrogate",
        "known: hostile/many",
    ]


@pytest.mark.parametrize(("count", "lines"), [(0, 0), (10, 10), (11, 12)])
def test_github_summarizes_annotations_beyond_its_limit(count: int, lines: int):
    read = [runner_reads(line) for line in run("github", failing(count)).splitlines()]
    assert len(read) == lines
    if lines > count:
        assert read[0][2].startswith("11 cases: 11 error")


def test_many_failing_cases_are_folded_into_ten_examples_and_the_names_of_the_others():
    """JUnit keeps every case."""
    report = failing(96)
    read = [runner_reads(line) for line in run("github", report).splitlines()]
    assert [message for _, _, message in read[1:11]] == ["no\ntext: \noptions: add_special off, parse_special on"] * 10
    _, place, message = read[11]
    assert place["title"] == "86 more failing cases"
    assert message.splitlines()[:2] == ["96 cases fail; these, too:", "error: s/c10"]
    assert len(read) == 12
    assert len(json.loads(run("gitlab", report))) == 11
    assert len(json.loads(run("sarif", report))["runs"][0]["results"]) == 11
    assert len(etree.fromstring(run("junit", report).encode()).findall(".//testcase/error")) == 96


# GitLab


@pytest.mark.parametrize("write", [run, audit, fuzz, change])
def test_gitlab_gets_all_required_fields(write):
    entries = json.loads(write("gitlab"))
    for entry in entries:
        assert entry.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert entry["location"]["path"]
        assert entry["location"]["lines"]["begin"] >= 1
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)


def test_gitlab_recognizes_a_failure_after_the_file_has_grown():
    before, after = failing(2), failing(3)
    known = {entry["fingerprint"] for entry in json.loads(run("gitlab", before))}
    assert known < {entry["fingerprint"] for entry in json.loads(run("gitlab", after))}
    assert json.loads(run("gitlab", before))[0]["location"]["path"] == "s.yaml"


def test_gitlab_gets_names_that_it_can_store():
    case = Case(id="c", suite="s", text="", file="./a b/\udcff\u202e日本.yaml", line=1)
    report = replace(failing(0), results=(CaseResult(case, Status.ERROR, message="no"),))
    [entry] = json.loads(run("gitlab", report))
    assert entry["location"]["path"] == r"a b/\xff\u202e日本.yaml"


# SARIF


@pytest.mark.parametrize("write", [run, audit, fuzz, change, lambda name: run(name, failing(0))])
def test_sarif_is_valid(write):
    document = json.loads(write("sarif"))
    schema = json.loads((DATA / "sarif.schema.json").read_text())
    jsonschema.validate(document, schema)
    (found,) = document["runs"]
    rules = found["tool"]["driver"]["rules"]
    for result in found["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_contains_no_unintended_link():
    for text in (run("sarif"), audit("sarif"), fuzz("sarif"), change("sarif")):
        for result in json.loads(text)["runs"][0]["results"]:
            assert "](" not in result["message"]["text"]


def test_sarif_lists_accepted_failures_with_their_reasons():
    (found,) = json.loads(run("sarif"))["runs"]
    accepted = [result for result in found["results"] if "suppressions" in result]
    assert [result["message"]["text"].split(":")[1].split("\n")[0] for result in accepted] == [
        " hostile/surrogate",
        " hostile/many",
    ]
    assert accepted[1]["suppressions"][0]["justification"].endswith("(until 2030-01-01)")


def test_sarif_of_an_audit_explains_its_rules():
    (found,) = json.loads(audit("sarif"))["runs"]
    (rule,) = [rule for rule in found["tool"]["driver"]["rules"] if rule["id"] == "TV101"]
    assert rule["defaultConfiguration"] == {"level": "error"}
    assert "**How to repair.**" in rule["help"]["markdown"]
    notes = found["invocations"][0]["toolConfigurationNotifications"]
    assert notes[0]["message"]["text"].startswith("TV201 ")


@pytest.mark.parametrize(
    ("root", "path", "written"),
    [
        ("", "./cases/a.yaml", "cases/a.yaml"),
        ("", "/elsewhere/a.yaml", "/elsewhere/a.yaml"),
        ("{here}", "cases/a.yaml", "cases/a.yaml"),
        ("{above}", "cases/a.yaml", "{name}/cases/a.yaml"),
        ("{above}", "{here}/a.yaml", "{name}/a.yaml"),
        ("{above}", "../cases/a.yaml", "cases/a.yaml"),
        ("{here}", "/elsewhere/a.yaml", "/elsewhere/a.yaml"),
    ],
)
def test_paths_begin_at_the_root_of_the_repository(root: str, path: str, written: str):
    here = Path.cwd()
    places = {"here": str(here), "above": str(here.parent), "name": here.name}
    assert path_from(root.format(**places), path.format(**places)) == written.format(**places)


def test_every_format_for_ci_systems_writes_paths_from_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    options = RenderOptions(root=str(Path.cwd().parent))
    (Path.cwd() / "my[1].yaml").touch()
    for name in ("github", "gitlab", "sarif"):
        plain, below = (FORMATS["run"][name](hostile_report(), each) for each in (RenderOptions(), options))
        assert f"{Path.cwd().name}/" in below
        assert f"{Path.cwd().name}/" not in plain


NO_FILES = [
    "org/name",
    "https://example.org/a.yaml",
    "/elsewhere/a.yaml",
    "../a.yaml",
    "absent.yaml",
    "directory",
    "HEAD~1:a.yaml",
    "x" * 5000,
    "a\0b",
    "\ud800",
    "",
]


@pytest.mark.parametrize("path", NO_FILES)
def test_a_file_outside_the_repository_is_not_reported_as_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
):
    (tmp_path / "here" / "directory").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    Path("../a.yaml").touch()
    Path("own.yaml").touch()
    cases = [Case(id=id, suite="s", text="", file=file, line=7) for id, file in (("a", path), ("b", "own.yaml"))]
    results = tuple(CaseResult(case, Status.ERROR, message="no\nmore") for case in cases)
    report = Report(Side("a", "a.gguf"), Side("b", "b"), None, results)
    options = RenderOptions(root=str(Path.cwd()), stand_in="tokverify.toml")
    place = f"in {visible_message(path or 'a.gguf')}:7, which is not a file in this repository"

    (_, own, _), (_, other, message) = map(runner_reads, FORMATS["run"]["github"](report, options).splitlines())
    assert own == {"file": "own.yaml", "line": "7", "title": "error: s/b"}
    assert other == {"title": "error: s/a"}
    assert place in message.splitlines()

    first, second = (entry["location"] for entry in json.loads(FORMATS["run"]["gitlab"](report, options)))
    assert first == {"path": "tokverify.toml", "lines": {"begin": 1}}
    assert second == {"path": "own.yaml", "lines": {"begin": 7}}

    first, second = json.loads(FORMATS["run"]["sarif"](report, options))["runs"][0]["results"]
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in (first, second)]
    assert uris == ["tokverify.toml", "own.yaml"]
    assert place.replace("{", "{{") in first["message"]["text"].splitlines()
