"""Compare two versions of a tokenizer part by part.

A new part takes one function and one entry in `PARTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tokverify.compare.diff.parts.declared import Declared
from tokverify.compare.diff.parts.document import ADDED_TOKENS, DOCUMENT_PARTS, compare_stages, read_documents
from tokverify.compare.diff.parts.settings import (
    compare_added_tokens,
    compare_settings,
    compare_templates,
    hides_templates,
)
from tokverify.compare.diff.parts.tokens import compare_merges, compare_scores, compare_tokens, compare_types
from tokverify.compare.diff.version import Version, unnamed_roles
from tokverify.report.diff import Part, PartChange
from tokverify.report.vocabulary_difference import VocabularyDifference
from tokverify.spec import TokenizerSpec
from tokverify.text.wording import list_items
from tokverify.tokenizer import why_hidden

PARTS: Mapping[str, Callable[[Declared, Declared], Iterable[PartChange]]] = {
    "types": compare_types,
    "scores": compare_scores,
    "merges": compare_merges,
    "settings": compare_settings,
    ADDED_TOKENS: compare_added_tokens,
    "chat templates": compare_templates,
}
"""Name -> how to compare a part of two tokenizers, as a GGUF file would declare it."""

_REQUIRING_SAME_MODEL = frozenset({"types", "scores", "merges"})
"""Parts that are comparable only between tokenizers of the same model."""


def compare_parts(
    old: Version, new: Version, vocabulary: VocabularyDifference | None
) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """Return the parts that changed, and sentences that say what could not be compared.

    subtle: `vocabulary` compares the new version with the old one, in this order.
    """
    if vocabulary is None:
        return (), tuple(_describe_hidden(old, new))
    has_specs = bool(old.spec and new.spec)
    documents = read_documents(old, new, has_tables=not has_specs)
    parts = [Part("tokens", tuple(compare_tokens(old.tokenizer, new.tokenizer, vocabulary)))]
    # A library that hides the same of both versions is named once.
    not_compared = list(dict.fromkeys(_describe_unread(old, new, has_documents=all(documents))))
    if old.spec and new.spec:
        unnamed = unnamed_roles(old, new)
        sides = Declared(old.spec, unnamed), Declared(new.spec, unnamed)
        declared = _compare_declared(*sides)
        parts += (part for part in declared if not (part.name == ADDED_TOKENS and all(documents)))
        if unnamed:
            not_compared.append(f"{list_items(unnamed)} and what ends a generation: only one of the two names them")
        if hides_templates(*sides) and old.spec.templates != new.spec.templates:
            not_compared.append("chat templates: only one of the two has any, and the other one stands alone")
        not_compared += _describe_models(old.spec, new.spec)
    if all(documents):
        parts += _compare_documents(*documents, has_specs=has_specs)
    return tuple(part for part in parts if part.changes), tuple(not_compared)


def _describe_hidden(old: Version, new: Version) -> Iterable[str]:
    """Name the versions that do not list their tokens, so that no part can be compared."""
    for version in (old, new):
        if reason := why_hidden(version.tokenizer):
            yield f"tokens, types, merges and settings: {version.side.source}: {reason}"


def _describe_unread(old: Version, new: Version, *, has_documents: bool) -> Iterable[str]:
    """Name the versions that cannot be converted to what a GGUF file would declare, or only in part."""
    compared = "the two files, without what llama.cpp would derive from them" if has_documents else "the tokens"
    for version in (old, new):
        if version.spec is None:
            yield f"only {compared}: {version.unread}"
        elif version.unread and not has_documents:
            # The stages of two tokenizer.json files show this, too.
            yield f"{version.side.source}: {version.unread}"


def _describe_models(old: TokenizerSpec, new: TokenizerSpec) -> Iterable[str]:
    if old.model != new.model:
        names = ", ".join(name for name in PARTS if name in _REQUIRING_SAME_MODEL)
        yield f"{names}: one tokenizer is {old.model}, the other {new.model}"


def _compare_declared(old: Declared, new: Declared) -> Iterable[Part]:
    for name, compare in PARTS.items():
        if old.spec.model == new.spec.model or name not in _REQUIRING_SAME_MODEL:
            yield Part(name, tuple(compare(old, new)))


def _compare_documents(old: Mapping[str, Any], new: Mapping[str, Any], *, has_specs: bool) -> Iterable[Part]:
    """Compare two tokenizer.json files: only their added tokens and stages, if the rest is compared as declared."""
    for name, compare in DOCUMENT_PARTS.items():
        if not has_specs or name == ADDED_TOKENS:
            yield Part(name, tuple(compare(old, new)))
    yield Part("stages", tuple(compare_stages(old, new)))
