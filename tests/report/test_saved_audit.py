"""Reading a report of `tokverify audit` back."""

from pathlib import Path

from support.hostile_audit import hostile_audit
from support.saved_file import SavedKind
from tokverify.render.audit import AUDIT_FORMATS, present
from tokverify.report.finding import Severity
from tokverify.report.saved.audit import restore_audit

AUDIT = SavedKind(name="audit", formats=AUDIT_FORMATS, present=present, restore=restore_audit)


def test_an_audit_comes_back_whole(tmp_path: Path):
    AUDIT.assert_comes_back(tmp_path, hostile_audit())
    assert AUDIT.restored(tmp_path, AUDIT.written(hostile_audit())).fail_on is Severity.ERROR


def test_the_schema_names_every_key():
    AUDIT.assert_in_schema(hostile_audit())


def test_a_severity_that_there_is_not(tmp_path: Path):
    told = "findings[1].severity is 'BAD'; wanted is INFO or WARNING or ERROR"
    AUDIT.assert_wrong(tmp_path, hostile_audit(), lambda audit: audit["findings"][1].update(severity="BAD"), told)
