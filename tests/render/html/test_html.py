"""The pages as text; test_browser.py opens them."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import lxml.html
import pytest

from support.explanation_maker import explanation
from support.hostile_reports import REPORTS
from support.make_golden import hostile_report
from tokverify.case import Case
from tokverify.render.draw_html import script_json
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.render.run.case_data import cases_data, causes
from tokverify.render.run.html import SuiteCount, segments, suite_counts, ticks
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.run import CaseResult, Report, Status, can_match
from tokverify.report.side import Side
from tokverify.report.vocabulary_difference import PieceDifference, VocabularyDifference
from tokverify.text.wording import percentage
from tokverify.texts.alignment import compare, compare_decoded
from tokverify.tokenizer import Token


def report_data(report: Report) -> dict[str, object]:
    return cases_data([(report, causes(report))])


def run_page(report: Report | None = None) -> str:
    return FORMATS["run"]["html"](report or hostile_report(), RenderOptions())


def page_of(kind: str) -> str:
    return FORMATS[kind]["html"](REPORTS[kind](), RenderOptions())


def report_of(*results: CaseResult, diagnosis: Diagnosis | None = None) -> Report:
    return Report(Side("a", "a.gguf"), Side("b", "b.json"), None, results, diagnosis=diagnosis)


def result_of(name: str, status: Status, **fields: object) -> CaseResult:
    suite, id = name.split("/")
    return CaseResult(Case(id=id, suite=suite, text="ab"), status, **fields)


def mismatch(name: str, actual: list[Token], expected: list[Token]) -> CaseResult:
    ids = {"actual": tuple(token.id for token in actual), "expected": tuple(token.id for token in expected)}
    return result_of(name, Status.MISMATCH, **ids, difference=compare(actual, expected))


def token(id: int, data: bytes) -> Token:
    return Token(id, data.decode("latin-1"), data)


A, B, AB = token(1, b"a"), token(2, b"b"), token(3, b"ab")


# One file, and nothing gets in or out


@pytest.mark.parametrize("kind", REPORTS)
def test_a_page_refers_to_nothing_outside(kind):
    root = lxml.html.fromstring(page_of(kind))
    links = {
        value
        for element in root.iter()
        for name, value in element.items()
        if name in {"href", "src", "srcset", "action"}
    }
    assert links
    assert all(link.startswith("#") or link == "data:," for link in links)
    assert "url(" not in page_of(kind)
    assert "@import" not in page_of(kind)


@pytest.mark.parametrize("kind", REPORTS)
def test_a_page_allows_its_own_style_and_script_only(kind):
    root = lxml.html.fromstring(page_of(kind))
    policy = root.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts["default-src"] == "'none'"
    styles, scripts = root.xpath("//style"), root.xpath("//script[not(@type='application/json')]")
    assert [digest(element) for element in styles] == [parts["style-src"]]
    assert [digest(element) for element in scripts] == [parts["script-src"]]


def digest(element) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()}'"


@pytest.mark.parametrize("kind", REPORTS)
def test_hostile_text_adds_no_element_and_no_handler(kind):
    root = lxml.html.fromstring(page_of(kind))
    names = {element.tag for element in root.iter() if isinstance(element.tag, str)}
    assert not names & {"img", "iframe", "object", "embed", "base", "link:stylesheet", "x"}
    assert len(root.xpath("//script")) == (2 if kind == "run" else 1)
    assert not [name for element in root.iter() for name in element.attrib if name.startswith("on") or name == "style"]


def test_data_cannot_end_its_script():
    text = "</script><!--<script>&amp;\u2028\u2029]]>"
    written = script_json({"text": text})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {"text": text}


def test_the_data_of_a_page_is_that_of_the_report():
    root = lxml.html.fromstring(run_page())
    held = json.loads(root.xpath("//script[@id='data']")[0].text)
    assert held == json.loads(json.dumps(report_data(hostile_report())))
    assert [case["status"] for case in held["cases"]] == [str(result.status) for result in hostile_report().results]


# The content of pages


def test_the_page_shows_the_verdict_without_scripts():
    text = lxml.html.fromstring(run_page()).text_content()
    assert "Failed" in text
    assert "Exit code 1: the tokenizers differ, or a case differs or cannot be encoded." in text
    assert "naming the pre-tokenizer [bold]\\u202e makes 1 of 10 failing cases match" in text
    assert "caveat: it proves [nothing]" in text


def test_failing_cases_are_named_without_a_script():
    items = lxml.html.fromstring(run_page()).xpath("//*[@id='list']//li")
    failing = [r for r in hostile_report().results if r.status in {Status.MISMATCH, Status.ERROR}]
    assert [item.xpath("string(strong)") for item in items] == [result.case.name for result in failing]


@pytest.mark.parametrize(
    ("status", "outcome"), [(Status.MATCH, "Passed"), (Status.ERROR, "Failed"), (Status.SKIPPED, "Nothing compared")]
)
def test_the_outcome_is_that_of_the_exit_code(status: Status, outcome: str):
    root = lxml.html.fromstring(run_page(report_of(result_of("s/a", status))))
    assert root.xpath("string(//h1)").split(maxsplit=1)[1] == outcome


def test_a_report_without_cases_is_a_page():
    assert "Nothing compared" in run_page(report_of())


def test_quiet_does_not_shorten_the_page():
    assert FORMATS["run"]["html"](hostile_report(), RenderOptions(quiet=True)) == run_page()


def test_equal_vocabularies_were_compared():
    report = replace(report_of(), vocabulary=VocabularyDifference(5, 5))
    assert "5 tokens on both sides, all with the same bytes" in run_page(report)
    assert "The vocabularies were not compared." in run_page(report_of())


def test_long_lists_of_tokens_that_one_side_lacks_are_folded():
    padding = [PieceDifference(id, f"[PAD{id}]", None) for id in range(5, 55)]
    pieces = (PieceDifference(1, "a", "b"), *padding, PieceDifference(60, None, "new"))
    root = lxml.html.fromstring(run_page(replace(report_of(), vocabulary=VocabularyDifference(55, 61, pieces))))
    tables = root.xpath("//table[@class='pieces']/..")
    assert [(table.xpath("string(summary)"), table.get("open") is not None) for table in tables] == [
        ("tokens that differ (1)", True),
        ("tokens that only actual has (50)", False),
        ("tokens that only expected has (1)", True),
    ]
    assert len(tables[1].xpath(".//tbody/tr")) == 50


def test_two_reports_may_have_cases_of_one_name():
    skipped = report_of(result_of("s/a", Status.SKIPPED, message="no"))
    data = cases_data([(skipped, causes(skipped)), (report_of(), {}), (report_of(result_of("s/a", Status.MATCH)), {})])
    assert [case["causes"] for case in data["cases"]] == [[0], []]


# The data of cases


def columns(actual: list[Token], expected: list[Token]) -> list[list]:
    return drawn(report_data(report_of(mismatch("s/a", actual, expected))))


def drawn(data: dict) -> list[list]:
    """Return the columns of the first case, as the page's script draws them."""
    rows = data["tokens"]
    whole = [(1, [one], [one], rows[one][3]) if isinstance(one, int) else one for one in data["cases"][0]["columns"]]
    return [
        (equal, [rows[n][1] for n in left], [rows[n][1] for n in right], text) for equal, left, right, text in whole
    ]


