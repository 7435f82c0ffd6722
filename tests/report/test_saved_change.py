"""Reading a report of `tokverify diff` back."""

from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from support.hostile_finding import hostile_change
from support.saved_file import SCHEMA, SavedKind, places_in, remove, set_to
from tokverify.render.diff import CHANGE_FORMATS, present
from tokverify.report.diff import ChangeReport
from tokverify.report.fuzz import Stop
from tokverify.report.saved.diff import restore_change

CHANGE = SavedKind(name="diff", formats=CHANGE_FORMATS, present=present, restore=restore_change)


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize(
    "report",
    [
        hostile_change(),
        replace(hostile_change(), fuzzed=None, effect=None, parts=(), not_compared=(), behavior_only=True, file=""),
        replace(hostile_change(), fuzzed=replace(hostile_change().fuzzed, stop=Stop.INTERRUPTED)),
    ],
    ids=["all", "cases alone", "interrupted"],
)
def test_a_comparison_comes_back_whole(tmp_path: Path, report: ChangeReport):
    CHANGE.assert_comes_back(tmp_path, report)


def test_the_schema_names_every_key():
    CHANGE.assert_in_schema(hostile_change())
    told = CHANGE.written(hostile_change())
    told["run"]["kind"] = "fuzz"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, SCHEMA)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda told: told["parts"][1]["changes"][7].update(old=5), "parts[1].changes[7].old is 5; wanted is a string"),
        (lambda told: told["effect"].update(bytes=True), "effect.bytes is True; wanted is a whole number"),
        (lambda told: told["run"].update(schema_version=1), "report.json: run: has schema_version 1, of an older"),
        (lambda told: told["fuzz"].update(schema_version=99), "report.json: fuzz: has schema_version 99, of a newer"),
        (lambda told: told["fuzz"].update(kind="run"), "report.json: fuzz: is a report of `tokverify run`"),
        (lambda told: told["fuzz"]["cases"][0].pop("text"), "fuzz.cases[0] is an object; wanted is an object with the"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, change, told: str):
    CHANGE.assert_wrong(tmp_path, hostile_change(), change, told)


def test_no_part_can_be_missing_or_of_another_kind(tmp_path: Path):
    told = CHANGE.written(hostile_change())
    # What these two hold is tried where they are read on their own.
    told["run"]["cases"] = told["fuzz"]["cases"] = told["fuzz"]["causes"] = []
    told["parts"] = told["parts"][:1]
    places = [place for place in places_in(told) if place[0] not in {"run", "fuzz"} or len(place) == 1]
    assert len(places) > 30
    for place in places:
        for damage in (remove, set_to(1.5)):
            CHANGE.assert_damage_told(tmp_path, told, place, damage, may_pass=is_derived(place))


def is_derived(place: tuple[object, ...]) -> bool:
    """Whether the reader works it out itself, or it is an item of a list or of an object with any keys."""
    is_free = place[0] in {"options", "versions"} and len(place) > 1
    return is_free or place[0] in {"summary", "old", "new"} or "counts" in place or isinstance(place[-1], int)
