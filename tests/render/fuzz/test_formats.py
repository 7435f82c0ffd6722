import json
from dataclasses import replace

import pytest
from lxml import etree

from support.fake_tokenizer import FakeTokenizer
from support.hostile_finding import hostile_fuzz
from support.paths import ROOT
from tokverify.compare.digest import make_difference
from tokverify.compare.fuzz.loop import fuzz
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.errors import UnsupportedError
from tokverify.render.fuzz import FUZZ_CHECKS, fuzz_issues, percent, verdict
from tokverify.render.issue import Level
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.finding import Severity
from tokverify.report.fuzz import FuzzReport, Share, Stop, fuzz_exit_code
from tokverify.report.run import Status
from tokverify.report.tokenizer_difference import Aspect
from tokverify.report.vocabulary_difference import VocabularyDifference

HOSTILE = ("[/INST]", "\x1b", "\0", "\u202e")
LETTERS = tuple(dict.fromkeys("".join(HOSTILE) + " \nab"))


def fuzzed(plan: FuzzPlan, *pieces: str, decode=None) -> FuzzReport:
    """Compare a tokenizer that knows hostile pieces with one that has only their characters."""
    actual = FakeTokenizer(*LETTERS, *pieces, name="[red]left", adds_special=False)
    expected = FakeTokenizer(*LETTERS, *pieces[1:], name="right")
    if decode:
        expected.decode = decode
    return fuzz(actual, expected, plan)


@pytest.fixture(scope="module")
def hostile() -> FuzzReport:
    return fuzzed(FuzzPlan(count=2000, generators=("pieces",)), *HOSTILE)


@pytest.fixture(scope="module")
def nothing() -> FuzzReport:
    same = FakeTokenizer(*LETTERS, adds_special=False)
    return fuzz(same, same, FuzzPlan(count=1, generators=("pieces",)))


def test_the_table_escapes_hostile_text_and_lists_what_was_tried(hostile):
    shown = FORMATS["fuzz"]["table"](hostile, RenderOptions())
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[red]left" in shown
    assert "tried     2,000 texts, as many as requested" in shown
    assert "coverage  100.0% of 10 pieces" not in shown
    assert " texts, the first from the generator pieces: " in shown
    assert "text     [/INST]" in shown
    assert shown.endswith(f"{verdict(hostile)}\n")


def test_options_disabled_for_all_texts_are_reported_at_both_ends(hostile):
    note = "compared with add_special turned off: [red]left does not know which tokens to add around a text"
    assert json.loads(FORMATS["fuzz"]["json"](hostile, RenderOptions()))["notes"] == [note]
    shown = FORMATS["fuzz"]["table"](hostile, RenderOptions(width=200))
    first, last = shown.index(note), shown.rindex(note)
    assert first < shown.index("tried  ") < last
    assert shown[last:] == f"{note}\n\n{verdict(hostile)}\n"


def test_nothing_is_noted_if_no_option_is_disabled():
    same = FakeTokenizer(*LETTERS, special_ids={"bos": 0})
    full = fuzz(same, same, FuzzPlan(count=9, generators=("pieces",)))
    assert json.loads(FORMATS["fuzz"]["json"](full, RenderOptions()))["notes"] == []
    assert "throughout" not in FORMATS["fuzz"]["table"](full, RenderOptions())


def test_quiet_prints_the_verdict_alone(hostile):
    assert FORMATS["fuzz"]["table"](hostile, RenderOptions(quiet=True)) == f"{verdict(hostile)}\n"


def test_the_json_contains_everything(hostile):
    document = json.loads(FORMATS["fuzz"]["json"](hostile, RenderOptions()))
    assert list(document) == [
        "schema_version", "kind", "summary", "report", "strings", "failing", "explained", "skipped", "unlisted", "stop",
        "notes", "coverage", "generators", "causes", "gone",
    ]  # fmt: skip
    assert document["summary"]["strings"] == 2000
    assert document["summary"]["failing"] == document["generators"]["pieces"]["failing"] > 0
    assert document["coverage"]["merges"] is None
    assert [cause["case"] for cause in document["causes"]] == [
        result["case"]["id"] for result in document["report"]["results"]
    ]
    assert document["report"]["results"][0]["case"]["text"] == "[/INST]"
    assert "[/INST]" in document["causes"][0]["found"]["text"]


def test_decode_differences_are_reported_in_bytes():
    different = fuzzed(FuzzPlan(count=300, generators=("pieces",), decoding=True), "ab", decode=lambda ids: b"\xff")
    document = json.loads(FORMATS["fuzz"]["json"](different, RenderOptions()))
    decoded = [cause["decoded"] for cause in document["causes"] if cause["kind"] == "decoding"]
    assert decoded[0]["expected"] == "ff"
    assert "by right" in FORMATS["fuzz"]["table"](different, RenderOptions())


def test_skipped_texts_are_listed():
    actual, expected = FakeTokenizer(*LETTERS), FakeTokenizer(*LETTERS, adds_special=False)

    def refuse(text, **options):
        if "b" in text:
            raise UnsupportedError("no b, please")
        return FakeTokenizer(*LETTERS).encode(text, **options)

    expected.encode = refuse
    skipping = fuzz(actual, expected, FuzzPlan(count=100, generators=("pieces",)))
    assert "SKIPPED expected (fake): no b, please" in FORMATS["fuzz"]["table"](skipping, RenderOptions())


