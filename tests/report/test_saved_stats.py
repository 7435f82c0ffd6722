"""Reading statistics of `tokverify stats` back."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.hostile_stats import hostile_stats
from support.saved_file import SavedKind, places_in, remove
from tokverify.render.stats import STATS_FORMATS, present
from tokverify.report.saved.stats import restore_stats
from tokverify.report.stats import Stats

STATS = SavedKind(name="stats", formats=STATS_FORMATS, present=present, restore=restore_stats)


@pytest.mark.parametrize(
    "stats", [hostile_stats(), replace(hostile_stats(), tokenizers=(), rows=())], ids=["all", "nothing"]
)
def test_statistics_come_back_whole(tmp_path: Path, stats: Stats):
    STATS.assert_comes_back(tmp_path, stats)


def test_the_schema_names_every_key():
    STATS.assert_in_schema(hostile_stats())


def tokenizer(**told: object):
    return lambda content: content["tokenizers"][0].update(told)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (tokenizer(indentation={"1": 0}), "tokenizers[0].indentation.1 is 0; wanted is a whole number from 1 on"),
        (
            tokenizer(indentation={}),
            "tokenizers[0].indentation is an object; wanted is an object with numbers of spaces",
        ),
        (tokenizer(indentation={"x": 1}), "an object with numbers of spaces as keys"),
        (tokenizer(language_tokens={"Thai": 1}), "an object with the key 'English'"),
        (tokenizer(language_tokens={"English": 0}), "language_tokens.English is 0; wanted is a whole number from 1 on"),
        (tokenizer(long_number_tokens=10**400), "long_number_tokens is 1000"),
        (tokenizer(fingerprint="x"), "tokenizers[0].fingerprint is 'x'; wanted is bytes in hexadecimal"),
        (tokenizer(name="other"), "texts[0].tokenizers is a list; wanted is a list with one object for each tokenizer"),
        (
            lambda content: content["texts"][0]["tokenizers"].pop(),
            "a list with one object for each tokenizer, in order",
        ),
        (lambda content: content["texts"][0].update(kind="verse"), "texts[0].kind is 'verse'; wanted is prose or code"),
        (lambda content: content["texts"][0].update(bytes=-1), "texts[0].bytes is -1; wanted is a whole number from 0"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, change, told: str):
    STATS.assert_wrong(tmp_path, hostile_stats(), change, told)


@pytest.mark.parametrize(
    "change",
    [
        tokenizer(language_tokens={"Thai": 1}),
        tokenizer(indentation={"x": 1}),
        tokenizer(indentation={}),
        tokenizer(fingerprint="x"),
        lambda content: content["texts"][0].update(kind="verse"),
        lambda content: content["texts"][0]["tokenizers"][0].pop("unknown"),
    ],
)
def test_the_schema_and_the_reader_agree_on_what_is_wrong(tmp_path: Path, change):
    STATS.assert_wrong_by_schema(tmp_path, hostile_stats(), change)


def test_no_part_can_be_missing_or_of_another_kind(tmp_path: Path):
    told = STATS.written(hostile_stats())
    places = [place for place in places_in(told) if not is_free(place)]
    assert ("tokenizers", 0, "longest", 0, "bytes") in places
    for place in places:
        for damage in (remove, lambda owner, key: owner.__setitem__(key, "odd" if key == "bytes" else 1.5)):
            if is_optional(place) and damage is remove:
                continue
            STATS.assert_damage_told(tmp_path, told, place, damage)


def is_free(place: tuple[object, ...]) -> bool:
    """Whether the reader works it out itself, or takes it as it is."""
    return (
        place[0] == "summary"
        or (len(place) > 1 and place[0] in {"options", "versions"})
        or str(place[-1]).startswith("per_")
        or "against_english" in place
        or place[-1] in {"spaces_per_token", "tokens_per_long_number", "mean_against_english"}
    )


def is_optional(place: tuple[object, ...]) -> bool:
    """Whether it may be missing: an item of a list, or of an object with any keys."""
    owners = {"excluded", "indentation", "language_tokens"}
    return isinstance(place[-1], int) or (place[-2:-1] != () and place[-2] in owners and place[-1] != "English")
