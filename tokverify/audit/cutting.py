"""How the two sides cut texts before merging, compared text by text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.audit.behavior import probes
from tokverify.engine.byte_level import to_byte_level
from tokverify.engine.normalizer import escape_spaces, unescape_spaces
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter

if TYPE_CHECKING:
    from tokverify.engine.pre_tokenizer import PreTokenizer
    from tokverify.files.huggingface.document import Document


@dataclass(frozen=True, slots=True)
class OtherCut:
    """A text that the two sides cut otherwise, with the pre-tokens of each."""

    text: str
    actual: tuple[str, ...]
    expected: tuple[str, ...]


def cut_otherwise(pre: PreTokenizer, document: Document) -> Iterator[OtherCut]:
    """Yield the probe texts that a pre-tokenizer cuts otherwise than the one of a tokenizer.json."""
    cut = _cutter(pre)
    for text in probes():
        normalized = normalize(document, text)
        if not is_neutral(text, normalized):
            continue
        actual, expected = cut(text), cut_by(document, normalized)
        if actual != expected:
            yield OtherCut(text, actual, expected)


def agreeing_names(document: Document) -> list[str]:
    """Return the names of the pre-tokenizers that cut every probe text as a tokenizer.json does."""
    agreeing = {pre for pre in set(PRE_TOKENIZERS.values()) if next(cut_otherwise(pre, document), None) is None}
    return [name for name, pre in PRE_TOKENIZERS.items() if pre in agreeing]


def cut_by(document: Document, normalized: str) -> tuple[str, ...]:
    """Cut a normalized text as a tokenizer.json does."""
    pre_tokenizer = document.library.pre_tokenizer
    if pre_tokenizer is None:
        return (normalized,)
    return tuple(piece for piece, _ in pre_tokenizer.pre_tokenize_str(normalized))


def normalize(document: Document, text: str) -> str:
    """Normalize a text as a tokenizer.json does."""
    normalizer = document.library.normalizer
    return text if normalizer is None else str(normalizer.normalize_str(text))


def is_neutral(text: str, normalized: str) -> bool:
    """Whether a normalizer did nothing to a text but write its spaces otherwise, or put one in front."""
    return plain(normalized) in {text, f" {text}"}


def plain(normalized: str) -> str:
    """Write the spaces of a normalized text as spaces."""
    return unescape_spaces(normalized)


def _cutter(pre: PreTokenizer) -> Callable[[str], tuple[str, ...]]:
    split = splitter(pre)

    def cut(text: str) -> tuple[str, ...]:
        chunks = split(escape_spaces(text) if pre.escape_whitespaces else text)
        return tuple(map(to_byte_level, chunks) if pre.byte_level else chunks)

    return cut
