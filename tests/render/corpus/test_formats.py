import json
from dataclasses import replace

import lxml.html
import pytest
from lxml import etree

from support.hostile_corpus import hostile_corpus
from tokverify.render.corpus import corpus_issues, format_bytes, verdict
from tokverify.render.issue import Level
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.corpus import CorpusReport, corpus_exit_code

WIDE = RenderOptions(width=200)


def clean(**changes: object) -> CorpusReport:
    """Return a report in which nothing differs."""
    report = hostile_corpus()
    nothing = {"differing": 0, "causes": (), "examples": (), "unreadable": 0, "unreadable_groups": (), "notes": ()}
    whole = {"shard": "", "remaining_bytes": 0, "sampled_out": 0, "max_differences": 0}
    return replace(report, report=replace(report.report, results=()), **nothing | whole | changes)


@pytest.mark.parametrize(
    ("report", "code", "sentence"),
    [
        (clean(), 0, "200,000 documents, 1.2 GB: all agree"),
        (clean(differing=1), 1, "200,000 documents, 1.2 GB: 1 differs, 0 causes"),
        (
            clean(differing=2, max_differences=2),
            0,
            "200,000 documents, 1.2 GB: 2 differ, 0 causes; up to 2 are accepted",
        ),
        (clean(differing=3, max_differences=2), 1, None),
        (clean(unreadable=1), 2, "200,000 documents, 1.2 GB: all agree; 1 could not be verified"),
        (clean(unreadable=1, differing=1), 2, None),
        (clean(remaining_bytes=5), 2, "200,000 documents, 1.2 GB: all agree; 5 bytes remain to be verified"),
        (clean(documents=0, bytes=0), 2, "0 documents, 0 bytes: nothing was compared"),
        (clean(shard="3/64"), 0, "200,000 documents, 1.2 GB: all agree; only shard 3/64"),
    ],
)
def test_exit_codes_and_verdicts(report, code, sentence):
    assert corpus_exit_code(report) == code
    if sentence:
        assert verdict(report) == sentence


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (999_950, "1.0 MB"), (10**15, "1.0 PB")],
)
def test_sizes(size, text):
    assert format_bytes(size) == text


def test_the_table_counts_causes_and_places():
    shown = FORMATS["corpus"]["table"](hostile_corpus(), WIDE)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["bos-missing", "1", "0.01%", "BOS", "is", "missing", "at", "the", "beginning"] in lines
    assert ["Latin", "199,990", "6", "-"] in lines
    assert "231 more, shown with -v" in shown
    assert "throughput  20.1 MB/s per worker, 61.5 s of work" in shown
    assert shown.endswith(f"{verdict(hostile_corpus())}\n")


def test_the_sources_that_are_shown_are_the_worst():
    shown = FORMATS["corpus"]["table"](hostile_corpus(), WIDE)
    assert [f"data/{part:03}.parquet" in shown for part in (0, 1, 2, 3, 5)] == [False, False, True, False, True]
    verbose = FORMATS["corpus"]["table"](hostile_corpus(), replace(WIDE, verbose=True))
    assert all(f"data/{part:03}.parquet" in verbose for part in range(250))


def test_the_json_has_the_counts_of_each_cause():
    document = json.loads(FORMATS["corpus"]["json"](hostile_corpus(), RenderOptions()))
    assert document["summary"] == {
        "exit_code": 2,
        "documents": 200_000,
        "bytes": 1_234_567_890,
        "differing": 7,
        "explained": 0,
        "unreadable": 3,
        "null": 0,
        "causes": {"bos-missing": 1, "other": 7},
    }


def test_the_page_plots_causes_sources_and_scripts():
    root = lxml.html.fromstring(FORMATS["corpus"]["html"](hostile_corpus(), RenderOptions()))
    causes = root.xpath("//table[.//th='cause']/tbody/tr")
    assert [row.xpath("string(td)") for row in causes] == ["bos-missing", "other"]
    widths = [float(row.xpath(".//rect[@class='is-actual']/@width")[0].rstrip("%")) for row in causes]
    assert widths == [pytest.approx(100 / 7, abs=0.01), 100.0]
    for group, groups in (("source", hostile_corpus().sources), ("script", hostile_corpus().scripts)):
        assert len(root.xpath(f"//table[.//th='{group}']/tbody/tr")) == len(groups)
    assert "20.1 MB/s" in root.text_content()


def test_ci_systems_get_an_issue_for_each_cause_and_reason():
    issues = list(corpus_issues(hostile_corpus()))
    assert [(issue.check, issue.level) for issue in issues[:3]] == [
        ("corpus-difference", Level.ERROR),
        ("corpus-difference", Level.ERROR),
        ("corpus-unreadable", Level.ERROR),
    ]
    assert "1 document (0.01%): BOS is missing at the beginning" in issues[0].message
    accepted = list(corpus_issues(replace(hostile_corpus(), max_differences=7)))
    assert accepted[0].level is Level.NOTE


def test_junit_has_a_test_for_each_cause_and_one_for_the_corpus():
    root = etree.fromstring(FORMATS["corpus"]["junit"](hostile_corpus(), RenderOptions()).encode())
    tests = {test.get("name"): [child.tag for child in test] for test in root.iter("testcase")}
    found = {name: tags for name, tags in tests.items() if not name.startswith("not compared")}
    assert found == {
        "difference: bos-missing": ["failure"],
        "difference: other": ["failure"],
        "unreadable": ["failure"],
        "vocabulary": ["skipped"],
        "verdict": ["error"],
    }
    root = etree.fromstring(FORMATS["corpus"]["junit"](clean(), RenderOptions()).encode())
    assert [test.get("name") for test in root.iter("testcase")][-1] == "verdict"
    assert not root.xpath("//failure | //error")


@pytest.mark.parametrize("name", [name for name in FORMATS["corpus"] if name != "gitlab"])  # one line for each cause
def test_every_format_shows_what_the_judge_says(name):
    report = hostile_corpus()
    examples = tuple(replace(example, judgment="llama.cpp agrees with actual") for example in report.examples)
    assert "llama.cpp agrees with actual" in FORMATS["corpus"][name](replace(report, examples=examples), WIDE)
