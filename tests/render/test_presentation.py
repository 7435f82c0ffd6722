"""The tables of formats: what they name is there, and writes the kind of report that the table is for."""

import inspect
import subprocess
import sys

import pytest

from tokverify.cli.report import _KINDS
from tokverify.render import FORMATS
from tokverify.render.audit import AUDIT_FORMATS
from tokverify.render.chat import CHAT_FORMATS
from tokverify.render.convert import CONVERSION_FORMATS
from tokverify.render.diff import CHANGE_FORMATS
from tokverify.render.fuzz import FUZZ_FORMATS
from tokverify.render.presentation import CI_FORMATS, Renderer, load
from tokverify.render.report_diff import DIFF_FORMATS
from tokverify.render.stats import STATS_FORMATS

TABLES = {
    "Report": FORMATS,
    "AuditReport": AUDIT_FORMATS,
    "ChangeReport": CHANGE_FORMATS,
    "ChatReport": CHAT_FORMATS,
    "Conversion": CONVERSION_FORMATS,
    "FuzzReport": FUZZ_FORMATS,
    "ReportDiff": DIFF_FORMATS,
    "Stats": STATS_FORMATS,
}
FOR_EYES = {"table", "markdown"}


@pytest.mark.parametrize(
    ("report", "format"),
    [
        (report, format)
        for report, formats in TABLES.items()
        for format, render in formats.items()
        if isinstance(render, Renderer)
    ],
)
def test_every_renderer_is_there_and_takes_what_it_is_given(report: str, format: str):
    # mypy cannot follow a name in a table, so the types are compared here.
    signature = inspect.signature(load(TABLES[report][format].place))
    options = ["RenderOptions"] if format in FOR_EYES else []
    assert [parameter.annotation for parameter in signature.parameters.values()] == [report, *options]
    assert signature.return_annotation == ("CiReport" if format in CI_FORMATS else "str")


@pytest.mark.parametrize("format", CI_FORMATS)
def test_every_renderer_for_ci_systems_is_there_and_takes_what_it_is_given(format: str):
    signature = inspect.signature(CI_FORMATS[format])
    assert [parameter.annotation for parameter in signature.parameters.values()] == ["CiReport"]
    assert signature.return_annotation == "str"


@pytest.mark.parametrize("kind", [kind for kind, (restore, _) in _KINDS.items() if not restore.endswith(":_decode")])
def test_every_kind_of_saved_report_is_read_and_presented(kind: str):
    restore, present = (inspect.signature(load(place)) for place in _KINDS[kind])
    assert [parameter.annotation for parameter in restore.parameters.values()] == ["JsonNode"]
    assert [parameter.annotation for parameter in present.parameters.values()] == [restore.return_annotation]
    assert present.return_annotation == "Presentation"


def test_a_report_that_ci_systems_are_told_of_can_be_summed_up():
    assert all("markdown" in formats for formats in TABLES.values() if "github" in formats)


def test_only_what_is_needed_is_imported():
    code = (
        "import sys, tokverify.cli.run, tokverify.cli.fuzz\n"
        "print(*(name for name in sys.modules if name.startswith('tokverify.render')))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert set(result.stdout.split()) == {
        "tokverify.render",
        "tokverify.render.fuzz",
        "tokverify.render.presentation",
    }
