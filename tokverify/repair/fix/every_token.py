"""Compare the texts of all tokens with a reference, and of tokens that compete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from tokverify.case import Case
from tokverify.compare.comparison import compare_cases
from tokverify.compare.ranking_difference import moved_tokens
from tokverify.engine.attribute import ORDINARY
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Ranking
from tokverify.repair.fix.token_list import TokenBytes
from tokverify.repair.token_patch import kind_of
from tokverify.report.run import FAILING, CaseResult
from tokverify.spec import TokenizerSpec
from tokverify.text.utf8 import from_utf8, has_surrogate
from tokverify.texts.batch import Known
from tokverify.texts.competing_text import CompetingTexts, rank_alike
from tokverify.texts.frame import pack_texts
from tokverify.texts.lost_piece import make_losing_texts
from tokverify.texts.target_text import SUITE, in_contexts, split_texts
from tokverify.texts.token_text import PADDING
from tokverify.texts.unmade_token import never_made
from tokverify.tokenizer import Tokenizer

_MOST_MOVED = 1_000
"""If more tokens rank in another order, all joins are looked at."""
_MOST_BISECTED = 32
"""At most this many texts that differ are bisected at a time."""


class EveryToken:
    """Compares the texts of all tokens with a reference, many in one text, and bisects those whose ids differ.

    A merge or a score may matter for a single token, or only where two tokens compete, which no sample contains.

    Args:
        expected: The reference.
        declared: What it declares, if anything.
        bytes_of: Returns the bytes of the tokens of similar tokenizers.
    """

    def __init__(
        self, expected: Tokenizer, declared: TokenizerSpec | None = None, bytes_of: TokenBytes | None = None
    ) -> None:
        self._expected = expected
        self._known = Known()
        self._bytes_of = bytes_of or TokenBytes()
        self._declared = declared
        self._competing = CompetingTexts(declared)
        self._made: tuple[TokenizerSpec | None, Sequence[str]] = (None, ())
        """The tokenizer for which competing texts were made last, and these."""

    def differing_cases(self, actual: Encoder) -> list[Case]:
        """Return cases for texts that both sides encode differently; at most `_MOST_BISECTED`.

        They are the texts of all tokens, of competing ones, and those that pre-tokenizers split in different places.

        Tokens that are matched before the model runs are left out, because how depends on the options.
        """
        found: list[Case] = []
        ranked = chain(self._competing_texts(actual), make_losing_texts(actual))
        texts = chain(_ordinary_texts(actual, self._bytes_of), ranked, split_texts(actual))
        groups: list[Sequence[str]] = list(pack_texts(texts))
        failing = self._failing(groups, actual)[:_MOST_BISECTED]
        while failing:
            halves = [half for group in failing for half in _halves(group)]
            smaller = self._failing(halves, actual)
            # A difference may show only where both halves meet.
            found += [_case(group) for group in failing if not any(half in smaller for half in _halves(group))]
            failing = smaller[:_MOST_BISECTED]
        # Markers that are typed NORMAL are many, as <image_0> to <image_575>, and one text shows all of them.
        markers = [_case(group, parse_special=True) for group in pack_texts(_marker_texts(actual))]
        markers += [
            _case(group, parse_special=parse_special)
            for group in pack_texts(map(in_contexts, _unusual_texts(actual)))
            for parse_special in (True, False)
        ]
        unmatched = [result.case for result in self._compare(actual, markers) if result.status in FAILING]
        return [*found[:_MOST_BISECTED], *unmatched[:_MOST_BISECTED]]

    def _failing(self, groups: Sequence[Sequence[str]], actual: Encoder) -> list[Sequence[str]]:
        results = self._compare(actual, [_case(group) for group in groups])
        return [group for group, result in zip(groups, results, strict=True) if result.status in FAILING]

    def _compare(self, actual: Encoder, cases: Sequence[Case]) -> Sequence[CaseResult]:
        # Of a later tokenizer, most texts are the same, and the reference is not asked again.
        return compare_cases(actual, self._expected, cases, self._known, decodes=False)

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


def _ordinary_texts(encoder: Encoder, bytes_of: TokenBytes) -> Iterator[str]:
    added = frozenset(encoder.added_texts)
    for data in bytes_of(encoder):
        text = from_utf8(data)
        # RWKV has pieces for its padding, too, which llama.cpp finds in texts; nobody writes them.
        if text and text.strip() and text not in added and not PADDING.fullmatch(text):
            yield text


def _marker_texts(encoder: Encoder) -> Iterator[str]:
    settings = encoder.settings
    for id, piece in enumerate(settings.pieces):
        # Most pieces begin otherwise, and to find that they have no kind takes long.
        is_tag = piece.startswith(("<", "[")) and settings.attributes[id] & ORDINARY and kind_of(piece) == "tags"
        if is_tag and not PADDING.fullmatch(piece):
            yield piece


def _unusual_texts(encoder: Encoder) -> Iterator[str]:
    """Yield what added tokens with unusual texts, such as >>TITLE<<, are if they are typed NORMAL."""
    pieces = encoder.settings.pieces
    texts = (pieces[id] for id in never_made(encoder.spec, encoder.settings))
    # A piece that was written as raw bytes need not be UTF-8, and then no text contains it.
    yield from (text for text in texts if kind_of(text) != "tags" and not has_surrogate(text))


def _case(group: Sequence[str], *, parse_special: bool = False) -> Case:
    text = "\n".join(group)
    name = "every-parsed" if parse_special else "every"
    return Case(id=f"{name}-{text}", suite=SUITE, text=text, parse_special=parse_special)


def _halves(group: Sequence[str]) -> list[Sequence[str]]:
    middle = len(group) // 2
    return [group[:middle], group[middle:]] if middle else []
