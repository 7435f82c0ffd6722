"""Encode the text of every token with both sides, many in one text, and bisect the texts whose ids differ.

A merge or a score may matter for a single token, or only where two tokens compete, which no sample of texts contains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from tokverify.case import Case
from tokverify.compare.comparison import compare_cases
from tokverify.compare.ranking_difference import moved_tokens
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Ranking
from tokverify.report.run import FAILING
from tokverify.spec import TokenizerSpec
from tokverify.texts.competing_text import CompetingTexts, rank_alike
from tokverify.texts.frame import pack_texts
from tokverify.texts.target_text import SUITE, split_texts
from tokverify.tokenizer import Tokenizer

_MOST_MOVED = 1_000
"""If more tokens rank in another order, all joins are looked at."""
_MOST = 32
"""At most this many texts that differ are bisected at a time."""


class EveryToken:
    """Compares all tokens of tokenizers with a reference.

    Args:
        expected: The reference.
        declared: What it declares, if anything.
    """

    def __init__(self, expected: Tokenizer, declared: TokenizerSpec | None = None) -> None:
        self._expected = expected
        self._declared = declared
        self._competing = CompetingTexts(declared)
        self._made: tuple[TokenizerSpec | None, Sequence[str]] = (None, ())
        """The tokenizer for which competing texts were made last, and these."""

    def differing_cases(self, actual: Encoder) -> list[Case]:
        """Return cases for texts that both sides encode differently; at most `_MOST`.

        They are the texts of all tokens, of competing ones, and those that pre-tokenizers split in different places.

        Tokens that are matched before the model runs are left out, because how depends on the options.
        """
        found: list[Case] = []
        texts = chain(_ordinary_texts(actual), self._competing_texts(actual), split_texts(actual))
        groups: list[Sequence[str]] = list(pack_texts(texts))
        failing = _failing(groups, actual, self._expected)[:_MOST]
        while failing:
            halves = [half for group in failing for half in _halves(group)]
            smaller = _failing(halves, actual, self._expected)
            # A difference may show only where both halves meet.
            found += [_case(group) for group in failing if not any(half in smaller for half in _halves(group))]
            failing = smaller[:_MOST]
        return found[:_MOST]

    def _competing_texts(self, actual: Encoder) -> Sequence[str]:
        """Return texts that show in which order pieces are joined; of few pieces in another order, those around them.

        To find all joins of a large vocabulary with scores takes longer than everything else.
        """
        last, texts = self._made
        if last is None or not rank_alike(last, actual.spec):
            moved: Sequence[int] | None = None
            if self._declared and actual.settings.family.ranking is Ranking.SCORE:
                moved = moved_tokens(actual, self._declared)
            if moved is None or len(moved) > _MOST_MOVED:
                texts = self._competing.make(actual)
            else:
                pieces = frozenset(actual.settings.pieces[id] for id in moved)
                texts = self._competing.make_around(actual, pieces) if pieces else ()
            self._made = actual.spec, texts
        return texts


def _ordinary_texts(encoder: Encoder) -> Iterator[str]:
    added = frozenset(encoder.added_texts)
    for id in range(encoder.vocab_size):
        try:
            text = encoder.token_bytes(id).decode()
        except UnicodeDecodeError:
            continue
        if text.strip() and text not in added:
            yield text


def _failing(groups: Sequence[Sequence[str]], actual: Encoder, expected: Tokenizer) -> list[Sequence[str]]:
    results = compare_cases(actual, expected, [_case(group) for group in groups])
    return [group for group, result in zip(groups, results, strict=True) if result.status in FAILING]


def _case(group: Sequence[str]) -> Case:
    text = "\n".join(group)
    return Case(id=f"every-{text}", suite=SUITE, text=text, parse_special=False)


def _halves(group: Sequence[str]) -> list[Sequence[str]]:
    middle = len(group) // 2
    return [group[:middle], group[middle:]] if middle else []
