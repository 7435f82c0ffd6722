"""JSON, for machines: what the `json` formats of all reports are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING

from tokverify.report.saved import SCHEMA_VERSIONS
from tokverify.text.visible import code_points

if TYPE_CHECKING:
    from tokverify.report.difference import Difference
    from tokverify.report.run import Side
    from tokverify.tokenizer import Token

_MAX_LINE = 100


def header(kind: str) -> dict[str, object]:
    """Return the keys that say what a report is."""
    return {"schema_version": SCHEMA_VERSIONS[kind], "kind": kind}


def write(document: Mapping[str, object]) -> str:
    """Write a JSON object in ASCII, so that lone surrogates survive, in the order of its keys.

    Infinite numbers, which JSON lacks, become strings.
    """
    try:
        return _write(dict(document), "\n") + "\n"
    except ValueError:  # an infinite number, which is rare; looking for it takes as long as writing
        return _write(_finite(dict(document)), "\n") + "\n"


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value if not isinstance(value, float) or isfinite(value) else str(value)


def _write(value: object, line_break: str) -> str:
    """Write JSON with what is short, and every list of ids, on one line."""
    is_ids = _is_ids(value)
    if is_ids or _least_length(value) <= _MAX_LINE:
        line = json.dumps(value, allow_nan=False)
        if is_ids or len(line) <= _MAX_LINE:
            return line
    inner = line_break + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_write(item, inner)}" for key, item in value.items()]
        return f"{{{inner}{f',{inner}'.join(parts)}{line_break}}}"
    if isinstance(value, list):
        return f"[{inner}{f',{inner}'.join(_write(item, inner) for item in value)}{line_break}]"
    return json.dumps(value)


def _least_length(value: object) -> int:
    """Return how long a value is on one line, or less, by a look at a few of its parts."""
    if isinstance(value, str):
        return len(value) + 2
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    if not isinstance(items, list):
        return 1
    length = 0
    for item in items:
        length += _least_length(item) + 2
        if length > _MAX_LINE + 2:
            break
    return length


def _is_ids(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, int) for item in value)


def side_object(side: Side) -> dict[str, object]:
    """Return a side."""
    return {
        "name": side.name,
        "source": side.source,
        "reason": side.reason,
        "caveat": side.caveat,
        "aliases": list(side.aliases),
        "family": side.family,
        "sha256": side.sha256,
        "fingerprint": side.fingerprint,
        "settings": dict(side.settings),
        "overrides": list(side.overrides),
    }


def difference_object(difference: Difference) -> dict[str, object]:
    """Return where two tokenizations part, and all of both."""
    first, shown = difference.first, difference.excerpt
    return {
        "first": {
            "token_index": first.token_index,
            "byte_offset": first.byte_offset,
            "before": shown.before,
            "actual": code_points(shown.actual),
            "expected": code_points(shown.expected),
        },
        "blocks": [
            {"equal": block.equal, "actual": token_objects(block.actual), "expected": token_objects(block.expected)}
            for block in difference.blocks
        ],
    }


def token_objects(tokens: Sequence[Token]) -> list[Mapping[str, object]]:
    """Return tokens."""
    return list(map(token_object, tokens))


# The same few tokens come again and again; a dictionary for each would fill the memory.
@lru_cache(maxsize=10_000)
def token_object(token: Token) -> Mapping[str, object]:
    """Return a token."""
    return {"id": token.id, "piece": token.piece, "bytes": token.token_bytes.hex()}


def bytes_object(data: bytes) -> dict[str, str]:
    """Return bytes as text, as far as they are UTF-8, and exactly."""
    return {"text": data.decode("utf-8", "replace"), "bytes": data.hex()}
