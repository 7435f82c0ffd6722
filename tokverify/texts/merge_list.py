"""Compare the merges of a GGUF file with those of a tokenizer.json without making objects of either.

Gemma 4 has 514,000 merges: to parse them takes longer than to verify all shipped cases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from tokverify.engine.joined_strings import join

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_ESCAPED = '\\"' + "".join(map(chr, range(1, 32)))
_ESCAPES = {character.encode(): json.dumps(character)[1:-1].encode() for character in _ESCAPED}
"""The characters that JSON escapes; the backslash comes first, because the other escapes contain it."""
_PAIRS = b"[["


class _Model(msgspec.Struct):
    merges: msgspec.Raw


class _Document(msgspec.Struct):
    model: _Model


def has_same_merges(merges: Sequence[str], document: bytes) -> bool:
    """Whether a tokenizer.json certainly lists these merges, each with a space between its pieces, in this order.

    Merges that are equal but written in an unusual way count as different, too.
    """
    try:
        written = bytes(msgspec.json.decode(document, type=_Document).model.merges)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return bool(merges) and _write_like(written, join(merges)) == written


def _write_like(written: bytes, joined: bytes) -> bytes:
    """Return merges, joined with NUL, as JSON with the same whitespace and brackets as those already written."""
    strings = [match.span() for _, match in zip(range(3), _STRING.finditer(written), strict=False)]
    if len(strings) < 2:  # noqa: PLR2004 - there is nothing to learn the whitespace from
        return b""
    gaps = [written[start - 1 : end + 1] for (_, start), (end, _) in pairwise(strings)]
    for character, escape in _ESCAPES.items():
        joined = joined.replace(character, escape)
    before, after = written[: strings[0][0] + 1], written[written.rfind(b'"') :]
    if b"".join(before.split()).startswith(_PAIRS):
        joined = joined.replace(b" ", gaps[0])
    return before + joined.replace(b"\0", gaps[-1]) + after
