"""Reading a report of `tokverify fuzz` back."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.hostile_finding import hostile_fuzz, present_fuzz
from support.saved_file import SavedKind, is_derived, places_in, remove, set_to
from tokverify.fuzz.coverage import Share
from tokverify.fuzz.trial import Kind
from tokverify.render.fuzz import FUZZ_FORMATS, present
from tokverify.render.fuzz.json import document
from tokverify.report.fuzz import FuzzReport, Stop
from tokverify.report.saved.fuzz import restore_fuzz

FUZZ = SavedKind(name="fuzz", formats=FUZZ_FORMATS, present=present, restore=restore_fuzz)


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize(
    "fuzzed",
    [
        hostile_fuzz(),
        replace(hostile_fuzz(), stop=Stop.INTERRUPTED, merges=Share(3, 9), notes=()),
        replace(hostile_fuzz(), causes=(), report=replace(hostile_fuzz().report, results=()), failing=0),
    ],
    ids=["all", "interrupted", "nothing"],
)
def test_a_run_comes_back_whole(tmp_path: Path, fuzzed: FuzzReport):
    FUZZ.assert_comes_back(tmp_path, fuzzed)


def test_every_kind_of_cause_is_among_them():
    assert {cause.outcome.kind for cause in hostile_fuzz().causes} == set(Kind)


def test_the_schema_names_every_key():
    FUZZ.assert_in_schema(hostile_fuzz())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda told: told["summary"].update(stop="bored"), "summary.stop is 'bored'; wanted is count or time or"),
        (lambda told: told["causes"].pop(), "causes is a list; wanted is a list of one cause for each of the"),
        (lambda told: told["causes"][1].update(case="x"), r"causes[1].case is 'x'; wanted is 'ids-"),
        (lambda told: told["causes"][0].update(kind="odd"), "causes[0].kind is 'odd'; wanted is ids or decoding or"),
        (lambda told: told["coverage"]["pieces"].update(done=-1), "coverage.pieces.done is -1"),
        (lambda told: told["actual"].update(fingerprint="\x1b"), "actual.fingerprint is '\\x1b'; wanted is bytes"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, change, told: str):
    FUZZ.assert_wrong(tmp_path, hostile_fuzz(), change, told)


def test_no_part_can_be_missing_or_of_another_kind(tmp_path: Path):
    told = FUZZ.written(hostile_fuzz())
    kinds = [cause["kind"] for cause in told["causes"]]
    kept = [kinds.index("decoding"), kinds.index("ids")]
    told["causes"], told["cases"] = ([told[key][at] for at in kept] for key in ("causes", "cases"))
    places = list(places_in(told))
    assert ("causes", 0, "decoded", "actual", "bytes") in places
    for place in places:
        for damage in (remove, set_to(1.5)):
            FUZZ.assert_damage_told(tmp_path, told, place, damage, may_pass=can_do_without(place))


def can_do_without(place: tuple[object, ...]) -> bool:
    if place[0] == "summary" and len(place) > 1:
        return place[1] in {"exit_code", "causes"}
    if place == ("summary",):
        return False
    return is_derived(place) or place[-2:-1] == ("generators",)


def test_presenting_tells_the_verdict_and_the_exit_code():
    shown = present_fuzz()
    assert (shown.verdict.startswith("2,000 strings: "), shown.exit_code) == (True, 1)
    assert document(hostile_fuzz())["summary"]["exit_code"] == 1
