"""Encode with the unigram model: find the most probable segmentation of a text with the Viterbi algorithm.

The score of a piece is the logarithm of its probability, so the most probable segmentation is the one with the greatest
sum of scores. From left to right, the best sum for the text up to a position is the maximum, over all pieces that end
there, of the piece's score plus the best sum for the text before it. If sums are equal, the longest last piece wins. A
character that is not a piece is an unknown token with a score below all others; runs of these become one token.

    pieces      a -1    b -2    ab -2.5    bc -1    and the unknown c -12.5
    up to a     -1
    up to b     -2.5    ab, because a + b is -3
    up to c     -2      a + bc, because ab + c is -15

Source: `llm_tokenizer_ugm` and `llm_tokenizer_ugm_session::tokenize` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, chain, compress
from math import isfinite

from tokverify.engine.attribute import Attribute, find_bits
from tokverify.engine.charsmap import Charsmap
from tokverify.engine.family import NO_TOKEN, Settings
from tokverify.engine.models.boundary import adjacent_pairs, split_parts
from tokverify.engine.models.lattice_trace import LOWEST, LatticeTracer
from tokverify.engine.models.longest import lengths_by_first
from tokverify.engine.models.symbol import Symbols
from tokverify.engine.models.unigram_normalizer import UnigramNormalizer
from tokverify.engine.nfc import cut_to_nfc, to_nfc, trace_nfc
from tokverify.engine.rewriting import Rewriting, unchanged
from tokverify.engine.trace import ModelTrace, Taken, Word
from tokverify.errors import BrokenFileError, EncodeError
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type
from tokverify.text.utf8 import to_bytes, to_text

Token = tuple[int, float]

ONE = (1,)
FLOAT_MAX = (2 - 2**-23) * 2.0**127
UNKNOWN_PENALTY = 10.0
DEFAULT_UNKNOWN_ID = 2
IS_NORMAL = TokenType.NORMAL.value.__eq__
MATCHED = frozenset(type.value for type in (TokenType.NORMAL, TokenType.USER_DEFINED, TokenType.UNUSED))

_SHORT = 16
"""In symbols."""


class Unigram:
    """Encodes texts; `tokens` maps pieces to ids and scores, and `unknown` is the id and score of other characters."""

    def __init__(
        self, tokens: Mapping[str, Token], unknown: Token, normalizer: UnigramNormalizer, *, nfc: bool = False
    ) -> None:
        self._nfc = nfc
        self._normalizer = normalizer
        self._symbols = Symbols()
        self._tokens = dict(zip(self._symbols.of_pieces(tokens), tokens.values(), strict=True))
        self.unknown = unknown

    def encode(self, text: str) -> list[int]:
        """Encode `text`, which may be empty once it is normalized.

        Raises:
            EncodeError: If the needed part of the charsmap is damaged; llama.cpp aborts there.
        """
        text = to_nfc(text) if self._nfc else text
        return self._encode_symbols(self._symbols.of_text(self._normalizer.normalize(text)))

    def trace(self, text: str) -> ModelTrace:
        """Encode `text` and record how; words are the parts that no piece can cross, and sums continue across them."""
        return self._trace(to_nfc(text) if self._nfc else text, trace_nfc(text) if self._nfc else unchanged(text))

    def trace_cut(self, text: str) -> ModelTrace:
        """Encode `text` with lone bytes and record how; no step of NFC is shown."""
        composing = Rewriting()
        composed = cut_to_nfc(text) if self._nfc else text
        composing.replace(text, composed)
        return self._trace(composed, composing)

    def _trace(self, text: str, composing: Rewriting) -> ModelTrace:
        rewriting = composing.then(self._normalizer.trace(text))
        normalized = to_text(rewriting.result)
        symbols = self._symbols.of_text(normalized)
        places = list(accumulate(self._symbols.sizes(normalized), initial=0))
        # subtle: non-finite scores leave positions without a sum, from which llama.cpp jumps to the beginning.
        is_finite = all(isfinite(score) for _, score in [self.unknown, *self._tokens.values()])
        parts = split_parts(symbols, self._pairs) if is_finite else [symbols]
        tracer = LatticeTracer(self._tokens, self.unknown, self._sizes, rewriting.result)
        words: list[Word] = []
        total, start = 0.0, 0
        for part in filter(None, parts):
            word, total = tracer.trace(part, places[start : start + len(part) + 1], total)
            words.append(word)
            start += len(part)
        merged = tuple(_merge_unknown(words, self.unknown[0]))
        return ModelTrace(rewriting, merged, walks=self._normalizer.walks(text))

    def encode_cut(self, text: str) -> list[int]:
        """Encode `text` with lone bytes.

        Raises:
            EncodeError: As for `encode`.
        """
        text = cut_to_nfc(text) if self._nfc else text
        return self._encode_symbols(self._symbols.of_text(self._normalizer.normalize(text)))

    @cached_property
    def lengths(self) -> dict[str, list[int]]:
        """The first symbols of pieces, with the lengths of these pieces in symbols, and 1."""
        pieces = list(filter(None, self._tokens))
        return lengths_by_first(chain(pieces, {piece[0] for piece in pieces}))

    def change_pieces(
        self, old: Mapping[int, str], new: Mapping[int, tuple[str, float]]
    ) -> tuple[Symbols, dict[str, Token]]:
        """Return symbols, and the ids and scores of pieces by their symbols, for a model with other pieces.

        Args:
            old: Pieces that are removed, by id, if the model uses them.
            new: Pieces that are added, with their scores, by ascending id; of equal ones, the last counts.
        """
        symbols, tokens = deepcopy(self._symbols), self._tokens.copy()
        for id, piece in old.items():
            text = symbols.of_text(piece)
            if text in tokens and tokens[text][0] == id:
                del tokens[text]
        texts = symbols.of_pieces([piece for piece, _ in new.values()])
        for text, (id, (_, score)) in zip(texts, new.items(), strict=True):
            if text not in tokens or tokens[text][0] < id:
                tokens[text] = (id, score)
        return symbols, tokens

    @cached_property
    def _pairs(self) -> set[str]:
        return adjacent_pairs(self._tokens)

    @cached_property
    def _sizes(self) -> dict[str, tuple[int, ...]]:
        return _sizes(self._tokens)

    def _encode_symbols(self, symbols: str) -> list[int]:
        """Find the best segmentation."""
        length = len(symbols)
        totals = [0.0] + [LOWEST] * length
        starts = [0] * (length + 1)
        ids = [self.unknown[0]] * (length + 1)
        tokens = self._tokens.get
        # To sort all pieces by their beginnings takes longer than to try all lengths in a short text.
        sizes = self._sizes.get if length > _SHORT else lambda *_: range(1, length + 1)
        for start in range(length):
            before = totals[start]
            for size in sizes(symbols[start : start + 2], ONE):
                end = start + size
                if end > length:
                    break
                token = tokens(symbols[start:end]) or (self.unknown if size == 1 else None)
                if token is not None and before + token[1] > totals[end]:
                    totals[end], starts[end], ids[end] = before + token[1], start, token[0]
        return merge_runs(_trace_back(ids, starts), self.unknown[0]) if symbols else []


def _trace_back(ids: Sequence[int], starts: Sequence[int]) -> list[int]:
    """Follow the best last pieces from the end of the text to its beginning."""
    end = len(ids) - 1
    taken = [ids[end]]
    while starts[end]:
        end = starts[end]
        taken.append(ids[end])
    return taken[::-1]


def merge_runs(ids: Sequence[int], unknown: int) -> list[int]:
    """Combine each run of unknown tokens into one."""
    if unknown not in ids:
        return list(ids)
    return [id for id, before in zip(ids, chain([None], ids), strict=False) if id != unknown or before != unknown]


def _merge_unknown(words: Iterable[Word], unknown: int) -> list[Word]:
    """Combine each run of unknown tokens into one, which belongs to the word where it begins."""
    kept: list[list[Taken]] = []
    last: list[Taken] = []
    traced = list(words)
    for word in traced:
        kept.append([])
        for token in word.tokens:
            if last and token.id == unknown == last[-1].id:
                last[-1] = replace(last[-1], end=token.end)
            else:
                last = kept[-1]
                last.append(token)
    return [replace(word, tokens=tuple(tokens)) for word, tokens in zip(traced, kept, strict=True)]


def _sizes(pieces: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Map the first two symbols of pieces to the sizes of these pieces, and 1, in ascending order."""
    sizes: dict[str, set[int]] = {}
    for start, size in {(piece[:2], len(piece)) for piece in pieces if len(piece) > 1}:
        sizes.setdefault(start, {1}).add(size)
    return {start: tuple(sorted(lengths)) for start, lengths in sizes.items()}


