"""The formats of an audit with hostile texts; test_ci_formats.py tests most of them."""

from dataclasses import replace

from support.hostile_audit import hostile_audit
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.diagnosis import Command, Repair
from tokverify.report.finding import Finding, Severity


def test_the_markdown_contains_every_finding():
    text = FORMATS["audit"]["markdown"](hostile_audit(), RenderOptions())
    assert "### ERROR TV101 x" in text
    assert "ids 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 38 more" in text
    assert "### INFO TV103 y" in text
    assert "### Accepted" in text


def test_a_repair_of_several_findings_is_shown_once():
    report = hostile_audit()
    repair = Repair((Command("repair", ("tokverify", "fix", "a.gguf")),))
    first = Finding(Severity.ERROR, "an error", code="TV202", name="x", remedy=repair)
    report = replace(report, findings=(first, replace(first, code="TV207")))
    text = FORMATS["audit"]["table"](report, RenderOptions())
    assert text.count("tokverify fix a.gguf") == 1
    assert "repair: that of TV202, above" in text
