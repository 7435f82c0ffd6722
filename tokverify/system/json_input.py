"""Parse JSON from files and servers within limits: a small document must not become gigabytes of objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

MAX_MEMORY = 1 << 30
"""The limit for the estimated memory of the objects of one document, in bytes."""

# What CPython needs for one object and a list, and for a pair of quotes with the text between them or another value.
_COSTS = {b"{": 240, b"[": 88, b'"': 40, b",": 40}
_UNMARKED = bytes(byte for byte in range(256) if bytes([byte]) not in _COSTS)
# Text takes up to four bytes a character, and is there twice while it is parsed: as a document and as its values.
_COST_OF_BYTE = 8


class JsonError(ValueError):
    """A document is not valid JSON, or is too large; the message never quotes the document."""


def parse_json(data: bytes, *, max_memory: int = MAX_MEMORY, parse_constant: Callable[[str], Any] | None = None) -> Any:  # noqa: ANN401 - JSON is anything
    """Parse a document, given as UTF-8, UTF-16 or UTF-32.

    Args:
        data: The document.
        max_memory: The limit for the estimated memory, in bytes.
        parse_constant: What makes a value of `NaN` and the infinities, as for `json.loads`.

    Raises:
        JsonError: If it is not JSON, nests too deep for Python, holds an integer of thousands of digits, or is too
            large.
    """
    needed = estimate_memory(data)
    if needed > max_memory:
        raise JsonError(f"would need about {needed >> 20:,} MiB of memory; the limit is {max_memory >> 20:,} MiB")
    try:
        return json.loads(data, parse_constant=parse_constant)
    except json.JSONDecodeError as error:
        # subtle: msg is one of the library's fixed phrases; other attributes hold the document.
        raise JsonError(f"{error.msg} on line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise JsonError(f"byte 0x{error.object[error.start]:02X} at offset {error.start:,} is not text") from None
    except RecursionError:
        raise JsonError("nested too deep") from None
    except JsonError:
        raise
    except ValueError as error:
        # The only other error of Python is about very long integers, and comes with advice for programmers.
        raise JsonError("a number has too many digits" if "digits" in str(error) else str(error)) from None


def estimate_memory(data: bytes) -> int:
    """Return how many bytes of memory a document takes at most once it is parsed."""
    # Counting each mark in all of a large document would take twice as long.
    marks = data.translate(None, _UNMARKED)
    return _COST_OF_BYTE * len(data) + sum(cost * marks.count(mark) for mark, cost in _COSTS.items())
