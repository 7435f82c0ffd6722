"""Reading a report of `tokverify fuzz` back."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.codec_kind import CodecKind
from support.hostile_finding import hostile_fuzz, present_fuzz
from support.saved_file import is_derived, places_in, remove, set_to
from tokverify.render.kinds import FORMATS
from tokverify.report.codec import to_document
from tokverify.report.fuzz import DifferenceKind, FuzzCoverage, FuzzReport, Share, Stop, fuzz_exit_code

FUZZ = CodecKind(name="fuzz", formats=FORMATS["fuzz"], exit_code=fuzz_exit_code)


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize(
    "fuzzed",
    [
        hostile_fuzz(),
        replace(hostile_fuzz(), stop=Stop.INTERRUPTED, coverage=FuzzCoverage(Share(2, 9), Share(3, 9)), notes=()),
        replace(hostile_fuzz(), causes=(), report=replace(hostile_fuzz().report, results=()), failing=0),
    ],
    ids=["all", "interrupted", "nothing"],
)
def test_a_run_survives_a_round_trip(tmp_path: Path, fuzzed: FuzzReport):
    FUZZ.assert_comes_back(tmp_path, fuzzed)


def test_every_kind_of_cause_occurs():
    assert {cause.kind for cause in hostile_fuzz().causes} == set(DifferenceKind)


def test_the_schema_names_every_key():
    FUZZ.assert_in_schema(hostile_fuzz())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document.update(stop="bored"), "$.stop: Invalid enum value 'bored'"),
        (lambda document: document["causes"].pop(), "$.causes: expected one cause for each of the"),
        (lambda document: document["causes"][1].update(case="x"), "$.causes[1].case: expected 'ids-"),
        (lambda document: document["causes"][0].update(kind="odd"), "$.causes[0].kind: Invalid enum value 'odd'"),
        (
            lambda document: document["coverage"]["pieces"].update(done=-1),
            "$.coverage.pieces.done: Expected `int` >= 0",
        ),
        (
            lambda document: document["report"]["actual"].update(fingerprint="\x1b"),
            "$.report.actual.fingerprint: Expected",
        ),
    ],
)
def test_an_error_is_reported_with_its_location(tmp_path: Path, change, message: str):
    FUZZ.assert_wrong(tmp_path, hostile_fuzz(), change, message)


def test_no_part_can_be_missing_or_of_another_kind(tmp_path: Path):
    document = FUZZ.written(hostile_fuzz())
    kinds = [cause["kind"] for cause in document["causes"]]
    kept = [kinds.index("decoding"), kinds.index("ids")]
    document["causes"] = [document["causes"][at] for at in kept]
    document["report"]["results"] = [document["report"]["results"][at] for at in kept]
    places = list(places_in(document))
    assert ("causes", 0, "decoded", "actual") in places
    for place in places:
        for damage in (remove, set_to(1.5)):
            FUZZ.assert_damage_rejected(tmp_path, document, place, damage, may_pass=can_do_without(place))


def can_do_without(place: tuple[object, ...]) -> bool:
    """Return whether the reader accepts any value or derives it from others."""
    return place[0] == "summary" or is_derived(place) or bool({"options", "settings", "generators"} & {*place[:-1]})


def test_presenting_returns_the_verdict_and_the_exit_code():
    shown = present_fuzz()
    assert (shown.verdict.startswith("2,000 texts: "), shown.exit_code) == (True, 1)
    assert to_document(hostile_fuzz())["summary"]["exit_code"] == 1