def test_columns_end_where_both_sides_have_the_same_bytes():
    assert columns([A, A, B, A], [A, AB, A]) == [
        (1, ["a"], ["a"], "a"),
        (0, ["a", "b"], ["ab"], "ab"),
        (1, ["a"], ["a"], "a"),
    ]


def test_the_bytes_of_one_character_share_a_column():
    first, second = token(5, b"\xc3"), token(6, b"\xa9")
    assert columns([first, second, A, AB], [first, second, A, A, B]) == [
        (1, ["Ã", "©"], ["Ã", "©"], "é"),
        (1, ["a"], ["a"], "a"),
        (0, ["ab"], ["a", "b"], "ab"),
    ]


def test_a_character_that_is_never_completed_is_still_shown():
    first = token(5, b"\xc3")
    assert columns([first, A], [first, B])[0] == (1, ["Ã"], ["Ã"], "\\xc3")


def test_a_column_whose_sides_decode_differently_has_no_text():
    assert columns([A, B], [B, B]) == [(0, ["a"], ["b"], None), (1, ["b"], ["b"], "b")]


def test_a_token_is_held_once():
    data = report_data(report_of(mismatch("s/a", [AB], [A, B]), mismatch("s/b", [A, B], [AB])))
    assert data["tokens"] == [(3, "ab", "6162", "ab"), (1, "a", "61", "a"), (2, "b", "62", "b")]


def test_spans_say_whether_they_count_the_text():
    space = token(9, b" ")
    cases = report_data(report_of(mismatch("s/a", [AB], [A, B]), mismatch("s/b", [space, AB], [A, B])))["cases"]
    assert [case["exact"] for case in cases] == [[True, True], [False, True]]


def test_a_match_holds_the_tokens_of_both_sides():
    spelled = Token(2, "[b]", b"b")
    result = result_of("s/a", Status.MATCH, actual=(1, 2), expected=(1, 2))
    data = report_data(replace(report_of(result), tokens={1: (A, A), 2: (B, spelled)}))
    case = data["cases"][0]
    assert drawn(data) == [(1, ["a"], ["a"], "a"), (1, ["b"], ["[b]"], "b")]
    assert (case["other"], case["exact"]) == ("expected", [True, True])
    assert ("tokens", "2 on both sides, for 2 characters") in case["facts"]


