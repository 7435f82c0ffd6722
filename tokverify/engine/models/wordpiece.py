"""Encode with WordPiece, BERT's algorithm, which takes the longest piece at each position of a word.

The text is normalized and split into words. Each word gets a `▁` before it; from its beginning on, the longest matching
piece of the vocabulary is taken repeatedly. If no piece matches, the whole word becomes one unknown token.

Source: `llm_tokenizer_wpm_session` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from tokverify.engine.models.longest import LongestPiece
from tokverify.engine.normalizer import split_at_spaces, word_normalizer
from tokverify.engine.rewriting import Rewriting
from tokverify.engine.trace import ModelTrace, PreToken, Taken, Word
from tokverify.report.explain import Matching
from tokverify.text.utf8 import encode_leniently, to_bytes

WORD_START = "▁".encode()


class WordPiece:
    """Encodes texts; `unknown_id` represents every word that cannot be composed of pieces."""

    def __init__(
        self,
        ids: Mapping[str, int],
        unknown_id: int,
        *,
        lowercase: bool,
        strip_accents: bool,
        keeps_marks: bool = False,
    ) -> None:
        # subtle: llama.cpp compares bytes, so a piece that is not UTF-8 can match a part of a character.
        self._longest = LongestPiece({to_bytes(piece): id for piece, id in ids.items()})
        self._unknown_id = unknown_id
        self._normalize = word_normalizer(lowercase=lowercase, strip_accents=strip_accents, keeps_marks=keeps_marks)

    def encode(self, text: str) -> list[int]:
        """Encode `text`."""
        return list(chain.from_iterable(map(self._encode_word, split_at_spaces(self._normalize(text)))))

    def trace(self, text: str) -> ModelTrace:
        """Encode `text` and record how; its words are the pre-tokens."""
        rewriting = Rewriting()
        for character in text:
            self._rewrite(character, rewriting)
        normalized = rewriting.result.decode()
        words = []
        place = end = 0
        for index, word in enumerate(split_at_spaces(normalized)):
            begin = normalized.index(word, place)
            start = end + len(normalized[place:begin].encode())
            words.append(self._trace_word(word, start, index))
            place, end = begin + len(word), words[-1].end
        return ModelTrace(rewriting, tuple(words), tuple(PreToken(word.start, word.end) for word in words))

    def _rewrite(self, character: str, rewriting: Rewriting) -> None:
        after = self._normalize(character)
        bare = after.strip(" ")
        if bare and bare != after:
            # Spaces around punctuation only mark where to split.
            rewriting.replace("", " ", noted=False)
            rewriting.replace(character, bare)
            rewriting.replace("", " ", noted=False)
        else:
            rewriting.replace(character, after)

    def _trace_word(self, word: str, start: int, index: int) -> Word:
        data = WORD_START + word.encode()
        shift = start - len(WORD_START)
        end = shift + len(data)
        attempts = []
        tokens = []
        place = 0
        while place < len(data):
            attempts.append(self._longest.attempt(data, place))
            piece = self._longest.at(data, place)
            if piece is None:
                matching = Matching(tuple(attempts), complete=False)
                return Word(start, end, (Taken(self._unknown_id, start, end),), matching, index)
            tokens.append(Taken(piece[0], max(start, shift + place), max(start, shift + piece[1])))
            place = piece[1]
        return Word(start, end, tuple(tokens), Matching(tuple(attempts), complete=True), index)

    def _encode_word(self, word: str) -> tuple[int, ...]:
        rest = WORD_START + encode_leniently(word)
        ids = []
        start = 0
        while start < len(rest):
            piece = self._longest.at(rest, start)
            if piece is None:
                return (self._unknown_id,)
            id, start = piece
            ids.append(id)
        return tuple(ids)
