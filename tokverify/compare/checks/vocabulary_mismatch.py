"""TV201: ids that represent a different token than in the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from tokverify.compare.repair import key_of, set_special_id
from tokverify.compare.rule import rule
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.report.finding import ERROR, INFO, WARNING, Finding
from tokverify.report.run import PieceDifference
from tokverify.sources.gguf.keys import TOKENS
from tokverify.text.wording import list_items, plural, quote
from tokverify.texts.token_text import is_filler
from tokverify.texts.vocabulary import compare_vocabularies
from tokverify.tokenizer import why_hidden

_SHOWN = 10
_DECISIVE = frozenset({"bos", "eos", "unk", "sep"})
"""Roles whose tokens occur in the ids of a text."""


class _Problem(Enum):
    """How one id differs, in the order of the findings."""

    DIFFERENT = "with a different token than in the reference"
    LOST = "only in the reference"
    PADDING = "only on one side, as padding"
    EXTRA = "only in the file"


_SEVERITIES = {
    _Problem.DIFFERENT: ERROR,
    _Problem.LOST: ERROR,
    _Problem.PADDING: INFO,
    _Problem.EXTRA: ERROR,
}


@rule(code="TV201", name="vocabulary-mismatch", severity=ERROR)
def vocabulary_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require that every id represents the same token as in the reference.

    What it does:
        Compares the two vocabularies id by id, in both directions, by the bytes that a token represents; a different
        stored string for the same bytes does not count. Padding and reserved tokens that only one side has are
        reported for information; other tokens that only one side has are an error. Special tokens must have the same
        ids; for those that never occur in a text, such as padding, a different id is a warning.

    Why it is bad:
        The model learned one meaning for each id. A shifted or exchanged token is a different word to it.

    Example:
        A converter wrote `[PAD32000]` where T5 has `<extra_id_99>`. Gemma 3's tokenizer has `<image_soft_token>`,
        262144, which is deliberately missing from the file.

    How to repair:
        Convert again from the tokenizer that belongs to the model. If only a special id differs, set it with
        `gguf-new-metadata --special-token-by-id eos ID MODEL FIXED`.

    Threads:
        ggml-org/llama.cpp#8379, ggml-org/llama.cpp#12876, huggingface/candle#3641, ggml-org/llama.cpp#15842
    """
    difference = compare_vocabularies(subject.encoder, subject.expected)
    if difference is None:
        raise NotEvaluatedError(why_hidden(subject.expected))
    yield from _other_pieces(difference.pieces)
    for role, (actual, expected) in difference.special_ids.items():
        message = f"{role} is {actual}, but {expected} in the reference"
        severity = ERROR if role in _DECISIVE else WARNING
        yield Finding(severity, message, (actual, expected), (key_of(role),), set_special_id(role, expected))


def _other_pieces(pieces: Sequence[PieceDifference]) -> Iterator[Finding]:
    by_problem: dict[_Problem, list[PieceDifference]] = {problem: [] for problem in _Problem}
    for piece in pieces:
        by_problem[_problem_of(piece)].append(piece)
    for problem, found in by_problem.items():
        if found:
            message = f"{plural(len(found), 'id')} {problem.value}: {list_items(map(_show, found), _SHOWN)}"
            yield Finding(_SEVERITIES[problem], message, ids=tuple(piece.id for piece in found), keys=(TOKENS,))


def _problem_of(piece: PieceDifference) -> _Problem:
    if piece.actual is not None and piece.expected is not None:
        return _Problem.DIFFERENT
    if piece.is_unused or is_filler(piece.actual or piece.expected or ""):
        return _Problem.PADDING
    return _Problem.LOST if piece.actual is None else _Problem.EXTRA


def _show(piece: PieceDifference) -> str:
    texts = [quote(text) for text in (piece.actual, piece.expected) if text is not None]
    return f"{piece.id} {' instead of '.join(texts)}"
