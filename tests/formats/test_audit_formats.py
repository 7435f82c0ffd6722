"""The formats of an audit whose every text tries to break out; tests/formats/test_ci_formats.py reads most of them."""

import pytest
from make_golden import MARKUP

from tokverify.audit.finding import Finding, Severity
from tokverify.audit.report import AuditReport, NotEvaluated, Waived
from tokverify.audit.waiver import Waiver
from tokverify.errors import TokverifyError
from tokverify.formats import RenderOptions
from tokverify.formats.audit import AUDIT_FORMATS
from tokverify.saved import open_saved
from tokverify.saved.audit import restore_audit

HOSTILE = f"{MARKUP}\x1b[31m\u202e\0\udc80"


def hostile_audit() -> AuditReport:
    """Make an audit with everything in it."""
    error = Finding(
        Severity.ERROR, HOSTILE, ids=tuple(range(0, 100, 2)), keys=(HOSTILE,), repair=HOSTILE, code="TV101", name="x"
    )
    hint = Finding(Severity.INFO, HOSTILE, code="TV103", name="y")
    return AuditReport(
        findings=(error, hint),
        waived=(
            Waived(
                Finding(Severity.WARNING, HOSTILE, code="TV102", name="z"),
                Waiver(code="TV102", reason=HOSTILE, place="w.yaml:1"),
            ),
        ),
        unused_waivers=(Waiver(code="TV104", reason=HOSTILE, place=HOSTILE),),
        not_evaluated=(NotEvaluated("TV201", "v", HOSTILE),),
        codes=("TV101", "TV102", "TV103", "TV104", "TV201"),
        source=f"models/{HOSTILE}.gguf",
        fingerprint="0" * 64,
        reference=HOSTILE,
        caveat=HOSTILE,
        options={"fail_on": "ERROR"},
    )


def test_every_finding_is_in_the_markdown():
    text = AUDIT_FORMATS["markdown"](hostile_audit(), RenderOptions())
    assert "### ERROR TV101 x" in text
    assert "ids 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 38 more" in text
    assert "### INFO TV103 y" in text
    assert "### Waived" in text


def test_a_job_summary_keeps_to_its_size():
    whole = AUDIT_FORMATS["markdown"](hostile_audit(), RenderOptions(limit=1 << 20))
    cut = AUDIT_FORMATS["markdown"](hostile_audit(), RenderOptions(limit=len(whole.encode()) // 2))
    assert len(cut.encode()) <= len(whole.encode()) // 2
    assert "more parts, for which there is no room here" in cut


def test_an_audit_comes_back_as_it_was_told(tmp_path):
    path = tmp_path / "audit.json"
    path.write_text(AUDIT_FORMATS["json"](hostile_audit(), RenderOptions()))
    again = restore_audit(open_saved(path, ["audit"]))
    assert again.fail_on is Severity.ERROR
    assert again == hostile_audit()
    for name, write in AUDIT_FORMATS.items():
        assert write(again, RenderOptions()) == write(hostile_audit(), RenderOptions()), name


def test_a_severity_that_there_is_not(tmp_path):
    path = tmp_path / "audit.json"
    text = AUDIT_FORMATS["json"](hostile_audit(), RenderOptions())
    path.write_text(text.replace('"severity": "INFO"', '"severity": "BAD"'))
    with pytest.raises(TokverifyError, match=r"findings\[1\].severity is 'BAD'; wanted is INFO or WARNING or ERROR"):
        restore_audit(open_saved(path, ["audit"]))
