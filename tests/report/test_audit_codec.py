"""Reading the JSON report of `tokverify audit`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.hostile_audit import hostile_audit
from support.saved_file import ONE_LINE, saved
from tokverify.errors import TokverifyError
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.audit import AuditReport
from tokverify.report.codec import read, to_document, write_json
from tokverify.report.finding import Severity
from tokverify.report.schema import generate_schema


def written() -> Any:
    import json

    return json.loads(write_json(to_document(hostile_audit())))


def test_a_written_audit_is_read_unchanged(tmp_path: Path):
    again = read(saved(tmp_path, written()), AuditReport)
    assert again == hostile_audit()
    assert again.fail_on is Severity.ERROR
    for options in (RenderOptions(), RenderOptions(verbose=True), RenderOptions(quiet=True)):
        for render in FORMATS["audit"].values():
            assert render(again, options) == render(hostile_audit(), options)


def test_the_schema_names_every_key():
    schema = generate_schema()
    jsonschema.Draft202012Validator(schema).validate(written())
    keys = written().keys() - {"schema_version", "kind", "summary"}
    assert keys == schema["$defs"]["AuditReport"]["properties"].keys()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda audit: audit["findings"][1].update(severity="BAD"), "$.findings[1].severity: Invalid enum value 'BAD'"),
        (lambda audit: audit["findings"][0].update(ids=[True]), "$.findings[0].ids[0]: Expected `int`, got `bool`"),
        (lambda audit: audit["waived"][0]["waiver"].pop("reason"), "$.waived[0].waiver"),
        (lambda audit: audit.pop("rules"), "$.rules: the key is missing"),
        (
            lambda audit: audit["findings"][0]["remedy"]["commands"][0].update(arguments=["rm -rf", "~"]),
            "$.findings[0].remedy.commands[0]: expected a command line of tokverify fix",
        ),
    ],
)
def test_an_invalid_audit_is_rejected_with_the_place(tmp_path: Path, change: Callable[[Any], object], problem: str):
    document = written()
    change(document)
    with pytest.raises(TokverifyError, match=ONE_LINE) as raised:
        read(saved(tmp_path, document), AuditReport)
    assert problem in str(raised.value)
