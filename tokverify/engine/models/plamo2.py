"""Encode with PLaMo 2: find the cheapest segmentation of a text, from its end to its beginning.

The cost of a piece is its negated score, multiplied by 10,000 and rounded. At every position, from the last to the
first, all matching pieces are tried; the total is the cost of the piece plus that of the text after it, which is
already known. If totals are equal, the longest piece is taken. A character can also be encoded as byte pieces such as
`<0x0A>`, at the cost of a piece with the score -1000.

Source: `llm_tokenizer_plamo2` in llama.cpp's `src/llama-vocab.cpp`, which looks up pieces in a table of all suffixes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from math import floor

from tokverify.engine.added_token import LONGEST, prefix_tree_pattern
from tokverify.engine.models.boundary import adjacent_pairs, split_parts
from tokverify.engine.models.longest import lengths_by_first
from tokverify.engine.rewriting import Rewriting
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.engine.trace import RIVALS, ModelTrace, Taken, Word
from tokverify.errors import BrokenFileError
from tokverify.report.explain import Candidate, Lattice, LatticeRow
from tokverify.text.utf8 import decode_leniently, encode_leniently, to_bytes

BYTE_ORDER_MARK = "\ufeff"

_TOO_HIGH = re.compile(rb"((?:\xf4[\x90-\xbf]|[\xf5-\xf7][\x80-\xbf])[\x80-\xbf]{2})")
"""What has the form of UTF-8 but represents a number above U+10FFFF."""
SPELLED = -1
UNKNOWN_COST = 10_000_000
NEVER = 20_000_000
"""A piece with this cost or more is never used."""


class Plamo2:
    """Encodes texts; `ids` and `scores` are in order of the ids, and `byte_ids` are those of type BYTE.

    subtle: in llama.cpp's table, a piece with the score -1000 looks like the end of a list. It hides all shorter pieces
    at its position, and what it hides is also missing from the lists of earlier positions. Such pieces are padding and
    rarely occur in a text; if they do, `_reaches` follows the table.

    Raises:
        BrokenFileError: If a byte has no token, or its id is 0; llama.cpp refuses both.
    """

    def __init__(
        self, ids: Mapping[str, int], scores: Sequence[float], byte_ids: Collection[int], *, overlong: bool = False
    ) -> None:
        self._overlong = overlong
        self._byte_ids = _byte_ids({piece: id for piece, id in ids.items() if id in byte_ids})
        costs = dict(zip(ids, map(_cost, scores), strict=True))
        tokens = {piece: (costs[piece], id) for piece, id in ids.items() if id not in byte_ids}
        self._pieces = list(tokens)
        self._tokens = {piece: token for piece, token in tokens.items() if token[0] < NEVER}
        self._lengths = lengths_by_first(self._tokens)
        self._hiding = {piece for piece, (cost, _) in tokens.items() if cost == UNKNOWN_COST}
        self._hides = _finder(self._hiding)

    def encode(self, text: str) -> list[int]:
        """Encode `text`, without a byte order mark at its beginning."""
        return list(self.encode_segment(text.removeprefix(BYTE_ORDER_MARK)))

    def encode_cut(self, text: str) -> list[int]:
        """Encode `text` with lone bytes, without a byte order mark at its beginning."""
        return self.encode_broken(text.removeprefix(BYTE_ORDER_MARK), self.encode_segment)

    def encode_broken(self, text: str, encode: Callable[[str], Sequence[int]]) -> list[int]:
        """Encode `text` with lone bytes, and `encode` the code points that llama.cpp reads there.

        subtle: before b11739, there were some above U+10FFFF, on which llama.cpp did not abort, because it never
        converts them back to UTF-8. No piece contains one, so that the text can be split there.
        """
        if not self._overlong:
            return list(encode(decode_leniently(to_bytes(text))))
        ids: list[int] = []
        for index, part in enumerate(_TOO_HIGH.split(to_bytes(text))):
            is_high = index % 2
            ids += map(self._byte_ids.__getitem__, part) if is_high else encode(decode_leniently(part, overlong=True))
        return ids

    def encode_segment(self, text: str) -> tuple[int, ...]:
        """Encode all of `text`."""
        return self._encode_part(text, self._reaches(text) if self._is_hiding(text) else range(len(text), 0, -1))

    def _is_hiding(self, text: str) -> bool:
        return self._hides(text)

    def trace(self, text: str) -> ModelTrace:
        """Encode `text` and record how; words are the parts that no piece can cross."""
        rewriting = Rewriting()
        rest = text.removeprefix(BYTE_ORDER_MARK)
        rewriting.replace(text[: len(text) - len(rest)], "")
        rewriting.keep(rest)
        return ModelTrace(rewriting, tuple(self.trace_segment(rest, 0) if rest else ()))

    def trace_segment(self, text: str, start: int) -> Iterator[Word]:
        """Encode all of `text`, which begins at the byte `start` and must not be empty, and record how."""
        if self._is_hiding(text):
            yield self._trace_part(text, start, self._reaches(text))
            return
        for part in split_parts(text, self._pairs):
            yield self._trace_part(part, start, range(len(part), 0, -1))
            start += len(part.encode())

    @cached_property
    def _pairs(self) -> set[str]:
        return adjacent_pairs(self._tokens)

    def _trace_part(self, part: str, shift: int, reaches: Sequence[int]) -> Word:
        places = list(accumulate((len(character.encode()) for character in part), initial=shift))
        costs = [0] * (len(part) + 1)
        rows: list[LatticeRow] = []
        for start in range(len(part) - 1, -1, -1):
            candidates = [
                Candidate(
                    (places[start], places[start + length]),
                    id,
                    self._display(part, start, id, length),
                    *weights,
                    # Such a character is encoded byte by byte.
                    is_unknown=False,
                )
                for id, length, weights in self._candidates(part, start, reaches[start], costs)
            ]
            # If totals are equal, the first and longest one is taken.
            best, *rivals = sorted(candidates, key=lambda candidate: candidate.total)
            costs[start] = int(best.total)
            rows.append(LatticeRow(best, tuple(rivals[:RIVALS]), max(0, len(rivals) - RIVALS), on_path=False))
        return _follow(rows, shift, places[-1], self._byte_ids)

    def _display(self, part: str, start: int, id: int, length: int) -> str:
        if id != SPELLED:
            return part[start : start + length]
        return "".join(f"<0x{byte:02X}>" for byte in part[start].encode())

    def _candidates(
        self, part: str, start: int, reach: int, costs: Sequence[int]
    ) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Yield the id, the length, and the cost and total of each piece that `_cheapest` considers."""
        for length in self._lengths.get(part[start], ()):
            token = self._tokens.get(part[start : start + length]) if length <= reach else None
            if token is not None:
                yield token[1], length, (token[0], token[0] + costs[start + length])
                if token[0] == UNKNOWN_COST:
                    return
        yield SPELLED, 1, (UNKNOWN_COST, UNKNOWN_COST + costs[start + 1])

    def _encode_part(self, part: str, reaches: Sequence[int]) -> tuple[int, ...]:
        costs = [0] * (len(part) + 1)
        steps = [(SPELLED, 1)] * len(part)
        for start in range(len(part) - 1, -1, -1):
            costs[start], steps[start] = self._cheapest(part, start, reaches[start], costs)
        ids: list[int] = []
        start = 0
        while start < len(part):
            id, length = steps[start]
            ids += [id] if id != SPELLED else map(self._byte_ids.__getitem__, encode_leniently(part[start]))
            start += length
        return tuple(ids)

    def _cheapest(self, part: str, start: int, reach: int, costs: Sequence[int]) -> tuple[int, tuple[int, int]]:
        """Return the cost of the part from `start` on, and the id and length of the piece to take there."""
        best: tuple[int, tuple[int, int]] | None = None
        for length in self._lengths.get(part[start], ()):
            token = self._tokens.get(part[start : start + length]) if length <= reach else None
            if token is None:
                continue
            cost = token[0] + costs[start + length]
            if best is None or cost < best[0]:
                best = cost, (token[1], length)
            if token[0] == UNKNOWN_COST:
                return best
        spelled = UNKNOWN_COST + costs[start + 1], (SPELLED, 1)
        return spelled if best is None or spelled[0] < best[0] else best

    def _reaches(self, text: str) -> list[int]:
        """Return how many characters llama.cpp's table looks ahead at each position of `text`."""
        reaches = [0] * (len(text) + 1)
        for start in range(len(text) - 1, -1, -1):
            for end in range(start + 1 + reaches[start + 1], start, -1):
                if self._is_suffix(text[start:end]):
                    reaches[start] = end - start
                    break
                if text[start + 1 : end] in self._hiding:
                    break
        return reaches

    def _is_suffix(self, text: str) -> bool:
        """Check whether a piece ends with `text`, without storing all suffixes, which takes quadratic space."""
        reversed_text = text[::-1]
        index = bisect_left(self._reversed_pieces, reversed_text)
        return index < len(self._reversed_pieces) and self._reversed_pieces[index].startswith(reversed_text)

    @cached_property
    def _reversed_pieces(self) -> list[str]:
        return sorted(piece[::-1] for piece in self._pieces)


