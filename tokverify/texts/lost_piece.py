"""Make texts in which a merge makes a piece that is not a token, so that llama.cpp encodes its bytes one by one.

Such a merge is a fault only if it applies: the pre-tokenizer may never leave its two parts together.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, product

from tokverify.engine.encoder import Encoder
from tokverify.engine.piece_index import find_unmade
from tokverify.spec import pieces_made_by, split_merges
from tokverify.text.sequence import thin_out
from tokverify.text.utf8 import from_utf8

_MOST = 200
"""At most this many merges are put into texts; of more, an even sample."""
_NEIGHBORS = 16
"""How many pieces are tried on either side."""
_COMPLETIONS = 8
"""How many ways to make whole characters of the bytes of pieces are tried."""
_CONTINUATIONS = [bytes([byte]) for byte in range(0x80, 0xC0)]
_BEFORE = [b"", *(bytes([byte]) for byte in range(0xC2, 0xF5)), *(bytes([0xF0, byte]) for byte in range(0x90, 0xC0))]
_AFTER = [b"", *_CONTINUATIONS, *(byte * 2 for byte in _CONTINUATIONS), *(byte * 3 for byte in _CONTINUATIONS)]


def losing_merges(merges: Sequence[str], ids: Mapping[str, int]) -> list[str]:
    """Return the merges that make a piece that is not a token."""
    if find_unmade(merges, ids) is not None:
        return []
    known = ids.keys()
    return [merge for merge, piece in zip(merges, pieces_made_by(merges), strict=True) if piece not in known]


def make_losing_texts(actual: Encoder) -> Iterator[str]:
    """Yield texts with what such merges make, alone and beside pieces that other merges join to one of its parts."""
    merges = (actual.settings.family.is_bpe and actual.spec.merges) or ()
    losing = thin_out(losing_merges(merges, actual.settings.ids), _MOST)
    if not losing:
        return
    pairs = split_merges(losing)
    before, after = _neighbors(merges, {left for left, _ in pairs}, {right for _, right in pairs})
    for left, right in pairs:
        yield from _texts((left, right), actual)
        for first in before[left]:
            yield from _texts((first, left, right), actual)
        for last in after[right]:
            yield from _texts((left, right, last), actual)


def _neighbors(
    merges: Iterable[str], lefts: set[str], rights: set[str]
) -> tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]]:
    """Return the pieces that merges join to the left and to the right of some pieces."""
    before: dict[str, list[str]] = defaultdict(list)
    after: dict[str, list[str]] = defaultdict(list)
    for left, right in split_merges(merges):
        if right in lefts and len(before[right]) < _NEIGHBORS:
            before[right].append(left)
        if left in rights and len(after[left]) < _NEIGHBORS:
            after[left].append(right)
    return before, after


def _texts(pieces: Iterable[str], actual: Encoder) -> Iterator[str]:
    settings = actual.settings
    data = b"".join(settings.family.piece_bytes(piece, settings) for piece in pieces)
    if (text := from_utf8(data)) is not None:
        yield text
        return
    rest = data.lstrip(b"".join(_CONTINUATIONS))
    last = _find_last_part(rest)
    if last is not None:
        ways = product(_list_before(data[: len(data) - len(rest)]), _list_after(last))
        completed = (from_utf8(before + data + after) for before, after in ways)
        yield from islice(filter(None, completed), _COMPLETIONS)


def _find_last_part(data: bytes) -> bytes | None:
    """Return the first bytes of a character at the end of others; None if something before them is no text."""
    decoder = getincrementaldecoder("utf-8")()
    try:
        decoder.decode(data)
    except UnicodeDecodeError:
        return None
    return decoder.getstate()[0]


# Of damaged letters there are thousands of pieces, and few ends.
@lru_cache
def _list_before(last: bytes) -> list[bytes]:
    """Return what can stand before the last bytes of a character."""
    return [before for before in _BEFORE if from_utf8(before + last) is not None]


@lru_cache
def _list_after(first: bytes) -> list[bytes]:
    """Return what can stand after the first bytes of a character."""
    return [after for after in _AFTER if from_utf8(first + after) is not None]
