"""Reading statistics of `tokverify stats` back."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.codec_kind import CodecKind
from support.hostile_stats import hostile_stats
from support.saved_file import places_in, remove
from support.selection import thinned
from tokverify.render.kinds import FORMATS
from tokverify.report.stats import StatsReport, stats_exit_code

RATES = {
    "per_byte",
    "per_character",
    "per_word",
    "spaces_per_token",
    "tokens_per_long_number",
    "mean_against_english",
    "Thai",
}
STATS = CodecKind(name="stats", formats=FORMATS["stats"], exit_code=stats_exit_code)


@pytest.mark.parametrize(
    "stats", [hostile_stats(), replace(hostile_stats(), tokenizers=(), texts=())], ids=["all", "nothing"]
)
def test_statistics_survive_a_round_trip(tmp_path: Path, stats: StatsReport):
    STATS.assert_comes_back(tmp_path, stats)


def test_the_schema_names_every_key():
    STATS.assert_in_schema(hostile_stats())


def tokenizer(**fields: object):
    return lambda content: content["tokenizers"][0].update(fields)


def probe(**fields: object):
    return lambda content: content["tokenizers"][0]["probe"].update(fields)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (probe(indentation={"x": 1}), "$.tokenizers[0].probe.indentation"),
        (probe(language_tokens={"English": "7"}), "$.tokenizers[0].probe.language_tokens[...]: Expected `int`"),
        (probe(single_numbers=10**400), "$.tokenizers[0].probe.single_numbers: an integer has more than 64 bits"),
        (tokenizer(fingerprint="x"), "$.tokenizers[0].fingerprint: Expected `str` matching regex"),
        (tokenizer(name="other"), "$.texts[0].counts: expected one object for each tokenizer, in order"),
        (lambda content: content["texts"][0]["counts"].pop(), "expected one object for each tokenizer, in order"),
        (lambda content: content["texts"][0].update(kind="verse"), "$.texts[0].kind: Invalid enum value 'verse'"),
        (lambda content: content["texts"][0].update(bytes=-1), "$.texts[0].bytes: Expected `int` >= 0"),
    ],
)
def test_an_error_is_reported_with_its_location(tmp_path: Path, change, message: str):
    STATS.assert_wrong(tmp_path, hostile_stats(), change, message)


@pytest.mark.parametrize(
    "change",
    thinned(
        2,
        [
            probe(language_tokens={"Thai": "1"}),
            probe(indentation={"1": None}),
            tokenizer(fingerprint="x"),
            lambda content: content["texts"][0].update(kind="verse"),
            lambda content: content["texts"][0]["counts"][0].pop("unknown"),
        ],
    ),
)
def test_the_schema_and_the_reader_agree_on_what_is_wrong(tmp_path: Path, change):
    STATS.assert_wrong_by_schema(tmp_path, hostile_stats(), change)


def test_no_part_can_be_missing_or_of_another_kind(tmp_path: Path):
    document = STATS.written(hostile_stats())
    places = [place for place in places_in(document) if not is_free(place)]
    assert ("tokenizers", 0, "longest", 0, "token_bytes") in places
    for place in places:
        for damage in (
            remove,
            lambda owner, key: owner.__setitem__(key, "odd" if key in {"bytes", "token_bytes", *RATES} else 1.5),
        ):
            if is_optional(place) and damage is remove:
                continue
            STATS.assert_damage_rejected(tmp_path, document, place, damage)


def spoil(owner: Any, key: Any) -> None:
    owner[key] = "odd" if key in {"token_bytes", *RATES} else 1.5


def is_free(place: tuple[object, ...]) -> bool:
    """Return whether the reader computes the value itself or accepts any value."""
    return place[0] == "summary" or (len(place) > 1 and place[0] in {"options", "versions"})


def is_optional(place: tuple[object, ...]) -> bool:
    """Whether it may be missing: an item of a list, or of an object with any keys."""
    owners = {"excluded", "indentation", "language_tokens", "against_english"}
    return isinstance(place[-1], int) or (place[-2:-1] != () and place[-2] in owners)