def _finder(pieces: Collection[str]) -> Callable[[str], bool]:
    """Return a function that checks whether a text contains one of the pieces."""
    if not pieces:
        return lambda _: False
    if max(map(len, pieces)) <= LONGEST:
        search = re.compile(prefix_tree_pattern(sorted(pieces))).search
        return lambda text: search(text) is not None
    # subtle: a pattern of long pieces nests too deep for `re`.
    lengths = lengths_by_first(pieces)

    def find(text: str) -> bool:
        for start, character in enumerate(text):
            if any(text[start : start + length] in pieces for length in lengths.get(character, ())):
                return True
        return False

    return find


def _follow(rows: Sequence[LatticeRow], start: int, end: int, byte_ids: Sequence[int]) -> Word:
    """Take the best pieces from the beginning on; `rows` are in reverse order of their positions."""
    tokens: list[Taken] = []
    followed: list[LatticeRow] = []
    place = start
    for row in reversed(rows):
        best = row.best
        first, last = best.span
        on_path = first == place
        followed.append(replace(row, on_path=on_path))
        if on_path and best.id != SPELLED:
            tokens.append(Taken(best.id, first, last))
        elif on_path:
            values = (int(value, 16) for value in re.findall("<0x(..)>", best.piece))
            tokens += (
                Taken(byte_ids[value], first + index, first + index + 1, spells=True)
                for index, value in enumerate(values)
            )
        place = last if on_path else place
    return Word(start, end, tuple(tokens), Lattice("cost", tuple(reversed(followed)), None, ()))


def _cost(score: float) -> int:
    """Return the cost of a piece; a piece whose cost does not fit into 32 bits is never used."""
    scaled = abs(score) * 1e4 + 0.5
    if scaled >= 1 << 31:
        return NEVER
    magnitude = floor(scaled)
    return magnitude if score < 0 else -magnitude


def _byte_ids(byte_tokens: Mapping[str, int]) -> list[int]:
    """Return the ids of the 256 bytes; ignore tokens of type BYTE that are not of the form `<0x0A>`."""
    ids = [0] * 256
    for piece, id in byte_tokens.items():
        if BYTE_PIECE.fullmatch(piece):
            ids[int(piece[3:5], 16)] = id
    if 0 in ids:
        raise BrokenFileError(
            f"the vocabulary has no token for the byte <0x{ids.index(0):02X}>, or its id is 0; llama.cpp refuses it"
        )
    return ids
