"""An audit that contains everything, with hostile texts."""

from support.make_golden import MARKUP
from tokverify.compare.checks import RULES
from tokverify.report.audit import AuditReport, NotEvaluated, WaivedFinding
from tokverify.report.diagnosis import Command, Repair
from tokverify.report.finding import Finding, Severity
from tokverify.report.known_difference import KnownDifference

HOSTILE = f"{MARKUP}\x1b[31m\u202e\0\udc80"


def hostile_audit() -> AuditReport:
    """Return an audit that contains everything."""
    error = Finding(
        Severity.ERROR,
        HOSTILE,
        ids=tuple(range(0, 100, 2)),
        keys=(HOSTILE,),
        repair=HOSTILE,
        code="TV101",
        name="x",
        remedy=Repair((Command("repair", ("tokverify fix", "m.gguf")),), HOSTILE),
    )
    hint = Finding(Severity.INFO, HOSTILE, code="TV103", name="y")
    return AuditReport(
        findings=(error, hint),
        waived=(
            WaivedFinding(
                Finding(Severity.WARNING, HOSTILE, code="TV102", name="z"),
                KnownDifference(code="TV102", reason=HOSTILE, place="w.yaml:1"),
            ),
        ),
        unused_waivers=(KnownDifference(code="TV104", reason=HOSTILE, place=HOSTILE),),
        not_evaluated=(NotEvaluated("TV201", "v", HOSTILE),),
        rules=tuple(RULES[code].manual for code in ("TV101", "TV102", "TV103", "TV104", "TV201")),
        source=f"models/{HOSTILE}.gguf",
        fingerprint="0" * 64,
        reference=HOSTILE,
        caveat=HOSTILE,
        options={"fail_on": "ERROR"},
    )
