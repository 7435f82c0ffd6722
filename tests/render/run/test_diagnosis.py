"""A diagnosis in the formats for people: all of them say the same."""

from dataclasses import replace

import pytest

from support.explanation_maker import explanation
from tokverify.case import Case
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.render.run.verdict import effect
from tokverify.repair.repair import add_repairs
from tokverify.report.diagnosis import Command, Diagnosis, Repair
from tokverify.report.difference import DecodeDifference
from tokverify.report.finding import Severity
from tokverify.report.known_difference import KnownDifference
from tokverify.report.run import AppliedLimit, CaseResult, Report, Status
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference
from tokverify.report.vocabulary_difference import VocabularyDifference


@pytest.mark.parametrize("format", ["table", "markdown", "html"])
def test_possible_repairs_are_listed(format: str):
    found = tuple(explanation(expressible=expressible) for expressible in (False, True, True))
    options = {"model": "m.gguf", "reference": "r.json"}
    report = Report(
        Side("m", "m"),
        Side("r", "r"),
        VocabularyDifference(1, 1),
        (),
        options=options,
        diagnosis=Diagnosis(found, 1, 3),
    )
    text = FORMATS["run"][format](add_repairs(report), RenderOptions(verbose=True))
    assert "GGUF cannot express it: the runtime would have to do it" in text
    assert "tokverify fix m.gguf -r r.json -o m-fixed.gguf" in text
    assert "a GGUF file can express it, but fix chooses another repair" in text


CAUSE = TokenizerDifference(aspect=Aspect.SPECIAL_IDS, severity=Severity.ERROR, message="eos is 13 in the model")


def failing_report(**fields) -> Report:
    case = Case(id="a", suite="s", text="text")
    results = (CaseResult(case, Status.MATCH), CaseResult(replace(case, id="b"), Status.ERROR, message="no"))
    diagnosis = Diagnosis((explanation(), explanation("y")), 1, 3)
    report = Report(Side("m", "m"), Side("r", "r"), VocabularyDifference(1, 1), results, diagnosis=diagnosis)
    return add_repairs(replace(report, **{"options": {"model": "m.gguf", "reference": "r"}, **fields}))


def test_a_terminal_ends_with_what_differs_the_cause_the_repair_and_the_verdict():
    lines = FORMATS["run"]["table"](failing_report(differences=(CAUSE,)), RenderOptions()).split("\n")
    assert lines[-10:] == [
        "WHAT DIFFERS",
        "  - 1 case could not be encoded: s/b: no",
        "  - eos is 13 in the model",
        "",
        "DIAGNOSIS",
        "  1  x makes the only failing case match",
        "     repair: tokverify fix m.gguf -r r -o m-fixed.gguf",
        "",
        "2 cases: 1 match, 1 error; 1 failing difference between the tokenizers",
        "",
    ]


def test_the_number_of_cases_that_limits_explain_is_not_said_twice():
    limit = AppliedLimit(
        code="TL003",
        name="no-normalizer",
        origin=Origin.RUNTIME,
        severity=Severity.WARNING,
        message="it does not",
        cases=1,
        advice="Normalize.",
    )
    last = replace(failing_report().results[1], explained_by=("TL003",))
    for results, part in ([last], "all"), ([last, failing_report().results[1]], "1"):
        report = failing_report(results=results, limits=(limit,), differences=(CAUSE,))
        lines = " ".join(FORMATS["run"]["table"](report, RenderOptions()).split())
        assert f"error, {part} of them only because of a limit of llama.cpp (TL003); 1 failing" in lines


def test_three_effects_of_a_change_are_separated_by_commas():
    found = replace(explanation(), sentence="x", explained=7, failing=9, differences=1, unexplained=(), broken=0)
    words = effect(found, Diagnosis((found,), 9, 3, differences=1))
    limits = "leaves 2 that differ only because of limits of llama.cpp"
    removed = "removes the only failing difference between the tokenizers"
    assert words == f"x makes 7 of 9 failing cases match, {limits}, and {removed}"


DECODED = DecodeDifference(offset=0, actual_text="a", expected_text="b", actual=b"a", expected=b"b")


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({}, 1),
        ({"notes": ("compared with parse_special off",)}, 2),
        (
            {
                "decode_difference": DecodeDifference(
                    offset=0, actual_text="a", expected_text="b", actual=b"a", expected=b"b"
                )
            },
            2,
        ),
    ],
)
def test_a_difference_that_other_sections_push_out_of_sight_is_repeated_at_the_end(fields: dict, count: int):
    matching = CaseResult(Case(id="a", suite="s", text="text"), Status.MATCH)
    report = failing_report(differences=(CAUSE,), results=(replace(matching, **fields),))
    assert FORMATS["run"]["table"](report, RenderOptions()).count("eos is 13 in the model") == count