def test_verdicts(nothing):
    assert verdict(nothing) == "1 text: nothing found"
    assert verdict(replace(nothing, strings=3000, failing=1, unlisted=1)) == (
        "3,000 texts: 1 fails; the cause of 1 text is not listed"
    )
    differing = replace(nothing.report, vocabulary=VocabularyDifference(1, 2))
    assert verdict(replace(nothing, report=differing, skipped=1)) == (
        "1 text: nothing found; 1 skipped; the vocabularies differ; nothing was compared"
    )

    interrupted = replace(nothing, stop=Stop.INTERRUPTED)
    assert (verdict(interrupted), fuzz_exit_code(interrupted)) == ("1 text: nothing found; interrupted", 130)


def test_a_difference_between_the_tokenizers_fails_in_every_format(nothing):
    difference = make_difference(
        Aspect.SPECIAL_IDS, Severity.ERROR, "EOS is 1 in the model, but 2 in the reference", [1]
    )
    differing = replace(nothing, report=replace(nothing.report, differences=(difference,)))
    assert fuzz_exit_code(differing) == 1
    assert verdict(differing) == "1 text: nothing found; 1 failing difference between the tokenizers"
    shown = FORMATS["fuzz"]["table"](differing, RenderOptions(width=200))
    assert "fails  ERROR special-ids: EOS is 1 in the model, but 2 in the reference" in shown
    (issue,) = fuzz_issues(differing)
    assert (issue.check, issue.level) == ("tokenizer-special-ids", Level.ERROR)
    assert "EOS is 1 in the model" in FORMATS["fuzz"]["html"](differing, RenderOptions())
    failure, _ = etree.fromstring(FORMATS["fuzz"]["junit"](differing, RenderOptions()).encode()).iter("failure")
    assert failure.get("message") == difference.message


def test_a_difference_that_does_not_fail_is_only_shown(nothing):
    difference = make_difference(Aspect.PADDING, Severity.INFO, "padding differs", [1])
    differing = replace(nothing, report=replace(nothing.report, differences=(difference,)))
    assert (fuzz_exit_code(differing), verdict(differing)) == (
        0, "1 text: nothing found; differences between the tokenizers: 1 not failing"
    )  # fmt: skip


# Formats for CI systems


def test_each_cause_is_an_issue_at_the_model():
    issues = list(fuzz_issues(hostile_fuzz()))
    found = [result for result in hostile_fuzz().report.results if result.status is not Status.SKIPPED]
    assert [issue.title for issue in issues[: len(found)]] == [
        f"{result.status}: {result.case.name}" for result in found
    ]
    checks = {issue.check for issue in issues}
    assert checks >= {"fuzz-mismatch", "fuzz-error", "fuzz-decoding", "fuzz-unlisted", "tokenizer-bytes"}
    assert checks <= {check.id for check in FUZZ_CHECKS}
    assert {issue.path for issue in issues} == {hostile_fuzz().report.actual.source}


def test_a_decode_difference_shows_both_results():
    (issue,) = [issue for issue in fuzz_issues(hostile_fuzz()) if issue.check == "fuzz-decoding"]
    assert issue.message.splitlines()[0] == "the same ids decode to é (actual) and \\xff (expected)"


def test_a_failure_without_a_listed_cause_is_reported(nothing):
    for failing, level in ((0, Level.NOTE), (3, Level.ERROR)):
        (issue,) = fuzz_issues(replace(nothing, failing=failing, unlisted=3))
        assert (issue.check, issue.level) == ("fuzz-unlisted", level)
        assert issue.message.startswith("3 texts that do not match: ")


@pytest.mark.parametrize(
    ("changes", "tag"),
    [
        ({}, "system-out"),
        ({"failing": 1, "unlisted": 1}, "failure"),
        ({"skipped": 1, "unlisted": 1}, "error"),
    ],
)
def test_junit_is_never_without_a_test(nothing, changes: dict[str, int], tag: str):
    root = etree.fromstring(FORMATS["fuzz"]["junit"](replace(nothing, **changes), RenderOptions()).encode())
    test = root.find("testsuite[@name='fuzz']/testcase[@name='verdict']")
    assert test[0].tag == tag


def test_junit_has_a_test_for_each_cause():
    root = etree.fromstring(FORMATS["fuzz"]["junit"](hostile_fuzz(), RenderOptions()).encode())
    assert [suite.get("name") for suite in root] == ["tokenizers", "found", "fuzz"]
    assert int(root[0].get("failures")) > 0
    assert root[1].get("tests") == str(len(hostile_fuzz().causes))


def test_sarif_lists_options_disabled_for_all_texts(hostile):
    (run,) = json.loads(FORMATS["fuzz"]["sarif"](hostile, RenderOptions()))["runs"]
    (note,) = run["invocations"][0]["toolConfigurationNotifications"]
    assert note["message"]["text"].startswith("compared with add_special turned off")


def test_markdown_lists_what_was_tried(hostile):
    text = FORMATS["fuzz"]["markdown"](hostile, RenderOptions())
    assert "### 1 cause\n" in text
    assert "| tried | 2,000 texts, as many as requested |" in text
    assert "| pieces | 2,000 | " in text
    assert FORMATS["fuzz"]["markdown"](hostile, RenderOptions(quiet=True)).count("\n") == 3


@pytest.mark.parametrize("stop", Stop)
def test_every_reason_to_stop_has_words(nothing, stop):
    assert "1 text, " in FORMATS["fuzz"]["table"](replace(nothing, stop=stop), RenderOptions())


def test_only_everything_is_all():
    assert [percent(Share(done, 3000)) for done in (0, 1, 2999, 3000)] == ["0.0%", "0.0%", "99.9%", "100.0%"]


def test_every_key_of_the_summary_is_documented(hostile):
    document = json.loads(FORMATS["fuzz"]["json"](hostile, RenderOptions()))
    documented = ROOT.joinpath("docs", "fuzz.md").read_text(encoding="utf-8")
    assert [key for key in document["summary"] if f"`{key}`" not in documented] == []