def test_a_match_without_recorded_tokens_holds_its_ids():
    result = result_of("s/a", Status.MATCH, actual=(7, 8), expected=(7, 8))
    case = report_data(report_of(result))["cases"][0]
    assert (case["ids"], case["text"], "columns" in case) == ([7, 8], "ab", False)


# Causes


def test_causes_are_the_explanations_that_hold_for_a_case():
    results = [mismatch(f"s/{id}", [A], [B]) for id in "abc"]
    diagnosis = Diagnosis(
        (explanation("one", unexplained=("s/b", "s/c")), explanation("two", unexplained=("s/c",))), failing=3, tried=5
    )
    found = causes(report_of(*results, result_of("s/d", Status.MATCH), diagnosis=diagnosis))
    assert found == {"s/a": ["one", "two"], "s/b": ["two"], "s/c": ["no explanation found"]}


@pytest.mark.parametrize(("failing", "cause"), [(2, ["one", "cannot be encoded"]), (1, ["cannot be encoded"])])
def test_only_errors_that_the_diagnosis_examined_are_explained(failing: int, cause: list[str]):
    results = mismatch("s/a", [A], [B]), result_of("s/b", Status.ERROR, message="no")
    found = causes(report_of(*results, diagnosis=Diagnosis((explanation("one"),), failing=failing, tried=1)))
    assert found == {"s/a": ["one"], "s/b": cause}


def test_without_a_diagnosis_a_case_is_explained_by_its_own_result():
    own = replace(mismatch("s/own", [A], [B]), actual=(1,), expected=(1,))
    results = own, result_of("s/skip", Status.SKIPPED, message="no"), mismatch("s/m", [A], [B])
    decoded = result_of("s/dec", Status.MATCH, decode_difference=compare_decoded(b"a", b"b"))
    assert causes(report_of(*results, decoded)) == {
        "s/own": ["both sides agree, but not with the case"],
        "s/skip": ["skipped: no"],
        "s/dec": ["decoded differently"],
    }


@pytest.mark.parametrize("own", [(7,), ("z",)])
def test_a_case_that_the_reference_contradicts_has_no_explanation(own: tuple[int | str, ...]):
    results = replace(mismatch("s/own", [A], [B]), expect=own), replace(mismatch("s/ok", [A], [B]), expect=("b",))
    assert [can_match(result) for result in results] == [False, True]
    found = causes(report_of(*results, diagnosis=Diagnosis((explanation("one"),), failing=1, tried=1)))
    assert found == {"s/own": ["the reference does not agree with the case"], "s/ok": ["one"]}


def test_a_diagnosis_of_decoding_is_about_what_decodes_differently():
    decoded = result_of("s/dec", Status.MATCH, decode_difference=compare_decoded(b"a", b"b"))
    diagnosis = Diagnosis((explanation("one"),), failing=1, tried=1, decoding=True)
    assert causes(report_of(decoded, diagnosis=diagnosis)) == {"s/dec": ["one", "decoded differently"]}


# Plots


def test_suite_counts_are_sorted_worst_first():
    good = result_of("good/a", Status.MATCH, actual=(1,), expected=(1,))
    bad = mismatch("bad/a", [A, B], [AB])
    skipped = result_of("left/a", Status.SKIPPED)
    counts = suite_counts(report_of(skipped, good, bad, replace(bad, status=Status.MATCH)))
    assert [(count.name, count.match_rate, count.rates) for count in counts] == [
        ("bad", 0.5, (1.0, 0.5)),
        ("good", 1.0, (0.5, 0.5)),
        ("left", None, None),
    ]


def test_the_bar_counts_compared_cases():
    count = SuiteCount("s")
    for status in (Status.MATCH, Status.MATCH, Status.MISMATCH, Status.ERROR, Status.SKIPPED):
        count.add(result_of("s/a", status))
    assert segments(count) == [("match", 0, 50), ("mismatch", 50, 25), ("error", 75, 25)]


@pytest.mark.parametrize(
    ("most", "marks"),
    [(0, [0, 0.1]), (0.33, [0, 0.1, 0.2, 0.3, 0.4]), (1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (30, [0, 10, 20, 30])],
)
def test_marks_are_round_and_enough(most: float, marks: list[float]):
    count = SuiteCount("s", characters=100, actual=round(most * 100), expected=0)
    assert ticks([count]) == marks


def test_a_character_of_many_tokens_gets_few_marks():
    assert len(ticks([SuiteCount("s", characters=1, actual=100_000)])) <= 7


@pytest.mark.parametrize(("rate", "shown"), [(0, "0%"), (0.001, "1%"), (0.5, "50%"), (0.999, "99%"), (1, "100%")])
def test_only_all_is_100_percent_and_only_none_is_0(rate: float, shown: str):
    assert percentage(rate, 1, 0) == shown


def test_pages_hold_no_line_that_ends_in_a_space():
    assert not re.search(r"[ \t]\n", run_page(report_of(result_of("s/a", Status.MATCH))))
