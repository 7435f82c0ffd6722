"""Reading a report of `tokverify chat` back."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.codec_kind import CodecKind
from support.hostile_chat import hostile_chat
from support.saved_file import places_in, remove, set_to
from tokverify.render.kinds import FORMATS
from tokverify.report.chat import ChatReport, chat_exit_code

CHAT = CodecKind(name="chat", formats=FORMATS["chat"], exit_code=chat_exit_code)


@pytest.mark.parametrize(
    "report",
    [hostile_chat(), replace(hostile_chat(), expected=None), replace(hostile_chat(), results=(), findings=())],
    ids=["all", "without a reference", "nothing"],
)
def test_a_report_comes_back_whole(tmp_path: Path, report: ChatReport):
    CHAT.assert_comes_back(tmp_path, report)


def test_the_schema_names_every_key():
    CHAT.assert_in_schema(hostile_chat())


def finding(**told: object):
    return lambda content: content["findings"][0].update(told)


def result(**told: object):
    return lambda content: content["results"][1].update(told)


@pytest.mark.parametrize(
    ("change", "told"),
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
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, change, told: str):
    CHAT.assert_wrong(tmp_path, hostile_chat(), change, told)


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told["findings"][0].update(kind="odd"),
        lambda told: told["findings"][0].pop("message"),
        lambda told: told["results"][0]["actual"].update(deliberate=None),
        lambda told: told["templates"][0].update(actual=1),
    ],
)
def test_the_schema_and_the_reader_agree_on_what_is_wrong(tmp_path: Path, change):
    CHAT.assert_wrong_by_schema(tmp_path, hostile_chat(), change)


def test_no_part_can_be_missing_or_of_another_kind(tmp_path: Path):
    told = CHAT.written(hostile_chat())
    told["results"].sort(key=lambda result: result["difference"] is None)
    told["templates"].sort(key=lambda template: template["difference"] is None)
    places = [place for place in places_in(told) if not is_free(place)]
    assert ("results", 0, "difference", "blocks", 0, "actual", 0, "token_bytes") in places
    for place in places:
        for damage in (remove, set_to(1.5)):
            if isinstance(place[-1], int) and damage is remove:
                continue
            CHAT.assert_damage_told(tmp_path, told, place, damage)


def is_free(place: tuple[object, ...]) -> bool:
    """Whether the reader works it out itself, or takes it as it is."""
    top, below = place[0], place[1:]
    return (
        top == "summary"
        or (bool(below) and top in {"options", "versions"})
        or "settings" in place[:-1]
        or (top == "conversations" and len(place) > 3 and place[-1] != "role")
        or ("first" in place[:-1] and place[-1] not in {"token_index", "byte_offset"})
    )
