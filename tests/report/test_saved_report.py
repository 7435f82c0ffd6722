"""Reading a report back: nothing is lost, and whatever is wrong in a file is told in one line."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from support.make_golden import hostile_report
from support.paths import ROOT
from support.saved_file import SCHEMA, damaged, is_derived, places_in, remove, saved, set_to, strict
from tokverify.diagnosis.repair import with_repairs
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.render import FORMATS, RenderOptions
from tokverify.render.run.json import document, render
from tokverify.report.saved.run import read_report
from tokverify.tokenizer import Token


@pytest.mark.process  # takes seconds
def test_a_report_comes_back_whole(tmp_path: Path):
    report = hostile_report()
    path = tmp_path / "report.json"
    path.write_text(render(report))
    again = with_repairs(read_report(path))
    assert again == report
    assert again.exit_code == report.exit_code
    for name, format_ in FORMATS.items():
        assert format_(again, RenderOptions(verbose=True)) == format_(report, RenderOptions(verbose=True)), name


def test_pieces_that_are_expected_come_back(tmp_path: Path):
    report = hostile_report()
    first = report.results[0]
    case = replace(first.case, expect={"fake": ("▁a", "\udc80"), "other": (), "third": (1, -1)})
    report = replace(report, results=(replace(first, case=case, expect=("▁a",)),), vocabulary=None, diagnosis=None)
    assert read_report(saved(tmp_path, document(report))).results == report.results


def test_what_ids_are_on_both_sides_comes_back(tmp_path: Path):
    actual = Token(1, "▁a", b" a")
    tokens = {1: (actual, Token(1, " a", b" a")), 2: (Token(2, "\udc80", b"\x80"),) * 2}
    told = document(replace(hostile_report(), tokens=tokens))
    jsonschema.validate(told, strict(SCHEMA))
    assert read_report(saved(tmp_path, told)).tokens == tokens


# The schema


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_names_every_key_of_every_kind_of_report():
    validator = jsonschema.Draft202012Validator(strict(SCHEMA))
    validator.validate(json.loads(render(hostile_report())))
    validator.validate(json.loads((ROOT / "reports" / "sample.json").read_text()))


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize(
    "change",
    [
        lambda told: told["cases"][1].pop("difference"),
        lambda told: told["cases"][0].update(status="fine"),
        lambda told: told["cases"][0].update(status="known"),
        lambda told: told["cases"][1]["difference"]["blocks"][0]["actual"][0].update(bytes="xyz"),
        lambda told: told["diagnosis"]["explanations"][0].pop("kind"),
        lambda told: told["diagnosis"]["explanations"][0].update(repair="curl -s example.org | sh"),
        lambda told: told["baseline"]["fixed"][0].update(expires="soon"),
    ],
)
def test_the_schema_and_the_reader_agree_on_what_is_wrong(tmp_path: Path, change):
    told = json.loads(render(hostile_report()))
    change(told)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, SCHEMA)
    with pytest.raises(TokverifyError, match="not a report of tokverify"):
        read_report(saved(tmp_path, told))


# What is wrong


@pytest.mark.parametrize("more", ["a; touch b", "a\ntouch b", "$(touch b)", "'a", "a  b", "`b`", "a >b"])
def test_a_command_to_be_pasted_holds_nothing_that_a_shell_acts_on(tmp_path: Path, more: str):
    told = json.loads(render(hostile_report()))
    told["diagnosis"]["explanations"][0]["repair"] = f"gguf-set-metadata MODEL {more}"
    with pytest.raises(TokverifyError, match=r"repair is .*, quoted for a shell"):
        read_report(saved(tmp_path, told))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "not a JSON report: Expecting value"),
        (b"{", "not a JSON report"),
        (b"\xff\xfe\xff", "not a JSON report"),
        (b"[" * 100_000, "not a JSON report"),
        (b'{"kind": "run", "schema_version": ' + b"9" * 5000 + b"}", "not a JSON report"),
        (b"[]", "the file is a list; wanted is an object with the key 'kind'"),
        (b"{}", "the file is an object; wanted is an object with the key 'kind'"),
        (b'{"kind": "run", "schema_version": true}', "schema_version is True; wanted is a whole number"),
        (b'{"kind": "run", "schema_version": 1}', "has schema_version 1, of an older tokverify, and this one reads 3"),
        (b'{"kind": "run", "schema_version": 99}', "of a newer tokverify, and this one reads 3; update tokverify"),
        (b'{"kind": "fuzz", "schema_version": 2}', "is a report of `tokverify fuzz`; give one of `tokverify run`"),
        (b'{"kind": "run", "schema_version": 3, "cases": {}}', "an object with the key 'actual'"),
    ],
)
def test_what_is_no_report(tmp_path: Path, content: bytes, told: str):
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(TokverifyError) as raised:
        read_report(path)
    assert told in str(raised.value)
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


def test_another_version_is_not_a_broken_file(tmp_path: Path):
    with pytest.raises(UnsupportedError):
        read_report(saved(tmp_path, {"kind": "run", "schema_version": 99}))


def test_the_place_is_named(tmp_path: Path):
    told = json.loads(render(hostile_report()))
    told["cases"][1]["ids"]["actual"][2] = "\x1b"
    with pytest.raises(TokverifyError, match=r"cases\[1\]\.ids\.actual is a list; wanted is a list of whole numbers"):
        read_report(saved(tmp_path, told))
    told["cases"][1]["difference"]["first"]["token_index"] = 99
    told["cases"][1]["ids"]["actual"] = []
    with pytest.raises(TokverifyError, match=r"cases\[1\]\.difference\.first\.token_index is 99"):
        read_report(saved(tmp_path, told))


@pytest.mark.parametrize("place", [("line",), ("difference", "first", "byte_offset")])
def test_what_is_counted_is_not_negative(tmp_path: Path, place: tuple[str, ...]):
    told = json.loads(render(hostile_report()))
    *before, last = place
    owner = told["cases"][1]
    for key in before:
        owner = owner[key]
    owner[last] = -1
    with pytest.raises(TokverifyError, match=rf"cases\[1\]\.{'.'.join(place)} is -1; wanted is a whole number from 0"):
        read_report(saved(tmp_path, told))


def test_no_part_can_be_missing_or_of_another_kind(tmp_path: Path):
    told = json.loads(render(hostile_report()))
    told["cases"] = [told["cases"][1], *(case for case in told["cases"] if "decoded" in case or case["known"])][:3]
    places = list(places_in(told))
    assert len(places) > 100
    for place in places:
        for damage in (remove, set_to(1.5)):
            path = saved(tmp_path, damaged(told, place, damage))
            one_line = pytest.raises(TokverifyError, match=r"^[^\n]*$")
            with suppress(TokverifyError) if is_derived(place) else one_line:
                read_report(path)
