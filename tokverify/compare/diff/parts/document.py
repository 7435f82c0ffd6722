"""Compare two tokenizer.json files directly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tokverify.compare.diff.parts.declared import compare_entries, compare_values
from tokverify.compare.diff.parts.tokens import compare_ranks
from tokverify.compare.diff.version import Version
from tokverify.report.diff import PartChange
from tokverify.sources.huggingface.document import STAGES, normalize_stages, read_outline
from tokverify.sources.huggingface.tables import tables_of
from tokverify.tokenizer import DocumentHolding

_PARTS = (*STAGES, "truncation", "padding")


def read_documents(old: Version, new: Version, *, has_tables: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the contents of two tokenizer.json files; nothing if one of the two is another file.

    With `has_tables`, they contain the vocabularies and merges of their models, which take most of the time.
    """
    before, after = old.tokenizer, new.tokenizer
    if not (isinstance(before, DocumentHolding) and isinstance(after, DocumentHolding)):
        return {}, {}
    if not has_tables:
        return read_stages(old), read_stages(new)
    return json.loads(before.tokenizer_json()), json.loads(after.tokenizer_json())


def read_stages(version: Version) -> dict[str, Any]:
    """Return what a tokenizer.json contains besides the tables of its model; nothing for other files."""
    if not isinstance(version.tokenizer, DocumentHolding):
        return {}
    return read_outline(version.tokenizer.tokenizer_json(), version.tokenizer.name, tables_of(version.tokenizer))


def compare_stages(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[PartChange]:
    """Yield the stages of the pipeline whose definition changed; an option that a file leaves out has its default."""
    yield from compare_values(_list_stages(old), _list_stages(new))


def _list_stages(document: Mapping[str, Any]) -> dict[str, str | None]:
    stages = normalize_stages(document)
    # An option of a model that is off may be left out. 0 is the id of a token.
    model = {
        key: value
        for key, value in document["model"].items()
        if key not in {"vocab", "merges"} and not (value is None or value is False or value == "")
    }
    return {name: _format_json(stages.get(name)) for name in _PARTS} | {"model": _format_json(model)}


def _format_json(value: Any) -> str | None:  # noqa: ANN401 - any JSON value
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _compare_merges(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[PartChange]:
    yield from compare_ranks(_list_merges(old), _list_merges(new))


def _list_merges(document: Mapping[str, Any]) -> list[str]:
    # Depending on the version of the library, a merge is written as "a b" or ["a", "b"].
    merges = document["model"].get("merges") or ()
    return [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]


def _compare_scores(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[PartChange]:
    before, after = (document["model"].get("vocab") for document in (old, new))
    # The vocabulary of unigram is a list of pairs; others have no scores.
    if not isinstance(before, list) or not isinstance(after, list):
        return
    scores = dict(after)
    for piece, was in before:
        if piece in scores and was != scores[piece]:
            yield PartChange("changed", piece, f"{was:g}", f"{scores[piece]:g}")


def _compare_added_tokens(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[PartChange]:
    yield from compare_entries(_list_flags(old), _list_flags(new))


def _list_flags(document: Mapping[str, Any]) -> dict[str, object]:
    """Map the text of each added token to the names of the flags that are set."""
    entries = document.get("added_tokens") or ()
    return {entry["content"]: ", ".join(sorted(name for name in entry if entry[name] is True)) for entry in entries}


ADDED_TOKENS = "added tokens"
"""The part that two tokenizer.json files show themselves: GGUF cannot express all flags of an added token."""

DOCUMENT_PARTS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Iterable[PartChange]]] = {
    "scores": _compare_scores,
    "merges": _compare_merges,
    ADDED_TOKENS: _compare_added_tokens,
}
"""Name -> how to compare a part of two tokenizer.json files, one of which a GGUF file cannot express."""
