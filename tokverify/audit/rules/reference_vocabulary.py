"""TV201: ids that stand for other tokens than in the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokverify.audit.marker import PADDING
from tokverify.audit.repair import key_of, set_special_id
from tokverify.audit.rule import rule
from tokverify.engine.attribute import Attribute
from tokverify.files.gguf.keys import TOKENS
from tokverify.report.finding import ERROR, INFO, WARNING, Finding
from tokverify.text.wording import listed, plural, quoted
from tokverify.verify.vocabulary import compare_vocabularies

if TYPE_CHECKING:
    from tokverify.audit.subject import Subject
    from tokverify.report.finding import Severity
    from tokverify.report.run import PieceDifference

_SHOWN = 10
_DECISIVE = frozenset({"bos", "eos", "unk", "sep"})
"""Roles whose tokens come up in the ids of a text."""


@rule(code="TV201", name="reference-vocabulary", severity=ERROR)
def reference_vocabulary(subject: Subject) -> Iterator[Finding]:
    """Require that every id stands for the same token as in the reference.

    What it does:
        Compares the two vocabularies id by id, in both directions, by the bytes that a token stands for; another
        spelling of the same bytes does not count. Padding that only the GGUF file has is for information, other
        tokens that only one side has are a warning. Special tokens must have the same ids; for those that never go
        into a text, such as padding, another id is a warning.

    Why it is bad:
        The model learned one meaning for each id. A shifted or exchanged token is another word to it.

    Example:
        A converter wrote `[PAD32000]` where T5 has `<extra_id_99>`. Gemma 3's tokenizer has `<image_soft_token>`,
        262144, which has no row in the file, on purpose.

    How to repair:
        Convert again from the tokenizer that belongs to the model. Where only a special id differs,
        `gguf-new-metadata --special-token-by-id eos ID MODEL FIXED` sets it.

    Threads:
        ggml-org/llama.cpp#8379, ggml-org/llama.cpp#12876, huggingface/candle#3641, ggml-org/llama.cpp#15842
    """
    difference = compare_vocabularies(subject.encoder, subject.expected)
    yield from _other_pieces(subject, difference.pieces)
    for role, (actual, expected) in difference.special_ids.items():
        message = f"{role} is {actual}, and {expected} in the reference"
        severity = ERROR if role in _DECISIVE else WARNING
        yield Finding(severity, message, (actual, expected), (key_of(role),), set_special_id(role, expected))


def _other_pieces(subject: Subject, pieces: Sequence[PieceDifference]) -> Iterator[Finding]:
    extra = [piece for piece in pieces if piece.expected is None]
    both = [piece for piece in pieces if piece.actual is not None and piece.expected is not None]
    lost = [piece for piece in pieces if piece.actual is None]
    padding = [piece for piece in extra if _is_padding(subject, piece)]
    more = [piece for piece in extra if not _is_padding(subject, piece)]
    for severity, found, told in (
        (ERROR, both, "stand for other tokens than in the reference"),
        (WARNING, lost, "of the reference are not in the file"),
        (INFO, padding, "that the reference lacks are padding"),
        (WARNING, more, "are not in the reference"),
    ):
        if found:
            yield _finding(severity, found, told)


def _finding(severity: Severity, pieces: Sequence[PieceDifference], told: str) -> Finding:
    shown = listed(map(_show, pieces), _SHOWN)
    message = f"{plural(len(pieces), 'id')} {told}: {shown}"
    return Finding(severity, message, ids=tuple(piece.id for piece in pieces), keys=(TOKENS,))


def _show(piece: PieceDifference) -> str:
    texts = [quoted(text) for text in (piece.actual, piece.expected) if text is not None]
    return f"{piece.id} {' instead of '.join(texts)}"


def _is_padding(subject: Subject, piece: PieceDifference) -> bool:
    unused = subject.settings.attributes[piece.id] == Attribute.UNUSED.value
    return unused or PADDING.fullmatch(piece.actual or "") is not None
