"""Encode like the C++ hybrid tokenizer: take words that are pieces whole, and merge all others from bytes by rank.

A piece that continues a word begins with `##`, so it differs from a piece that begins a word. Internally it is the
reverse: the first byte of a word is represented by a separate character, which the merge loop treats like any other.

Source: the model BPE of HuggingFace's `tokenizers`, with `ignore_merges` and `continuing_subword_prefix`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from tokverify.engine.byte_level import byte_alphabet, to_byte_level
from tokverify.engine.models.boundary import split_parts
from tokverify.engine.models.cpp import pattern as cpp_pattern
from tokverify.engine.models.cpp.spacing import continues
from tokverify.engine.models.cpp.vocabulary import CONTINUATION, MARKERS
from tokverify.engine.models.merge import merge
from tokverify.engine.models.merge_trace import MergeRules, convert_symbols, trace_word
from tokverify.engine.normalizer import split_at_spaces
from tokverify.engine.rewriting import Rewriting
from tokverify.engine.trace import ModelTrace, PreToken, Taken, Whole, Word

_FIRST = 0xE000
"""Added to the character of the byte-level alphabet that begins a word; the result is a private-use character."""
_ALPHABET = frozenset(byte_alphabet().values())


class CppHybrid:
    """Encodes lines; `merges` are in order of rank, each a pair joined by a space.

    A byte that is not a piece becomes `unknown_id`, or is dropped if that is None.
    """

    def __init__(self, ids: Mapping[str, int], merges: Sequence[str], unknown_id: int | None) -> None:
        self._ids = ids
        self._symbol_ids = {_symbol(piece): id for piece, id in ids.items() if _can_match(piece)}
        self._unknown = () if unknown_id is None else (unknown_id,)
        self._ranks = {f"{left} {right}": rank for rank, (left, right) in enumerate(_pairs(merges))}
        self._pairs = {left[-1] + right[0] for left, right in _pairs(merges)}

    def encode(self, text: str) -> list[int]:
        """Encode a line; spaces are dropped."""
        chunks = cpp_pattern.split(cpp_pattern.rewrite(text))
        return list(chain.from_iterable(map(self._encode_chunk, chunks)))

    def _encode_chunk(self, chunk: str) -> tuple[int, ...]:
        return tuple(chain.from_iterable(map(self._encode_word, split_at_spaces(chunk))))

    def _encode_word(self, word: str) -> Iterable[int]:
        piece = to_byte_level(word)
        if piece in self._ids:
            return (self._ids[piece],)
        symbols = merge(list(_mark_first(piece)), self._ranks, " ")
        return chain.from_iterable(map(self._symbol_id, symbols))

    def _symbol_id(self, symbol: str) -> Sequence[int]:
        id = self._symbol_ids.get(symbol)
        return self._unknown if id is None else (id,)

    def trace(self, text: str) -> ModelTrace:
        """Encode a line and record how; a word is a pre-token, or a part of one that no merge can cross."""
        rewriting = _rewriting(text)
        rewritten = rewriting.result.decode()
        words: list[Word] = []
        pre_tokens: list[PreToken] = []
        place = 0
        for word in cpp_pattern.words(text):
            begin = rewritten.index(word, place)
            start = pre_tokens[-1].end + len(rewritten[place:begin].encode()) if pre_tokens else begin
            place = begin + len(word)
            words += self._trace(to_byte_level(word), start, len(pre_tokens))
            pre_tokens.append(PreToken(start, words[-1].end))
        return ModelTrace(rewriting, tuple(words), tuple(pre_tokens))

    def _trace(self, piece: str, start: int, index: int) -> Iterator[Word]:
        if piece in self._ids:
            end = start + len(piece)
            how = Whole("words that are pieces are taken whole")
            yield Word(start, end, (Taken(self._ids[piece], start, end),), how, index)
            return
        rules = MergeRules("rank", self._ranks, " ", self._symbol_ids, lambda _: self._unknown, byte_level=True)
        for part in split_parts(_mark_first(piece), self._pairs):
            traced = convert_symbols(trace_word(part, start, rules, index), _unmark)
            yield traced
            start = traced.end


def _can_match(piece: str) -> bool:
    return bool(piece) and _ALPHABET.issuperset(piece)


def _pairs(merges: Sequence[str]) -> Iterator[tuple[str, str]]:
    for left, _, right in (pair.partition(" ") for pair in merges):
        if _can_match(left) and _can_match(right) and continues(right):
            yield _symbol(left), _symbol(right)


def _symbol(piece: str) -> str:
    return piece.removeprefix(CONTINUATION) if continues(piece) else _mark_first(piece)


def _mark_first(word: str) -> str:
    return chr(_FIRST + ord(word[0])) + word[1:]


def _rewriting(text: str) -> Rewriting:
    """Record how a line is rewritten: the piece for a diff marker, and inserted spaces."""
    rewriting = Rewriting()
    rewritten = cpp_pattern.rewrite(text)
    marker = next((marker for marker in MARKERS if rewritten.startswith(marker)), "")
    rewriting.replace(text[: bool(marker)], marker)
    place = len(marker)
    for character in text[bool(marker) :]:
        added = "" if rewritten[place] == character else rewritten[place]
        rewriting.replace("", added)
        rewriting.keep(character)
        place += len(added) + 1
    return rewriting


def _unmark(symbol: str) -> str:
    """Write the first byte of a word like all others."""
    first = ord(symbol[0])
    return chr(first - _FIRST) + symbol[1:] if first >= _FIRST else symbol
