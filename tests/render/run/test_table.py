import re
from dataclasses import replace

import pytest

from tokverify.case import Case
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.finding import Severity
from tokverify.report.run import CaseResult, Report, Status
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import Aspect, TokenizerDifference
from tokverify.report.vocabulary_difference import PieceDifference, VocabularyDifference
from tokverify.texts.alignment import compare_decoded

SAME = VocabularyDifference(10, 10)


def report(*statuses: Status, vocabulary: VocabularyDifference = SAME, **fields) -> Report:
    results = [
        CaseResult(Case(id=f"case-{index}", suite=f"suite-{index % 2}", text="x"), status, message="a reason")
        for index, status in enumerate(statuses)
    ]
    return Report(Side("a", "a"), Side("b", "b"), vocabulary, tuple(results), **fields)


def table(report: Report, **options) -> str:
    return FORMATS["run"]["table"](report, RenderOptions(**options))


def last_line(report: Report) -> str:
    return table(report).split("\n")[-2]


@pytest.mark.parametrize(
    ("statuses", "verdict"),
    [
        ([Status.MATCH] * 1200, "1,200 cases: 1,200 match"),
        ([Status.MATCH], "1 case: 1 match"),
        ([Status.MISMATCH, Status.MATCH, Status.ERROR], "3 cases: 1 match, 1 mismatch, 1 error"),
        ([Status.SKIPPED], "1 case: 1 skipped; nothing was compared"),
        ([], "0 cases: none run; nothing was compared"),
    ],
)
def test_the_last_line_is_the_verdict(statuses, verdict):
    assert last_line(report(*statuses)) == verdict


def test_the_verdict_explains_what_the_exit_code_does_not():
    sample_report = report(Status.MATCH, vocabulary=VocabularyDifference(10, 9), stopped_early=True)
    assert last_line(sample_report) == ("1 case: 1 match; the vocabularies differ; stopped early, the rest was not run")


def test_the_verdict_names_special_ids_that_differ_while_all_tokens_are_the_same():
    vocabulary = VocabularyDifference(10, 10, special_ids={"eos": (1, 2)})
    assert last_line(report(Status.MATCH, vocabulary=vocabulary)) == "1 case: 1 match; other special ids: eos"


def test_quiet_prints_only_the_verdict():
    assert table(report(Status.MATCH), quiet=True) == "1 case: 1 match\n"


def test_only_the_first_of_many_failing_cases_are_drawn():
    many = report(*[Status.MISMATCH] * 40)
    lines = table(many).split("\n")
    assert sum(line.startswith("MISMATCH") for line in lines) == 2
    assert lines[lines.index("MORE FAILING CASES shown with -v") + 1].strip().startswith("38 cases ")
    assert sum(line.startswith("MISMATCH") for line in table(many, verbose=True).split("\n")) == 40
    assert "MORE FAILING CASES" not in table(report(*[Status.MISMATCH] * 2))


def test_verbose_shows_the_versions_of_suites():
    versions = {"suite-0": "0123456789abcdef", "suite-1": "fedcba9876543210"}
    shown = table(report(Status.MISMATCH, Status.MISMATCH, suites=versions), verbose=True)
    counted = [line.split() for line in shown.split("\n") if line.startswith("suite-")]
    assert {words[0]: words[-1] for words in counted} == versions


def test_results_are_counted_by_suite():
    lines = table(report(Status.MATCH, Status.MISMATCH, Status.MATCH)).split("\n")
    assert [line.split() for line in lines if line.startswith("suite-")] == [
        ["suite-0", "2", "2", "-", "-", "-"],
        ["suite-1", "1", "-", "1", "-", "-"],
    ]


def test_suites_that_simply_match_are_summed_up():
    results = [CaseResult(Case(id="a", suite=f"suite-{index}", text="x"), Status.MATCH) for index in range(4)]
    matching = replace(report(), results=tuple(results))
    assert [line.split() for line in table(matching).split("\n") if "suites" in line] == [
        ["all", "4", "suites", "4", "4", "-", "-", "-"],
    ]
    failing = replace(matching, results=(replace(results[0], status=Status.SKIPPED), *results[1:]))
    assert [line.split() for line in table(failing).split("\n") if re.match("suite-|3 other", line)] == [
        ["suite-0", "1", "-", "-", "-", "1"],
        ["3", "other", "suites", "3", "3", "-", "-", "-"],
    ]
    assert "suite-3" in table(failing, verbose=True)


def test_cases_skipped_for_one_reason_are_reported_together():
    text = table(report(Status.SKIPPED, Status.SKIPPED))
    assert "SKIPPED a reason\n  2 cases  suite-0/case-0, suite-1/case-1\n" in text


def test_matching_cases_are_listed_only_when_verbose():
    assert "suite-0/case-0" not in table(report(Status.MATCH))
    assert "suite-0/case-0" in table(report(Status.MATCH), verbose=True)


