"""The codec, on reports of `tokverify run`: nothing is lost, and a damaged file is rejected in one line."""

import json
import re
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.make_golden import hostile_report
from support.paths import ROOT
from support.saved_file import damaged, places_in, remove, saved, set_to
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.codec import KINDS, SCHEMA_VERSION, decode, encode, read, read_any
from tokverify.report.run import Report
from tokverify.report.schema import generate_schema, write_schema
from tokverify.text.command_line import quote_reference
from tokverify.tokenizer import Token

SCHEMA = ROOT / "docs" / "report.schema.json"
VALID = f'{{"kind": "run", "schema_version": {SCHEMA_VERSION}'.encode()


def document() -> Any:
    """Return the JSON of a report in which every field is set somewhere."""
    return json.loads(encode(hostile_report()))


def reads_back(tmp_path: Path, report: Report) -> Report:
    return read(saved(tmp_path, json.loads(encode(report))), Report)


def test_a_report_is_read_unchanged(tmp_path: Path):
    report = hostile_report()
    again = reads_back(tmp_path, report)
    assert again == report
    assert encode(again) == encode(report)
    for name, write in FORMATS["run"].items():
        assert write(again, RenderOptions(verbose=True)) == write(report, RenderOptions(verbose=True)), name


def test_the_kind_is_returned_with_the_report(tmp_path: Path):
    assert read_any(saved(tmp_path, document())) == ("run", hostile_report())


def test_expected_pieces_are_read_unchanged(tmp_path: Path):
    report = hostile_report()
    first = report.results[0]
    case = replace(first.case, expect={"fake": ("▁a", "\udc80"), "other": (), "third": (1, -1)})
    report = replace(report, results=(replace(first, case=case, expect=("▁a",)),), vocabulary=None, diagnosis=None)
    assert reads_back(tmp_path, report) == report


def test_tokens_are_read_unchanged(tmp_path: Path):
    actual = Token(1, "▁a", b" a")
    tokens = {1: (actual, Token(1, " a", b" a")), 2: (Token(2, "\udc80", b"\x80"),) * 2}
    report = replace(hostile_report(), tokens=tokens)
    assert reads_back(tmp_path, report).tokens == tokens


def test_infinite_numbers_become_strings():
    report = replace(hostile_report(), options={"seconds": float("inf"), "list": [float("nan")]})
    assert json.loads(encode(report))["options"] == {"seconds": "inf", "list": ["nan"]}


def test_bytes_are_hexadecimal():
    token = document()["results"][1]["difference"]["blocks"][0]["actual"][0]
    assert bytes.fromhex(token["token_bytes"]).decode()


