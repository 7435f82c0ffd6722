"""The formats of tried chat templates, of a report whose every text tries to break out."""

import json
from collections import Counter
from dataclasses import replace

import jsonschema
import lxml.html
import pytest
from lxml import etree

from support.ci_reading import check_visible, runner_reads
from support.hostile_chat import hostile_chat, text_difference
from support.make_golden import MARKUP
from support.paths import DATA
from tokverify.render.case_text import shortened
from tokverify.render.chat import CHAT_CHECKS, UNCHECKED_CHECK, verdict
from tokverify.render.kinds import FORMATS, present
from tokverify.render.options import RenderOptions
from tokverify.report.chat import CHAT_KINDS, ChatReport, Template, count_findings, message_texts
from tokverify.report.finding import Severity
from tokverify.report.side import Side

EMPTY = ChatReport(
    actual=Side("m", "m.gguf"),
    expected=None,
    findings=(),
    templates=(Template("default", "x"),),
    conversations=(),
    results=(),
)


def written(name: str, report: ChatReport | None = None, **options: object) -> str:
    return FORMATS["chat"][name](report or hostile_chat(), RenderOptions(**options))


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("name", FORMATS["chat"])
def test_the_output_contains_nothing_invisible(name: str, verbose: bool):
    check_visible(written(name, verbose=verbose))


@pytest.mark.parametrize("name", FORMATS["chat"])
def test_little_is_written_too(name: str):
    assert isinstance(written(name, EMPTY, verbose=True), str)
    assert present("chat", EMPTY).exit_code == 0


def test_the_verdict_counts_what_was_tried():
    assert verdict(hostile_chat()) == "2 templates, 2 conversations: 3 errors, 1 warning, 2 informational findings"
    assert written("table", quiet=True) == f"{verdict(hostile_chat())}\n"


# For a person


def test_the_table_shows_both_texts_with_what_differs_marked():
    shown = written("table", verbose=True)
    lines = shown.split("\n")
    at = next(index for index, line in enumerate(lines) if "same·::error" in line)
    assert lines[at].startswith(("    ", "  - "))
    assert any(set(line.strip()) == {"^"} for line in lines[at:])
    assert "  = equal↵" in lines
    assert "[/INST][red]" in shown
    assert "SOURCE of default" in shown
    assert "-v shows both sides" in written("table")
    assert "-v shows both sides" not in shown


@pytest.mark.parametrize("width", [40, 100])
def test_no_line_of_the_table_is_wider_than_asked(width: int):
    from rich.cells import cell_len

    assert max(map(cell_len, written("table", verbose=True, width=width).split("\n"))) <= width


def test_the_carets_mark_the_difference():
    report = hostile_chat()
    texts = "日本 é <|im_end|>\n", "日本 é </s>\n"
    result = replace(
        report.results[0],
        actual=replace(report.results[0].actual, text=texts[0]),
        expected=replace(report.results[0].expected, text=texts[1]),
        text_difference=text_difference(*texts),
    )
    lines = written("table", replace(report, results=(result,), findings=()), verbose=True).split("\n")
    at = lines.index("  - 日本·é·<|im_end|>↵")
    # Each of the two characters is two cells wide.
    assert lines[at + 1] == f"{'':11}^^^^^^^^^^"
    assert lines[at + 2 : at + 4] == ["  + 日本·é·</s>↵", f"{'':11}^^^^"]


def test_markdown_folds_the_texts_away():
    text = written("markdown")
    assert text.count("<details>") == 3
    assert "  ... 19 equal lines ..." in text
    assert written("markdown", verbose=True).count("<details>") == 5
    assert "equal lines" not in written("markdown", verbose=True)


# For CI


def test_junit_is_valid_and_counts_as_the_report_does():
    schema = etree.XMLSchema(etree.parse(DATA / "junit.xsd"))
    root = etree.fromstring(written("junit").encode())
    schema.assertValid(root)
    schema.assertValid(etree.fromstring(written("junit", EMPTY).encode()))
    # A test for each result, for each finding about a template as a whole, and for each of two things not checked.
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("8", "5", "0")
    assert next(suite.get("name") for suite in root) == "not checked"
    assert [suite.get("file") for suite in root] == [None] * 4
    assert len(root.findall(".//failure")) == 5
    passed = [
        test.get("name")
        for test in root.iter("testcase")
        if test.find("failure") is None and test.find("skipped") is None
    ]
    assert passed == ["missing"]
    [drift] = root.findall(".//failure[@type='drift']")
    assert "my[1].yaml:7" in drift.text


