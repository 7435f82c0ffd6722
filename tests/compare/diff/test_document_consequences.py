"""What changes of a tokenizer.json invalidate, some of which a GGUF file cannot express."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers.pre_tokenizers import ByteLevel

from support.byte_level_maker import train_byte_level
from tokverify.commands.tasks.diff import open_version
from tokverify.compare.diff.compare import compare_versions
from tokverify.report.diff import Level, Outcome, diff_exit_code

END = "<|end|>"
WHITESPACE = {"type": "Whitespace"}
"""A pre-tokenizer that no GGUF file can express."""
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": END, "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
    "special_tokens": {END: {"id": END, "ids": [0], "tokens": [END]}},
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    tokenizer = train_byte_level(ByteLevel(add_prefix_space=False), END)
    content: dict[str, Any] = json.loads(tokenizer.to_str())
    return content


@pytest.fixture
def compare(document, tmp_path: Path):
    """Return a function that compares the document with a changed copy of it."""

    def run(**changes: object):
        paths = tmp_path / "old.tokenizer.json", tmp_path / "new.tokenizer.json"
        for path, content in zip(paths, (document, document | changes), strict=True):
            path.write_text(json.dumps(content), encoding="utf-8")
        old, new = (open_version(str(path), tmp_path) for path in paths)
        return compare_versions(old, new, [], breaking=[Level.IDS])

    return run


def special_of(report):
    (special,) = (each for each in report.consequences if each.level is Level.SPECIAL)
    return special


def flagged(document: dict[str, Any], **flags: bool) -> list[dict[str, Any]]:
    (token,) = document["added_tokens"]
    return [token | flags]


def test_a_control_token_that_becomes_ordinary_text_breaks_the_special_tokens(compare, document):
    special = special_of(compare(added_tokens=flagged(document, special=False)))
    assert (special.outcome, special.reason) == (Outcome.BROKEN, "changed: 1 control token")


@pytest.mark.parametrize("flags", [{"lstrip": True}, {"rstrip": True}])
def test_a_flag_of_a_control_token_that_gguf_cannot_express_breaks_the_special_tokens(compare, document, flags):
    report = compare(added_tokens=flagged(document, **flags))
    special = special_of(report)
    assert (special.outcome, special.reason) == (Outcome.BROKEN, "changed: 1 control token")
    assert special.witness.text == (f" {END}" if "lstrip" in flags else f"{END} ")
    assert diff_exit_code(report) == 1


@pytest.mark.parametrize("change", [lambda document: {}, lambda document: {"normalizer": {"type": "NFC"}}])
def test_special_tokens_are_compared_even_if_gguf_cannot_express_the_file(compare, document, change: Callable):
    assert special_of(compare(**change(document))).outcome is Outcome.VALID


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda document: {"added_tokens": flagged(document, special=False)}, "changed: 1 control token"),
        (lambda document: {"added_tokens": flagged(document, lstrip=True)}, "changed: 1 control token"),
        (lambda document: {"post_processor": TEMPLATE}, "changed: post_processor"),
    ],
)
def test_changed_special_tokens_are_found_even_if_gguf_cannot_express_the_file(compare, document, change, reason):
    special = special_of(compare(pre_tokenizer=WHITESPACE, **change(document)))
    assert (special.outcome, special.reason) == (Outcome.BROKEN, reason)


def test_a_space_prefix_does_not_break_the_special_tokens(compare, document):
    report = compare(pre_tokenizer=document["pre_tokenizer"] | {"add_prefix_space": True})
    assert special_of(report).outcome is Outcome.VALID


@pytest.mark.parametrize(
    "change",
    [
        {"truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}},
        {
            "padding": {
                "strategy": {"Fixed": 8},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": END,
            }
        },
    ],
)
def test_limits_that_are_turned_off_to_compare_are_never_valid(compare, change):
    report = compare(**change)
    (name,) = change
    outcomes = {each.level: each for each in report.consequences}
    for level in (Level.IDS, Level.TEXT, Level.COST):
        assert outcomes[level].outcome is Outcome.UNKNOWN
        assert outcomes[level].reason.startswith(f"{name} differs, which a comparison turns off; without it, ")
    assert diff_exit_code(report) == 2


def test_an_option_that_an_earlier_version_of_the_library_did_not_write_has_its_default(compare, document):
    earlier = {key: value for key, value in document["pre_tokenizer"].items() if key != "use_regex"}
    model = {key: value for key, value in document["model"].items() if key != "ignore_merges"}
    assert compare(pre_tokenizer=earlier, model=model).parts == ()
    assert "stages" in {part.name for part in compare(pre_tokenizer=earlier | {"use_regex": False}).parts}


def test_parts_of_two_files_with_a_stage_that_gguf_cannot_express_are_compared(document, tmp_path: Path):
    paths = tmp_path / "old.tokenizer.json", tmp_path / "new.tokenizer.json"
    for path, template in zip(paths, ("{{ a }}", "{{ b }}"), strict=True):
        path.write_text(json.dumps(document | {"normalizer": {"type": "NFC"}}), encoding="utf-8")
        config = path.with_name(path.name.replace(".json", "_config.json"))
        config.write_text(json.dumps({"chat_template": template, "eos_token": END}), encoding="utf-8")
    old, new = (open_version(str(path), tmp_path) for path in paths)
    report = compare_versions(old, new, [])
    assert [part.name for part in report.parts] == ["chat templates"]
    assert report.not_compared == ()
