"""Report the ids whose tokens differ: other bytes, tokens that only one side has, and padding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokverify.compare.digest import make_difference
from tokverify.report.finding import ERROR, INFO, Severity
from tokverify.report.run import PieceDifference, VocabularyDifference
from tokverify.report.tokenizer_difference import Aspect, TokenizerDifference
from tokverify.sources.gguf.keys import TOKENS
from tokverify.text.wording import list_items, plural, quote
from tokverify.texts.token_text import is_filler

_SHOWN = 10
_ASPECTS: Mapping[Aspect, tuple[Severity, str, str]] = {
    Aspect.BYTES: (ERROR, "represents a different token", "represent different tokens"),
    Aspect.MISSING: (ERROR, "has a token in the reference only", "have a token in the reference only"),
    Aspect.EXTRA: (ERROR, "has a token in the model only", "have a token in the model only"),
    Aspect.PADDING: (INFO, "is padding that only one side has", "are padding that only one side has"),
}
"""Aspect -> its severity, and what to say of one id and of several."""


def find_piece_differences(vocabulary: VocabularyDifference) -> Iterator[TokenizerDifference]:
    """Yield how the tokens of two vocabularies differ, and then how the sizes do."""
    by_aspect: dict[Aspect, list[PieceDifference]] = {aspect: [] for aspect in _ASPECTS}
    for piece in vocabulary.pieces:
        by_aspect[_aspect_of(piece)].append(piece)
    for aspect, pieces in by_aspect.items():
        if pieces:
            yield _describe(aspect, pieces)
    sizes = (vocabulary.actual_size, vocabulary.expected_size)
    if sizes[0] != sizes[1]:
        # The tokens that only one side has are reported above, with their own severity.
        message = f"the model has {plural(sizes[0], 'token')}, the reference {sizes[1]:,}"
        yield make_difference(Aspect.SIZE, INFO, message, facts=sizes, keys=(TOKENS,))


def _aspect_of(piece: PieceDifference) -> Aspect:
    if piece.actual is not None and piece.expected is not None:
        return Aspect.BYTES
    if piece.is_unused or is_filler(piece.actual or piece.expected or ""):
        return Aspect.PADDING
    return Aspect.MISSING if piece.actual is None else Aspect.EXTRA


def _describe(aspect: Aspect, pieces: Sequence[PieceDifference]) -> TokenizerDifference:
    severity, one, several = _ASPECTS[aspect]
    verb = one if len(pieces) == 1 else several
    message = f"{plural(len(pieces), 'id')} {verb}: {list_items(map(_show, pieces), _SHOWN)}"
    facts = [(piece.actual, piece.expected) for piece in pieces]
    return make_difference(aspect, severity, message, [piece.id for piece in pieces], facts=facts, keys=(TOKENS,))


def _show(piece: PieceDifference) -> str:
    texts = [quote(text, mark_spaces=True) for text in (piece.actual, piece.expected) if text is not None]
    if len(texts) > 1 and texts[0] == texts[1]:
        return f"{piece.id} {texts[0]} (other bytes)"
    return f"{piece.id} {', not '.join(texts)}"