def make_unigram(spec: TokenizerSpec, settings: Settings) -> Unigram:
    """Build the model from the declared tokenizer and its effective settings.

    Raises:
        BrokenFileError: If llama.cpp refuses the file.
    """
    # subtle: declared types determine which pieces are used, and effective types which of them have the score 0.
    pieces, types = settings.pieces, spec.types or [TokenType.NORMAL] * len(settings.pieces)
    scores = array("f", spec.scores or [0.0] * len(pieces))
    unknown = unknown_score(compress(scores, map(IS_NORMAL, types)))
    for id in find_bits(settings.attributes, Attribute.USER_DEFINED):
        scores[id] = 0.0
    tokens = dict(compress(zip(pieces, enumerate(scores), strict=True), map(MATCHED.__contains__, types)))
    normalizer = UnigramNormalizer(
        Charsmap(spec.charsmap) if spec.charsmap is not None else None,
        [to_bytes(pieces[id]) for id in ids_of_type(types, TokenType.USER_DEFINED)],
        merges_spaces=settings.remove_extra_whitespaces,
        prefixes_space=settings.add_space_prefix,
        overlong=settings.decodes_overlong,
    )
    model = Unigram(tokens, (settings.special_ids.get("unk", NO_TOKEN), unknown), normalizer, nfc=settings.nfc)
    if len(pieces) > DEFAULT_UNKNOWN_ID:
        _encode_newline(model)
    elif DEFAULT_UNKNOWN_ID in _encode_newline(Unigram(tokens, (DEFAULT_UNKNOWN_ID, unknown), normalizer)):
        raise BrokenFileError("the vocabulary is too small: it has no token for a newline; llama.cpp refuses the file")
    return model


def unknown_score(normal_scores: Iterable[float]) -> float:
    """Return the score of a character that is not a piece, given those of all normal pieces."""
    # subtle: a minimum that begins with a number ignores NaN.
    lowest = min(chain([FLOAT_MAX], normal_scores))
    return array("f", [lowest - UNKNOWN_PENALTY])[0]


def _encode_newline(model: Unigram) -> list[int]:
    """Return llama.cpp's newline token, determined on loading before it reads special ids; it may be missing."""
    try:
        return model.encode("\n")[:1]
    except EncodeError as error:
        raise BrokenFileError(f"{error}, on loading the file") from None