def test_the_summary_holds_what_scripts_need():
    summary = document()["summary"]
    assert summary["exit_code"] == 1
    assert summary["cases"] == 14
    assert sum(summary[status] for status in ("match", "mismatch", "error", "known", "skipped")) == 14
    assert not summary["stopped_early"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_field_of_a_report_replaces_a_key_of_the_envelope(kind: str):
    names = {field.name for field in fields(KINDS[kind].type)}
    assert names & {"schema_version", "kind", "summary"} == set()


# The schema


def test_the_published_schema_is_up_to_date():
    assert SCHEMA.read_text() == write_schema(), "run: python -m tokverify.report.schema > docs/report.schema.json"


def test_every_field_has_a_description():
    definitions = generate_schema()["$defs"].items()
    fields = [(name, *field) for name, each in definitions for field in each.get("properties", {}).items()]
    assert [f"{name}.{field}" for name, field, value in fields if not value.get("description")] == []


def test_the_schema_is_valid():
    jsonschema.Draft202012Validator.check_schema(generate_schema())


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_covers_every_kind(kind: str):
    schema = generate_schema()
    assert kind in schema["properties"]["kind"]["enum"]
    assert any(branch["if"]["properties"]["kind"]["const"] == kind for branch in schema["allOf"])


def test_the_schema_describes_every_key():
    schema = generate_schema()
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(document())
    validator.validate(json.loads((ROOT / "reports" / "sample.json").read_text()))
    keys = document().keys() - {"schema_version", "kind", "summary"}
    assert keys == schema["$defs"]["Report"]["properties"].keys()


def test_the_schema_says_what_the_fields_of_a_report_mean():
    definitions = generate_schema()["$defs"]
    fields = definitions["Report"]["properties"]
    assert fields["stopped_early"]["description"] == "Whether cases were not run because enough others had failed."
    assert {"description", "$ref"} <= definitions["FuzzReport"]["properties"]["report"].keys()


@pytest.mark.parametrize(
    "damage",
    [
        lambda report: report["results"][0].update(status="fine"),
        lambda report: report["results"][0].pop("difference"),
        lambda report: report["results"][1]["difference"]["blocks"][0]["actual"][0].update({"token_bytes": "xyz"}),
        lambda report: report["diagnosis"]["explanations"][0].pop("kind"),
        lambda report: report["baseline"]["fixed"][0].update(expires="soon"),
        lambda report: report["results"][1]["difference"]["first"].update(byte_offset=-1),
        lambda report: report["actual"].update(sha256="XYZ"),
    ],
)
def test_the_schema_and_the_codec_reject_the_same(damage):
    report = document()
    damage(report)
    validator = jsonschema.Draft202012Validator(
        generate_schema(), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(report)
    with pytest.raises(TokverifyError, match="not a complete tokverify report"):
        decode(report)


# Rejected documents


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda report: report["results"][1].pop("difference"), "$.results[1].difference: the key is missing"),
        (
            lambda report: report["results"][1].update(difference=None),
            "$.results[1]: a mismatch needs a `difference` or a `message`",
        ),
        (lambda report: report["results"][0].update(status="known"), "$.results[0]: `known` is required"),
        (
            lambda report: report["results"][1]["difference"]["first"].update(token_index=99),
            "$.results[1].difference.first.token_index: there is no such token",
        ),
        (
            lambda report: report["results"][1]["difference"]["blocks"][0]["actual"].pop(),
            "$.results[1].difference.blocks[0]: an equal block needs as many tokens on both sides",
        ),
        (lambda report: report["results"][0].update(expect=[1, "a"]), "$.results[0].expect: expected either ids"),
        (
            lambda report: report["results"][1]["actual"].__setitem__(2, "\x1b"),
            "$.results[1].actual[2]: Expected `int`, got `str`",
        ),
        (lambda report: report["results"][1]["actual"].__setitem__(2, True), "got `bool`"),
        (
            lambda report: report["results"][1]["actual"].__setitem__(2, 1 << 70),
            "$.results[1].actual[2]: an integer has more than 64 bits",
        ),
        (
            lambda report: report["options"].update(deep=json.loads("[" * 900 + "]" * 900), huge=1 << 70),
            "$.options.huge: an integer has more than 64 bits",
        ),
        (lambda report: report["results"][1]["case"].update(line=1.5), "$.results[1].case.line: Expected `int`"),
        (
            lambda report: report["results"][1]["difference"]["first"].update(byte_offset=-1),
            "$.results[1].difference.first.byte_offset: Expected `int` >= 0",
        ),
        (lambda report: report["results"][0].update(status="\ud800"), "lone surrogate"),
        (lambda report: report["results"][0].update(status="a\nb"), "$.results[0].status: Invalid enum value"),
        (lambda report: report["options"].update(deep=json.loads("[" * 150 + "]" * 150)), "more than 100 levels deep"),
    ],
)
def test_a_damaged_report_is_rejected_with_the_place(tmp_path: Path, damage, problem: str):
    report = document()
    damage(report)
    with pytest.raises(TokverifyError) as raised:
        read(saved(tmp_path, report), Report)
    assert problem in str(raised.value)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize("more", ["a; touch b", "a\ntouch b", "$(touch b)", "'a", "a  b", "`b`", "a >b"])
