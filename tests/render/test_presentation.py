"""The tables of formats: every kind of report is written in each of its formats."""

import subprocess
import sys

import pytest

from support.hostile_reports import REPORTS
from tokverify.render.kinds import CI_FORMATS, FORMATS, SHOWN_KINDS, present
from tokverify.render.options import RenderOptions
from tokverify.report.codec import KINDS, encode


def test_every_kind_that_is_presented_has_a_report_here():
    assert set(SHOWN_KINDS) < FORMATS.keys() == REPORTS.keys() <= KINDS.keys()


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_writes_a_report(kind: str):
    report = REPORTS[kind]()
    presentation = present(kind, report)
    assert presentation.exit_code == KINDS[kind].summarize(report)["exit_code"]
    assert presentation.verdict
    assert presentation.formats.keys() == {"table", "json", "markdown", "html", "junit", *CI_FORMATS}
    for name, write in presentation.formats.items():
        # Without an issue, there is no annotation.
        assert write(RenderOptions()) or (name == "github" and not presentation.exit_code), name
    assert presentation.formats["json"](RenderOptions()) == encode(report)


def test_only_needed_modules_are_imported():
    code = (
        "import sys, tokverify.commands.cli.run, tokverify.commands.cli.fuzz\n"
        "print(*(name for name in sys.modules if name.startswith('tokverify.render')))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert set(result.stdout.split()) == {
        "tokverify.render",
        "tokverify.render.kinds",
        "tokverify.render.options",
    }
