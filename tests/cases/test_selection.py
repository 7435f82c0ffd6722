"""Selecting cases, and the hints if nothing is selected."""

import dataclasses

import pytest

from tokverify.case import Case
from tokverify.cases.loading import select
from tokverify.errors import TokverifyError

CASES = [
    Case(id="tab-1", suite="tabs", text="\t", tags=("tabs", "ladder")),
    Case(id="tab-2", suite="tabs", text="\t\t", tags=("tabs", "ladder")),
    Case(id="smile", suite="emoji", text="😊", tags=("emoji",)),
    Case(id="flag", suite="emoji", text="🇫🇷", tags=("emoji", "ladder")),
]


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, ["tab-1", "tab-2", "smile", "flag"]),
        ({"tags": ["emoji"]}, ["smile", "flag"]),
        ({"tags": ["emoji", "tabs"]}, ["tab-1", "tab-2", "smile", "flag"]),
        ({"tags": ["ladder"], "suites": ["emoji"]}, ["flag"]),
        ({"patterns": ["tab*"]}, ["tab-1", "tab-2"]),
        ({"patterns": ["tab"]}, ["tab-1", "tab-2"]),
        ({"patterns": ["s/TAB-1"]}, ["tab-1"]),
        ({"patterns": ["*MIL?"]}, ["smile"]),
        ({"patterns": ["moji"]}, ["smile", "flag"]),
        ({"patterns": ["tab-[2-9]", "smile"]}, ["tab-2", "smile"]),
        ({"patterns": ["emoji/*"], "tags": ["ladder"]}, ["flag"]),
        ({"suites": ("tabs", "absent")}, ["tab-1", "tab-2"]),
    ],
)
def test_select(filters: dict, ids: list[str]):
    assert [case.id for case in select(CASES, **filters)] == ids


@pytest.mark.parametrize(
    ("cases", "filters", "fragments"),
    [
        (CASES, {"tags": ["emojis"]}, ["tags 'emojis'", "did you mean 'emoji'?"]),
        (CASES, {"tags": ["zzz"]}, ["no tag 'zzz'", "known tags: emoji, ladder, tabs"]),
        (CASES, {"tags": ["lad"]}, ["no tag 'lad'", "did you mean 'ladder'?"]),
        (CASES[:1], {"suites": ["zzz"], "patterns": ["tab-1"]}, ["no suite 'zzz', known suites: tabs"]),
        (CASES, {"suites": ["tab"]}, ["no suite 'tab'", "did you mean 'tabs'?"]),
        (CASES, {"patterns": ["ab?"]}, ["patterns 'ab?'", "did you mean '*ab?*'?"]),
        (CASES, {"patterns": ["smiel"]}, ["did you mean 'smile'?"]),
        (CASES, {"patterns": ["emoji/smiel*"]}, ["did you mean 'emoji/smile'"]),
        (CASES, {"patterns": ["tab-1 or smile"]}, ["no id matches 'tab-1 or smile'", "not supported"]),
        (CASES, {"patterns": ["not smile"]}, ["not supported"]),
        (CASES, {"patterns": ["tab-or-smile"]}, ["no id matches 'tab-or-smile'"]),
        (CASES, {"patterns": ["zzz"]}, ["no id matches 'zzz'", "cases list"]),
        (CASES, {"tags": ["tabs"], "suites": ["emoji"]}, ["tags 'tabs', suites 'emoji'", "drop one"]),
        ([], {"tags": ["tabs"]}, ["contain no cases"]),
        ([], {}, ["contain no cases"]),
    ],
)
def test_selecting_nothing_is_an_error(cases: list[Case], filters: dict, fragments: list[str]):
    with pytest.raises(TokverifyError) as caught:
        select(cases, **filters)
    message = str(caught.value)
    assert message.startswith("no case selected")
    assert "\n" not in message
    for fragment in fragments:
        assert fragment in message


def test_case_cannot_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        CASES[0].text = "other"
