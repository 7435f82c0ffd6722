"""An audit with every kind of content, in which every text is an attack."""

from support.make_golden import MARKUP
from tokverify.audit.waiver import Waiver
from tokverify.report.audit import AuditReport, NotEvaluated, Waived
from tokverify.report.finding import Finding, Severity

HOSTILE = f"{MARKUP}\x1b[31m\u202e\0\udc80"


def hostile_audit() -> AuditReport:
    """Make an audit with every kind of content."""
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
