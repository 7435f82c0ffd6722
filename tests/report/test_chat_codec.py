"""Reading a report of `tokverify chat` back."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.codec_kind import CodecKind
from support.hostile_chat import hostile_chat
from support.saved_file import places_in, remove, set_to
from support.selection import thinned
from tokverify.render.kinds import FORMATS
from tokverify.report.chat import ChatReport, chat_exit_code

CHAT = CodecKind(name="chat", formats=FORMATS["chat"], exit_code=chat_exit_code)


@pytest.mark.parametrize(
    "report",
    [hostile_chat(), replace(hostile_chat(), expected=None), replace(hostile_chat(), results=(), findings=())],
    ids=["all", "without a reference", "nothing"],
)
def test_a_report_survives_a_round_trip(tmp_path: Path, report: ChatReport):
    CHAT.assert_comes_back(tmp_path, report)


def test_the_schema_names_every_key():
    CHAT.assert_in_schema(hostile_chat())


def finding(**fields: object):
    return lambda content: content["findings"][0].update(fields)


def result(**fields: object):
    return lambda content: content["results"][1].update(fields)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (finding(kind="odd"), "$.findings[0].kind: Expected `str` matching regex"),
        (finding(severity="BAD"), "$.findings[0].severity: Invalid enum value 'BAD'"),
        (finding(template="x"), "$.findings[0].template: expected the name of a template of this report"),
        (finding(conversations=["x"]), "$.findings[0]: expected ids of conversations of this report"),
        (result(conversation="x"), "$.results[1]: expected ids of conversations of this report"),
        (result(template="x"), "$.results[1].template: expected the name of a template of this report"),
        (result(actual_ids=["x"]), "$.results[1].actual_ids[0]: Expected `int`"),
        (result(text_difference={"blocks": []}), "results[1].text_difference: required if both sides have a text"),
        (
            lambda content: content["conversations"][0]["messages"][0].pop("role"),
            "messages[0]: a message needs a `role`",
        ),
        (lambda content: content["conversations"][0].update(line=-1), "$.conversations[0].line: Expected `int` >= 0"),
        (lambda content: content["actual"].update(sha256="\x1b"), "$.actual.sha256: Expected `str` matching regex"),
    ],
)
def test_an_error_is_reported_with_its_location(tmp_path: Path, change, message: str):
    CHAT.assert_wrong(tmp_path, hostile_chat(), change, message)


@pytest.mark.parametrize(
    "change",
    thinned(
        2,
        [
            lambda document: document["findings"][0].update(kind="odd"),
            lambda document: document["findings"][0].pop("message"),
            lambda document: document["results"][0]["actual"].update(deliberate=None),
            lambda document: document["templates"][0].update(actual=1),
        ],
    ),
)
def test_the_schema_and_the_reader_agree_on_what_is_wrong(tmp_path: Path, change):
    CHAT.assert_wrong_by_schema(tmp_path, hostile_chat(), change)


def test_no_part_can_be_missing_or_of_another_kind(tmp_path: Path):
    document = CHAT.written(hostile_chat())
    document["results"].sort(key=lambda result: result["difference"] is None)
    document["templates"].sort(key=lambda template: template["difference"] is None)
    places = [place for place in places_in(document) if not is_free(place)]
    assert ("results", 0, "difference", "blocks", 0, "actual", 0, "token_bytes") in places
    for place in places:
        for damage in (remove, set_to(1.5)):
            if isinstance(place[-1], int) and damage is remove:
                continue
            CHAT.assert_damage_rejected(tmp_path, document, place, damage)


def is_free(place: tuple[object, ...]) -> bool:
    """Return whether the reader computes the value itself or accepts any value."""
    top, below = place[0], place[1:]
    return (
        top == "summary"
        or (bool(below) and top in {"options", "versions"})
        or "settings" in place[:-1]
        or (top == "conversations" and len(place) > 3 and place[-1] != "role")
        or ("first" in place[:-1] and place[-1] not in {"token_index", "byte_offset"})
    )
