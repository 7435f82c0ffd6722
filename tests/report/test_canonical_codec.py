"""Reading a report of `tokverify canonical` back."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.codec_kind import CodecKind
from support.hostile_canonical import hostile_canonical
from tokverify.render.kinds import FORMATS
from tokverify.report.canonical import canonical_exit_code

CANONICAL = CodecKind(name="canonical", formats=FORMATS["canonical"], exit_code=canonical_exit_code)


@pytest.mark.parametrize(
    "report",
    [
        hostile_canonical(),
        replace(
            hostile_canonical(),
            report=replace(hostile_canonical().report, results=()),
            deviating=0,
            deviating_tokens=0,
            causes=(),
        ),
    ],
    ids=["all", "nothing"],
)
def test_a_report_survives_a_round_trip(tmp_path: Path, report):
    CANONICAL.assert_comes_back(tmp_path, report)


def test_the_schema_names_every_key():
    CANONICAL.assert_in_schema(hostile_canonical())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document["causes"][0].update(cause="odd"), "$.causes[0].cause: Invalid enum value 'odd'"),
        (lambda document: document["causes"][1]["cases"].append("x"), "$.causes[1].cases: expected ids of results"),
        (lambda document: document["causes"].pop(), "$.causes: expected to explain 8 sequences"),
        (lambda document: document.update(sequences=3), "$.deviating: expected at most 3"),
        (lambda document: document.update(tokens=3), "$.deviating_tokens: expected at most 3"),
        (lambda document: document.pop("tokens"), "Object missing required field `tokens`"),
    ],
)
def test_an_error_is_reported_with_its_location(tmp_path: Path, change, message: str):
    CANONICAL.assert_wrong(tmp_path, hostile_canonical(), change, message)
