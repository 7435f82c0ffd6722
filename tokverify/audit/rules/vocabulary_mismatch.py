"""TV201: ids that represent a different token than in the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokverify.audit.marker import PADDING
from tokverify.audit.repair import key_of, set_special_id
from tokverify.audit.rule import rule
from tokverify.engine.attribute import Attribute
from tokverify.files.gguf.keys import TOKENS
from tokverify.report.finding import ERROR, INFO, WARNING, Finding
from tokverify.text.wording import list_items, plural, quote
from tokverify.verify.vocabulary import compare_vocabularies

if TYPE_CHECKING:
    from tokverify.audit.subject import Subject
    from tokverify.report.finding import Severity
    from tokverify.report.run import PieceDifference

_SHOWN = 10
_DECISIVE = frozenset({"bos", "eos", "unk", "sep"})
"""Roles whose tokens occur in the ids of a text."""


@rule(code="TV201", name="vocabulary-mismatch", severity=ERROR)
def vocabulary_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require that every id represents the same token as in the reference.

    What it does:
        Compares the two vocabularies id by id, in both directions, by the bytes that a token represents; a different
        stored string for the same bytes does not count. Padding that only the GGUF file has is reported for
        information; other tokens that only one side has are a warning. Special tokens must have the same ids; for those
        that never occur in a text, such as padding, a different id is a warning.

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
    yield from _other_pieces(subject, difference.pieces)
    for role, (actual, expected) in difference.special_ids.items():
        message = f"{role} is {actual}, but {expected} in the reference"
        severity = ERROR if role in _DECISIVE else WARNING
        yield Finding(severity, message, (actual, expected), (key_of(role),), set_special_id(role, expected))


def _other_pieces(subject: Subject, pieces: Sequence[PieceDifference]) -> Iterator[Finding]:
    extra = [piece for piece in pieces if piece.expected is None]
    both = [piece for piece in pieces if piece.actual is not None and piece.expected is not None]
    lost = [piece for piece in pieces if piece.actual is None]
    padding = [piece for piece in extra if _is_padding(subject, piece)]
    more = [piece for piece in extra if not _is_padding(subject, piece)]
    for severity, found, problem in (
        (ERROR, both, "with a different token than in the reference"),
        (WARNING, lost, "only in the reference"),
        (INFO, padding, "only in the file, as padding"),
        (WARNING, more, "only in the file"),
    ):
        if found:
            yield _finding(severity, found, problem)


def _finding(severity: Severity, pieces: Sequence[PieceDifference], problem: str) -> Finding:
    shown = list_items(map(_show, pieces), _SHOWN)
    message = f"{plural(len(pieces), 'id')} {problem}: {shown}"
    return Finding(severity, message, ids=tuple(piece.id for piece in pieces), keys=(TOKENS,))


def _show(piece: PieceDifference) -> str:
    texts = [quote(text) for text in (piece.actual, piece.expected) if text is not None]
    return f"{piece.id} {' instead of '.join(texts)}"


def _is_padding(subject: Subject, piece: PieceDifference) -> bool:
    unused = subject.settings.attributes[piece.id] == Attribute.UNUSED.value
    return unused or PADDING.fullmatch(piece.actual or "") is not None