@pytest.mark.parametrize("program", ["gguf-set-metadata MODEL", "tokverify fix"])
def test_a_command_to_be_pasted_holds_nothing_that_a_shell_acts_on(program: str, more: str):
    report = document()
    explanation = report["diagnosis"]["explanations"][0]
    explanation["repair"]["commands"] = [{"label": "repair", "arguments": [program, more]}]
    with pytest.raises(TokverifyError, match=r"repair\.commands\[0\]: .*, quoted for a shell"):
        decode(report)
    explanation["repair"]["commands"] = []
    explanation["gguf_command"] = f"gguf-set-metadata MODEL {more}"
    with pytest.raises(TokverifyError, match=r"gguf_command: .*, quoted for a shell"):
        decode(report)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("-r 'command:sh -c ls'", "-r command:sh -c ls would run a program"),
        ("-r env:a:b.json", "would run a program"),
        ("-r transformers:org/name,trust_remote_code", "would run a program"),
        ("-r mykind:b", "would run a program"),
        ("-r llama.cpp@./lib.so", "would run a program"),
        ("-rcommand:ls", "the option -rcommand:ls is not one of"),
        ("--reference command:ls", "the option --reference is not one of"),
        ("--force", "the option --force is not one of"),
    ],
)
def test_a_command_to_be_pasted_runs_nothing_else(arguments: str, problem: str):
    report = document()
    command = {"label": "repair", "arguments": ["tokverify fix", "a.gguf", arguments]}
    report["diagnosis"]["explanations"][0]["repair"]["commands"] = [command]
    with pytest.raises(TokverifyError, match=re.escape(problem)):
        decode(report)


@pytest.mark.parametrize("location", ["./a:b.json", "org/name@main", "http://127.0.0.1:1", "C:/a.json", "rebuilt"])
def test_a_command_to_be_pasted_names_its_reference(location: str):
    assert quote_reference(location) == location
    assert quote_reference(f"command:{location}") == "REFERENCE"


def test_a_command_to_be_pasted_calls_a_known_program():
    report = document()
    command = {"label": "repair", "arguments": ["curl", "-s", "example.org"]}
    report["diagnosis"]["explanations"][0]["repair"]["commands"] = [command]
    with pytest.raises(
        TokverifyError, match="a command line of tokverify fix, gguf-new-metadata, or gguf-set-metadata"
    ):
        decode(report)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not a JSON report: Expecting value"),
        (b"{", "not a JSON report"),
        (b"\xff\xfe\xff", "not a JSON report"),
        (b"[" * 100_000, "not a JSON report"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"kind": "run", "schema_version": ' + b"9" * 5000 + b"}", "not a JSON report"),
        (b"[]", "$: Expected `object`"),
        (b"{}", "$.kind: Expected `str`"),
        (b'{"kind": "run", "schema_version": true}', "$.schema_version: Expected `int`"),
        (b'{"kind": "run", "schema_version": 1}', "written by an older tokverify (schema_version 1; this one reads"),
        (b'{"kind": "run", "schema_version": 99}', "written by a newer tokverify (schema_version 99"),
        (
            b'{"kind": "report diff", "schema_version": 2}',
            "a report of `tokverify report diff`; give one of",
        ),
        (b'{"kind": "other", "schema_version": 2}', 'reports of kind "other" are unknown to this tokverify; update it'),
        (VALID + b', "results": {}}', "$.results: Expected `array`, got `object`"),
        (VALID + b"}", "$: Object missing required field `actual`"),
    ],
)
def test_a_file_that_is_not_such_a_report_is_rejected(tmp_path: Path, content: bytes, problem: str):
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(TokverifyError) as raised:
        read(path, Report)
    assert problem in str(raised.value)
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


def test_another_version_is_unsupported_not_broken(tmp_path: Path):
    with pytest.raises(UnsupportedError):
        read(saved(tmp_path, {"kind": "run", "schema_version": 99}), Report)


def test_no_key_can_be_missing_or_of_another_type():
    report = document()
    results = report["results"]
    report["results"] = [results[1], *(result for result in results if result["decode_difference"] or result["known"])]
    places = [place for place in places_in(report) if place[0] != "summary"]
    assert len(places) > 100
    for place in places:
        for damage in (remove, set_to(1.5)):
            broken = damaged(report, place, damage)
            with suppress(TokverifyError) if is_optional(place) else pytest.raises(TokverifyError, match=r"^[^\n]*$"):
                decode(broken)


def is_optional(place: tuple[Any, ...]) -> bool:
    """Whether a value can be absent: an item of a list, or of an object with any keys."""
    before, last = ("", *place)[-2:]
    return isinstance(last, int) or before in {
        "versions",
        "special_ids",
        "expect",
        "options",
        "settings",
        "suites",
        "tokens",
    }
