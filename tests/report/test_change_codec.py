"""Reading the JSON report of `tokverify diff`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.codec_kind import CodecKind
from support.hostile_finding import hostile_change
from support.saved_file import places_in, remove, set_to
from support.selection import thinned
from tokverify.render.kinds import FORMATS
from tokverify.report.diff import ChangeReport, diff_exit_code
from tokverify.report.fuzz import Stop

CHANGE = CodecKind(name="diff", formats=FORMATS["diff"], exit_code=diff_exit_code)


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize(
    "report",
    thinned(
        3,
        [
            hostile_change(),
            replace(hostile_change(), fuzzed=None, effect=None, parts=(), not_compared=(), behavior_only=True, file=""),
            replace(hostile_change(), fuzzed=replace(hostile_change().fuzzed, stop=Stop.INTERRUPTED)),
        ],
    ),
    ids=["all", "cases alone", "interrupted"],
)
def test_a_written_comparison_is_read_unchanged(tmp_path: Path, report: ChangeReport):
    CHANGE.assert_comes_back(tmp_path, report)


def test_the_schema_names_every_key():
    CHANGE.assert_in_schema(hostile_change())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda diff: diff["parts"][1]["changes"][7].update(old=5), "$.parts[1].changes[7].old: Expected `str | null`"),
        (lambda diff: diff["effect"].update(bytes=True), "$.effect.bytes: Expected `int`, got `bool`"),
        (lambda diff: diff["effect"].update(lines=-1), "$.effect.lines: Expected `int` >= 0"),
        (lambda diff: diff["examples"][0].update(index=99), "$.examples[0].index: there is no such result"),
        (lambda diff: diff["report"]["results"][0].pop("status"), "$.report.results[0]: "),
        (lambda diff: diff["fuzzed"]["causes"].pop(), "$.fuzzed.causes: expected one cause for each of the"),
        (lambda diff: diff.update(schema_version=1), "written by an older tokverify"),
        (lambda diff: diff.update(kind="run"), "this is a report of `tokverify run`"),
    ],
)
def test_an_invalid_comparison_is_rejected_with_the_place(
    tmp_path: Path, change: Callable[[Any], object], problem: str
):
    CHANGE.assert_wrong(tmp_path, hostile_change(), change, problem)


def test_every_key_is_required_and_of_one_type(tmp_path: Path):
    document = CHANGE.written(hostile_change())
    # The contents of these are tested with their own kinds.
    document["report"]["results"] = document["fuzzed"]["report"]["results"] = document["fuzzed"]["causes"] = []
    document["examples"] = []
    document["parts"] = document["parts"][:1]
    nested = {"report", "fuzzed", "summary", "schema_version", "kind"}
    places = [place for place in places_in(document) if place[0] not in nested or place in {("report",), ("fuzzed",)}]
    assert len(places) > 25
    for place in places:
        for damage in (remove, set_to(1.5)):
            CHANGE.assert_damage_rejected(tmp_path, document, place, damage, may_pass=is_free(place))


def is_free(place: tuple[object, ...]) -> bool:
    """Check whether this is an item of a list, or of an object with any keys."""
    return (place[0] in {"options", "versions"} and len(place) > 1) or isinstance(place[-1], int)
