"""Frames: the letters around the text of a token in a probe, and packs of many probes in one text.

A pack need not be divided into probes again. A token that is matched in the text before the model runs stands between
the last id of what precedes it and the first id of what follows it. If these three ids do not occur in a row anywhere
in the ids of a pack, the token was not matched in its own probe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

from tokverify.engine.encoder import Encoder
from tokverify.text.sequence import pack
from tokverify.text.utf8 import encode_leniently
from tokverify.texts.batch import Queries

Texts = Sequence[str | None]

CHARACTERS = 4000
"""The approximate length of a pack."""

_ENDING = 32
"""One of so many texts ends a group that is long enough."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the text of a token."""

    before: str
    after: str

    @property
    def between(self) -> str:
        """What stands between the texts of two tokens."""
        return f"{self.after} {self.before}"

    def surround(self, texts: Iterable[str]) -> str:
        """Return the pack of the probes of several tokens."""
        return self.between + self.between.join(texts) + self.between

    def edges(self, queries: Queries) -> tuple[int, int] | None:
        """Return the ids before and after a matched token; None if the frame cannot be encoded."""
        ids = queries.encode(self.between)
        return (ids[-1], ids[0]) if ids else None


FRAMES = (Frame("q", "q"), Frame("e", "e"), Frame("s", "s"), Frame("t", "i"), Frame("Z", "y"), Frame("中", "中"))
"""Letters that take part in many merges: few ordinary tokens stay whole in all of them."""


def make_packs(ids: Iterable[int], texts: Sequence[str | None]) -> Iterator[list[int]]:
    """Group tokens into packs of about `CHARACTERS`."""
    between = len(FRAMES[0].between)
    return pack(ids, lambda id: len(texts[id] or "") + between, CHARACTERS)


def pack_texts(texts: Iterable[str]) -> Iterator[list[str]]:
    """Group texts so that each group, joined by one character, has `CHARACTERS` or more, up to about twice as many.

    Where a group ends depends on the text there, so that of similar texts, most groups are the same.
    """
    group: list[str] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text) + 1
        if size >= CHARACTERS and (size >= 2 * CHARACTERS or crc32(encode_leniently(text)) % _ENDING == 0):
            yield group
            group, size = [], 0
    if group:
        yield group


def find_unreachable(queries: Queries, hypothesis: Encoder, texts: Texts, ids: Sequence[int]) -> frozenset[int]:
    """Return those tokens among `ids` whose own text the hypothesis encodes to them, and the reference does not.

    Only tokens in packs that are encoded differently are examined one by one.
    """
    own = Queries(hypothesis)
    packs = list(make_packs([id for id in ids if texts[id]], texts))
    probes = [FRAMES[0].surround(texts[id] or "" for id in pack) for pack in packs]
    encodings = zip(packs, queries.encode_all(probes), own.encode_all(probes), strict=True)
    suspects = [id for pack, theirs, ours in encodings if theirs != ours for id in pack]
    alone = [texts[id] or "" for id in suspects]
    answers = zip(suspects, queries.encode_all(alone), own.encode_all(alone), strict=True)
    return frozenset(id for id, theirs, ours in answers if id in (ours or ()) and id not in (theirs or ()))
