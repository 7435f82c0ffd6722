"""The tables of formats: every kind of report is written in each of its formats."""

import subprocess
import sys

import pytest

from support.file_reports import CONVERSION, FIX, LEARNING
from support.hostile_audit import hostile_audit
from support.hostile_canonical import hostile_canonical
from support.hostile_chat import hostile_chat
from support.hostile_check import hostile_check
from support.hostile_corpus import hostile_corpus
from support.hostile_finding import hostile_change, hostile_fuzz
from support.hostile_stats import hostile_stats
from support.hostile_stream import hostile_stream
from support.hostile_versions import hostile_versions
from support.make_golden import hostile_report
from tokverify.render.kinds import CI_FORMATS, FORMATS, SHOWN_KINDS, present
from tokverify.render.options import RenderOptions
from tokverify.report.codec import KINDS, encode

REPORTS = {
    "run": hostile_report,
    "fuzz": hostile_fuzz,
    "diff": hostile_change,
    "audit": hostile_audit,
    "chat": hostile_chat,
    "check": hostile_check,
    "stats": hostile_stats,
    "corpus": hostile_corpus,
    "stream": hostile_stream,
    "canonical": hostile_canonical,
    "versions": hostile_versions,
    "fix": lambda: FIX,
    "convert": lambda: CONVERSION,
    "learn": lambda: LEARNING,
}


def test_every_kind_that_is_presented_has_a_report_here():
    assert REPORTS.keys() == set(SHOWN_KINDS) <= FORMATS.keys() <= KINDS.keys()


@pytest.mark.parametrize("kind", SHOWN_KINDS)
def test_every_format_writes_a_report(kind: str):
    report = REPORTS[kind]()
    presentation = present(kind, report)
    assert presentation.exit_code == KINDS[kind].summarize(report)["exit_code"]
    assert presentation.verdict
    for name, write in presentation.formats.items():
        assert write(RenderOptions()), name
    assert presentation.formats["json"](RenderOptions()) == encode(report)


@pytest.mark.parametrize("kind", SHOWN_KINDS)
def test_a_report_for_ci_systems_has_a_summary(kind: str):
    formats = present(kind, REPORTS[kind]()).formats
    assert "markdown" in formats
    assert not formats.keys() & set(CI_FORMATS) or set(CI_FORMATS) <= formats.keys()


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