def test_long_lists_are_folded_with_a_note():
    pieces = tuple(PieceDifference(id, "x", None) for id in range(100))
    overrides = tuple(f"override {number}" for number in range(50))
    sample_report = report(Status.MATCH, vocabulary=VocabularyDifference(100, 0, pieces))
    sample_report = replace(sample_report, actual=Side("a", "a", overrides=overrides))
    assert "... 90 more, all of them in -f json ..." in table(sample_report)
    assert "override" not in table(sample_report)
    assert "llama.cpp uses 50 settings that the file declares differently" in table(sample_report)
    verbose = table(sample_report, verbose=True)
    assert " more, " not in verbose
    assert "override 49" in verbose


@pytest.mark.parametrize(("differing", "asked"), [(95, True), (50, False)])
def test_the_table_asks_whether_a_very_different_vocabulary_belongs_to_this_model(differing, asked):
    pieces = tuple(PieceDifference(id, "x", "y") for id in range(differing))
    text = table(report(Status.MATCH, vocabulary=VocabularyDifference(100, 200, pieces)))
    assert ("is this the reference of this model?" in text) == asked


def test_the_table_asks_for_moved_tokens_if_both_vocabularies_have_the_same_ones():
    pieces = tuple(PieceDifference(id, f"t{id}", f"t{id + 1}") for id in range(99))
    text = table(report(Status.MATCH, vocabulary=VocabularyDifference(100, 100, pieces)))
    assert "is this the reference of this model?" not in text
    assert "although the tokens are the same: are tokens missing, inserted or moved?" in " ".join(text.split())


def test_many_cases_of_one_note_are_folded_unless_verbose():
    sample_report = report(*[Status.MATCH] * 9)
    sample_report = replace(
        sample_report, results=tuple(replace(result, notes=("a note",)) for result in sample_report.results)
    )
    assert "NOTE a note\n  9 cases  suite-0/case-0, " in table(sample_report)
    assert "suite-0/case-4 and 4 more\n" in table(sample_report)
    assert "suite-0/case-8\n" in table(sample_report, verbose=True)


def test_vocabularies_that_differ_everywhere_are_not_drawn_in_full():
    pieces = tuple(PieceDifference(id, "x", None) for id in range(5000))
    text = table(report(Status.MATCH, vocabulary=VocabularyDifference(5000, 0, pieces)), verbose=True)
    assert "... 4,000 more, all of them in -f json ..." in text


def test_padding_is_summed_up_once_and_drawn_only_when_verbose():
    pieces = [*(PieceDifference(id, f"[PAD{id}]", None) for id in range(100, 140)), PieceDifference(7, "a", "b")]
    padding = TokenizerDifference(
        aspect=Aspect.PADDING, severity=Severity.INFO, message="40 ids are padding", ids=tuple(range(100, 140))
    )
    sample_report = report(
        Status.MATCH, vocabulary=VocabularyDifference(140, 100, tuple(pieces)), differences=(padding,)
    )
    assert "PAD" not in table(sample_report)
    assert "40 ids are padding" in table(sample_report)
    assert [line.split() for line in table(sample_report).splitlines() if line.startswith(" 7")] == [["7", "a", "b"]]
    assert "PAD139" in table(sample_report, verbose=True)
    assert "PAD100" in table(replace(sample_report, differences=()))


def test_long_decode_differences_are_cut_around_their_start():
    sample_report = report(*[Status.MATCH] * 12)
    decoded = (b"a" * 500 + b"\x1b" + b"b" * 500, b"a" * 500 + b"c" * 500)
    results = tuple(replace(result, decode_difference=compare_decoded(*decoded)) for result in sample_report.results)
    sample_report = replace(sample_report, results=results)
    text = table(sample_report)
    assert "from byte 500 on" in text
    assert "... 485 bytes ... aaaaaaaaaaaaaaa\\x1bbbb" in text
    assert "... 10 more, shown with -v ..." in text
    assert " more, " not in table(sample_report, verbose=True)
    assert last_line(sample_report) == "12 cases: 12 match; 12 decoded differently"


def test_color_only_where_asked():
    assert "\x1b[" not in table(report(Status.MATCH))
    assert "\x1b[" in table(report(Status.MATCH), color=True)


@pytest.mark.parametrize(
    ("engine", "verbose", "shown"),
    [("python (why)", False, True), ("python (why)", True, True), ("native", False, False), ("native", True, True)],
)
@pytest.mark.parametrize("name", ["table", "markdown"])
def test_the_engine_is_named_if_it_is_slow(engine: str, verbose: bool, shown: bool, name: str):
    text = FORMATS["run"][name](report(Status.MATCH, versions={"engine": engine}), RenderOptions(verbose=verbose))
    assert (engine in text.replace("\\", "")) is shown
