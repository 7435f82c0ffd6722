"""Compare how the two sides split texts before merging."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tokverify.compare.behavior import probes
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.engine.byte_level import to_byte_level
from tokverify.engine.normalizer import escape_spaces, unescape_spaces
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer, splitter
from tokverify.sources.huggingface.document import Document


@dataclass(frozen=True, slots=True)
class SplitDifference:
    """A text that the two sides split differently."""

    text: str
    actual: tuple[str, ...]
    """Our pre-tokens."""
    expected: tuple[str, ...]
    """The reference's."""


def find_split_differences(subject: Subject) -> list[SplitDifference]:
    """Return the probe texts that the reference's pre-tokenizer splits differently.

    Raises:
        NotEvaluatedError: If the model uses no pre-tokenizer, or the reference is not a tokenizer.json.
    """
    if not subject.settings.family.is_bpe:
        raise NotEvaluatedError(f"the model {subject.spec.model} does not split texts before it encodes them")
    return list(_differences(PRE_TOKENIZERS[subject.settings.pre], subject.document))


def find_agreeing_names(document: Document) -> list[str]:
    """Return the names of the pre-tokenizers that split every probe text as a tokenizer.json does."""
    agreeing = {pre for pre in set(PRE_TOKENIZERS.values()) if next(_differences(pre, document), None) is None}
    return [name for name, pre in PRE_TOKENIZERS.items() if pre in agreeing]


def _differences(pre: PreTokenizer, document: Document) -> Iterator[SplitDifference]:
    pre_tokenize_ours = _make_splitter(pre)
    for text in probes():
        normalized = normalize(document, text)
        if not is_neutral(text, normalized):
            continue
        actual, expected = pre_tokenize_ours(text), pre_tokenize(document, normalized)
        if actual != expected:
            yield SplitDifference(text, actual, expected)


def pre_tokenize(document: Document, normalized: str) -> tuple[str, ...]:
    """Split a normalized text as a tokenizer.json does."""
    pre_tokenizer = document.library.pre_tokenizer
    if pre_tokenizer is None:
        return (normalized,)
    return tuple(piece for piece, _ in pre_tokenizer.pre_tokenize_str(normalized))


def normalize(document: Document, text: str) -> str:
    """Normalize a text as a tokenizer.json does."""
    normalizer = document.library.normalizer
    return text if normalizer is None else str(normalizer.normalize_str(text))


def is_neutral(text: str, normalized: str) -> bool:
    """Whether a normalizer only escaped the spaces of a text, or added one in front."""
    return unescape_spaces(normalized) in {text, f" {text}"}


def _make_splitter(pre: PreTokenizer) -> Callable[[str], tuple[str, ...]]:
    split = splitter(pre)

    def pre_tokenize_text(text: str) -> tuple[str, ...]:
        chunks = split(escape_spaces(text) if pre.escape_whitespaces else text)
        return tuple(map(to_byte_level, chunks) if pre.byte_level else chunks)

    return pre_tokenize_text
