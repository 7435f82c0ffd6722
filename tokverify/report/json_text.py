"""Write JSON that people can read and `diff` can compare: short values on one line, the rest indented."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite

_MAX_LINE = 100


def write_json(document: Mapping[str, object]) -> str:
    """Write a JSON object in ASCII, so that lone surrogates survive, in the order of its keys.

    Bytes become hexadecimal strings. Infinite numbers and NaN, which JSON lacks, become strings.
    """
    try:
        return _write(dict(document), "\n") + "\n"
    except ValueError:  # an infinite number, which is rare; looking for one takes as long as writing
        return _write(_replace_infinite(dict(document)), "\n") + "\n"


def _replace_infinite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _replace_infinite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinite(item) for item in value]
    return value if not isinstance(value, float) or isfinite(value) else str(value)


def _write(value: object, line_break: str) -> str:
    """Write a value; a short one and every list of ids takes one line."""
    is_ids = _is_ids(value)
    if is_ids or _estimate_length(value) <= _MAX_LINE:
        line = _write_line(value)
        if is_ids or len(line) <= _MAX_LINE:
            return line
    inner = line_break + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_write(item, inner)}" for key, item in value.items()]
        return f"{{{inner}{f',{inner}'.join(parts)}{line_break}}}"
    if isinstance(value, list | tuple):
        return f"[{inner}{f',{inner}'.join(_write(item, inner) for item in value)}{line_break}]"
    return _write_line(value)


def _write_line(value: object) -> str:
    return json.dumps(value, allow_nan=False, default=bytes.hex)


def _estimate_length(value: object) -> int:
    """Return a lower bound of a value's length on one line, after a look at a few of its parts."""
    if isinstance(value, str | bytes):
        return len(value) + 2
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    if not isinstance(items, list | tuple):
        return 1
    length = 0
    for item in items:
        length += _estimate_length(item) + 2
        if length > _MAX_LINE + 2:
            break
    return length


def _is_ids(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, int) for item in value)