def test_junit_names_the_finding_that_fails_even_if_it_is_not_the_first():
    report = hostile_chat()
    ordered = replace(report, findings=report.findings[::-1])
    kinds = {failure.get("type") for failure in etree.fromstring(written("junit", ordered).encode()).iter("failure")}
    assert kinds == {"drift", "ids", "lost-content", "missing"}


def test_what_was_not_checked_fails_in_every_ci_format_if_the_report_fails_only_for_that():
    report = replace(EMPTY, not_checked=("the reference's [ids]", "the end of a turn"), requires_all=True)
    assert present("chat", report).exit_code == 1
    root = etree.fromstring(written("junit", report).encode())
    assert [failure.get("message") for failure in root.iter("failure")] == list(report.not_checked)
    read = [runner_reads(line) for line in written("github", report).splitlines()]
    assert [(command, message) for command, _, message in read] == [("error", text) for text in report.not_checked]
    assert [entry["severity"] for entry in json.loads(written("gitlab", report))] == ["major", "major"]
    [log] = json.loads(written("sarif", report))["runs"]
    assert [result["level"] for result in log["results"]] == ["error", "error"]


def test_what_was_not_checked_is_skipped_in_junit_if_the_report_passes():
    report = replace(EMPTY, not_checked=("the reference's ids",))
    assert present("chat", report).exit_code == 0
    root = etree.fromstring(written("junit", report).encode())
    assert [skipped.get("message") for skipped in root.iter("skipped")] == ["the reference's ids"]
    assert (root.get("failures"), written("github", report)) == ("0", "")


def test_github_annotates_the_conversation_or_else_the_model():
    read = [runner_reads(line) for line in written("github").splitlines()]
    assert [(command, properties["title"].split(": ")[0]) for command, properties, _ in read] == [
        ("error", "drift"),
        ("error", "ids"),
        ("error", "missing"),
        ("warning", "lost-content"),
        ("notice", "double-bos"),
        ("notice", "missing"),
    ]
    assert [(properties["file"][:10], properties["line"]) for _, properties, _ in read] == [
        ("my[1].yaml", "7"),
        ("models/::e", "1"),
        ("models/::e", "1"),
        ("my[1].yaml", "7"),
        ("my[1].yaml", "7"),
        ("models/::e", "1"),
    ]
    assert all(properties.keys() == {"file", "line", "title"} for _, properties, _ in read)
    assert "##[" in MARKUP
    assert "##[" not in written("github")
    assert "repair: " in read[0][2]
    assert "repair: " not in read[4][2]


def test_gitlab_gets_all_required_fields():
    entries = json.loads(written("gitlab"))
    assert [entry["severity"] for entry in entries] == ["major", "major", "major", "minor", "info", "info"]
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)


def test_sarif_is_valid_and_explains_every_kind():
    document = json.loads(written("sarif"))
    jsonschema.validate(document, json.loads((DATA / "sarif.schema.json").read_text()))
    [found] = document["runs"]
    rules = found["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [check.id for check in (*CHAT_CHECKS, UNCHECKED_CHECK)]
    for result in found["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert "](" not in result["message"]["text"]
    notes = [note["message"]["text"] for note in found["invocations"][0]["toolConfigurationNotifications"]]
    assert notes[1] == "not checked: the reference's ids"


# The page


def test_the_page_shows_findings_and_texts():
    root = lxml.html.fromstring(written("html"))
    findings = Counter(section.get("data-label") for section in root.xpath("//section[@data-label]"))
    assert findings == {severity.name: count_findings(hostile_chat(), severity) for severity in Severity}
    marked = root.xpath("//span[@class='line actual']/text()")
    assert any("same" in text for text in marked)
    content = root.text_content()
    assert "19 equal lines" in content
    assert "cannot be encoded: " in content
    assert "refuses: " in content
    assert all(CHAT_KINDS[finding.kind].summary in content for finding in hostile_chat().findings)
    messages = [text for each in hostile_chat().conversations for _, text in message_texts(each.messages)]
    assert messages
    assert all(shortened(text) in content for text in messages)
