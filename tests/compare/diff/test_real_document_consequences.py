"""What changes to the tokenizer.json files of real vocabularies invalidate."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from support.real_data import SHARED
from tokverify import select_cases
from tokverify.commands.tasks.diff import open_version
from tokverify.compare.diff.compare import compare_versions
from tokverify.report.diff import ACTIONS, ONLY_ROUND_TRIPS, Level, Outcome

Document = dict[str, Any]
IDS_AND_COST = {Level.IDS, Level.COST}


def set_in(*keys: str, value: object) -> Callable[[Document], None]:
    """Return a function that sets the value at a path of keys."""

    def change(document: Document) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


def flag(text: str, **flags: bool) -> Callable[[Document], None]:
    """Return a function that sets flags of an added token."""

    def change(document: Document) -> None:
        (token,) = (each for each in document["added_tokens"] if each["content"] == text)
        token.update(flags)

    return change


def drop_last_merge(document: Document) -> None:
    document["model"]["merges"].pop()


def swap_tokens(document: Document) -> None:
    vocabulary = document["model"]["vocab"]
    vocabulary["Ġthe"], vocabulary["Ġof"] = vocabulary["Ġof"], vocabulary["Ġthe"]


def add_token(document: Document) -> None:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    document["added_tokens"].append({"id": 50257, "content": "foo123", **flags})


def swap_last_merges(document: Document) -> None:
    merges = document["model"]["merges"]
    merges[-1], merges[-2] = merges[-2], merges[-1]


def keep_first_space(document: Document) -> None:
    decoder = document["decoder"]
    decoder["decoders"] = [stage for stage in decoder["decoders"] if stage["type"] != "Strip"]


CHANGES = [
    ("gpt-2", drop_last_merge, IDS_AND_COST),
    ("gpt-2", swap_tokens, {Level.VOCABULARY, Level.IDS, Level.TEXT}),
    ("gpt-2", add_token, IDS_AND_COST),
    ("gpt-2", set_in("pre_tokenizer", "add_prefix_space", value=True), {*IDS_AND_COST, Level.TEXT}),
    ("gpt-2", flag("<|endoftext|>", rstrip=True), {*IDS_AND_COST, Level.SPECIAL, Level.TEXT}),
    # Neither version returns uppercase or accents, so no round trip is lost.
    ("bert-bge", set_in("normalizer", "lowercase", value=False), IDS_AND_COST),
    ("bert-bge", set_in("normalizer", "strip_accents", value=False), IDS_AND_COST),
    ("bert-bge", set_in("normalizer", "handle_chinese_chars", value=False), IDS_AND_COST),
    ("bert-bge", set_in("model", "max_input_chars_per_word", value=5), {*IDS_AND_COST, Level.TEXT}),
    ("gemma-3", flag("<start_of_turn>", lstrip=True), {*IDS_AND_COST, Level.SPECIAL, Level.TEXT}),
    ("gemma-3", flag("<start_of_turn>", special=False), {*IDS_AND_COST, Level.SPECIAL}),
    # What NFC composed did not return unchanged before.
    ("mpt", set_in("normalizer", value=None), IDS_AND_COST),
    ("llama-spm", set_in("model", "byte_fallback", value=False), {*IDS_AND_COST, Level.TEXT}),
    ("llama-spm", swap_last_merges, set()),
    ("llama-spm", keep_first_space, {Level.TEXT}),
]


def read(name: str) -> Document:
    content: Document = json.loads(path_of(name).read_text("utf-8"))
    return content


def path_of(name: str) -> Path:
    return SHARED / "vocabs" / f"{name}.tokenizer.json"


@cache
def library(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize(
    ("vocabulary", "change", "levels"),
    [
        pytest.param(name, *rest, id=f"{index}-{name}", marks=[pytest.mark.slow] * (index % 8 > 0))
        for index, (name, *rest) in enumerate(CHANGES)
    ],
)
def test_a_change_of_a_real_document_breaks_exactly_the_expected_levels(vocabulary, change, levels, tmp_path):
    if not SHARED.is_dir():
        pytest.skip("the shared vocabularies are missing")
    document = read(vocabulary)
    change(document)
    changed = tmp_path / "new.tokenizer.json"
    changed.write_text(json.dumps(document), "utf-8")
    old, new = (open_version(str(path), tmp_path) for path in (path_of(vocabulary), changed))
    report = compare_versions(old, new, select_cases())
    assert {each.level for each in report.consequences if each.outcome is Outcome.BROKEN} == levels
    for each in report.consequences:
        if each.level in IDS_AND_COST and each.broken:
            assert_minimal(path_of(vocabulary), changed, each.level, each.witness)


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (set_in("pre_tokenizer", "add_prefix_space", value=True), ONLY_ROUND_TRIPS),
        (swap_tokens, ACTIONS[Level.TEXT]),
    ],
)
def test_stored_ids_that_decode_as_before_need_no_old_tokenizer(change, expected, tmp_path):
    if not SHARED.is_dir():
        pytest.skip("the shared vocabularies are missing")
    document = read("gpt-2")
    change(document)
    changed = tmp_path / "new.tokenizer.json"
    changed.write_text(json.dumps(document), "utf-8")
    old, new = (open_version(str(path), tmp_path) for path in (path_of("gpt-2"), changed))
    report = compare_versions(old, new, select_cases(suites=["seed"]))
    (text,) = (each for each in report.consequences if each.level is Level.TEXT)
    assert (text.outcome, text.action) == (Outcome.BROKEN, expected)


def assert_minimal(old: Path, new: Path, level: Level, witness) -> None:
    """Check with the library itself that a witness proves a level broken, and that no shorter part of it does."""

    def proves(text: str) -> bool:
        before, after = (encode(path, text, witness) for path in (old, new))
        return before != after if level is Level.IDS else len(before) != len(after)

    text = witness.text
    assert proves(text)
    assert not [shorter for at in range(len(text)) if proves(shorter := text[:at] + text[at + 1 :])]


def encode(path: Path, text: str, witness) -> list[int]:
    tokenizer = library(path)
    tokenizer.encode_special_tokens = not witness.parse_special
    ids: list[int] = tokenizer.encode(text, add_special_tokens=witness.add_special).ids
    return ids
