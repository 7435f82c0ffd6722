"""A report of `tokverify check` with the hostile reports of its parts, and a part that could not be performed."""

from dataclasses import replace

from support.hostile_audit import hostile_audit
from support.hostile_chat import HOSTILE, hostile_chat
from support.make_golden import hostile_report
from tokverify.report.check import CheckReport, ModelCheck, Note, Part


def hostile_check(text: str = HOSTILE) -> CheckReport:
    """Make a check of two models; the second one has no result."""
    first = ModelCheck(
        name=text,
        source=text,
        parts=tuple(Part),
        run=replace(hostile_report(), diagnosis=None, baseline=None),
        audit=hostile_audit(),
        chat=hostile_chat(text),
    )
    notes = (Note(Part.RUN, text, is_failure=True), Note(Part.CHAT, text, is_failure=False))
    second = ModelCheck(name="second", source=text, parts=(Part.RUN, Part.CHAT), notes=notes)
    return CheckReport(models=(first, second), options={text: text}, versions={"tokverify": "1.2.3"})