TEMPLATE = TokenizerDifference(aspect=Aspect.TEMPLATE, severity=Severity.WARNING, message="another chat template")


@pytest.mark.parametrize(
    ("fields", "commands"),
    [
        ({}, ["tokverify chat m.gguf -r r", "tokverify fix m.gguf -r r"]),
        (
            {"options": {"model": "m.gguf", "reference": None}},
            ["tokverify chat m.gguf", "tokverify fix m.gguf"],
        ),
        ({"options": {}}, ["tokverify chat MODEL -r REFERENCE", "tokverify fix MODEL -r REFERENCE"]),
        ({"fail_on": ("template",)}, ["tokverify chat m.gguf -r r", "tokverify fix m.gguf -r r"]),
        ({"fail_on": ("template",), "diagnosis": Diagnosis((explanation(),), 1, 3)}, ["tokverify chat m.gguf -r r"]),
        ({"differences": (replace(TEMPLATE, known=KnownDifference(code="template", reason="as decided")),)}, []),
    ],
)
def test_another_chat_template_ends_with_commands_to_paste(fields: dict, commands: list[str]):
    results = (CaseResult(Case(id="a", suite="s", text="text"), Status.MATCH, notes=("a note",)),)
    report = failing_report(**{"differences": (TEMPLATE,), "results": results, "diagnosis": None, **fields})
    lines = [line.strip() for line in FORMATS["run"]["table"](report, RenderOptions()).split("\n")]
    assert [line.partition(": ")[2] for line in lines if line.startswith(("compare what they", "use the"))] == commands


def test_the_explanation_with_the_repair_is_always_shown():
    other = replace(explanation("copying"), explained=3)
    repair = Repair((Command("repair", ("tokverify fix", "m.gguf")),))
    planned = replace(explanation("rewriting"), unexplained=("s/b",), repair=repair)
    report = replace(failing_report(), diagnosis=Diagnosis((other, planned, explanation("y")), 3, 3))
    text = FORMATS["run"]["table"](report, RenderOptions())
    assert "y makes" not in text
    assert text.index("copying makes") < text.index("rewriting makes") < text.index("tokverify fix m.gguf")


def test_a_summary_begins_with_the_cause():
    text = FORMATS["run"]["markdown"](failing_report(differences=(CAUSE,)), RenderOptions())
    headings = [line for line in text.split("\n") if line.startswith("#")]
    assert headings[1:3] == ["### What differs", "### Diagnosis"]


def test_explanations_after_a_complete_one_are_shown_only_if_verbose():
    for verbose in (False, True):
        shown = FORMATS["run"]["table"](failing_report(), RenderOptions(verbose=verbose))
        assert ("y makes the only failing case match" in shown) is verbose


def test_the_first_line_says_that_the_reference_is_at_fault_if_that_explains_everything():
    blamed = replace(CAUSE, origin=Origin.REFERENCE)
    first = "the reference is at fault, not the model: r contradicts its own configuration"
    report = failing_report(differences=(blamed,), diagnosis=None, undiagnosed="why")
    assert FORMATS["run"]["table"](report, RenderOptions()).startswith(f"{first}\n\n")
    for other in (failing_report(differences=(blamed,)), failing_report(differences=(CAUSE,), diagnosis=None)):
        assert first not in FORMATS["run"]["table"](other, RenderOptions())
    damaged = failing_report(differences=(replace(blamed, aspect=Aspect.SPLITTING),), diagnosis=None, undiagnosed="why")
    assert "the reference is at fault, not the model: r is damaged\n" in FORMATS["run"]["table"](
        damaged, RenderOptions()
    )


@pytest.mark.parametrize(
    ("doubt", "severity", "origin", "is_said"),
    [
        ("", Severity.WARNING, Origin.UNKNOWN, True),
        ("the reference belongs to another model", Severity.WARNING, Origin.UNKNOWN, False),
        # The template of a base model, and of another one.
        ("", Severity.INFO, Origin.UNKNOWN, False),
        ("", Severity.WARNING, Origin.REFERENCE, False),
    ],
)
def test_fix_is_said_to_replace_the_chat_template_only_if_it_does(
    doubt: str, severity: Severity, origin: Origin, is_said: bool
):
    message = "the chat template differs"
    other = TokenizerDifference(aspect=Aspect.TEMPLATE, severity=severity, message=message, origin=origin)
    report = failing_report(differences=(CAUSE, other), diagnosis=None, undiagnosed=doubt)
    text = " ".join(FORMATS["run"]["table"](report, RenderOptions()).split())
    end = "`tokverify chat` shows how it differs"
    assert text.endswith(f"{end}, and `tokverify fix` replaces it" if is_said else end)
