"""Generate changes that GGUF cannot express: what a reference does and llama.cpp does not."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from tokverify.engine.deviation import Deviation
from tokverify.engine.families import find_family
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.repair.evidence import Evidence

_DEFAULT_LONGEST_WORD = 100
"""HuggingFace's `max_input_chars_per_word`."""


def _strip_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(character for character in decomposed if unicodedata.category(character) != "Mn")


def _lowercase_and_strip(text: str) -> str:
    return _strip_accents(text.lower())


NORMALIZERS: Mapping[str, Callable[[str], str]] = {
    "NFC": partial(unicodedata.normalize, "NFC"),
    "NFKC": partial(unicodedata.normalize, "NFKC"),
    "NFD": partial(unicodedata.normalize, "NFD"),
    "NFKD": partial(unicodedata.normalize, "NFKD"),
    "lowercase": str.lower,
    "strip accents": _strip_accents,
    "lowercase and strip accents": _lowercase_and_strip,
}
"""The usual normalizers, by name."""


def normalizers(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Normalize texts first: with the reference's normalizer, then with the usual ones."""
    own = evidence.facts.normalizer
    words = evidence.facts.words
    family = find_family(evidence.spec.model)
    if words and family and family.splits_words:
        yield TokenizerChange(
            kind="word_normalizer",
            sentence=f"normalizing and splitting texts as the reference does ({words[0]}) instead of llama.cpp's"
            " clean-up (which keeps one character of a decomposition and drops all marks)",
            cost=cost.WORD_NORMALIZER,
            deviation=Deviation(split_words=words[1]),
        )
    elif own and own[0] not in NORMALIZERS:
        yield _normalizer(f"the reference's own normalizer ({own[0]})", "normalizer", own[1], cost.REFERENCE_NORMALIZER)
    for name, usual in NORMALIZERS.items():
        if any(usual(target.text) != target.text for target in evidence.targets):
            confirmed = own is not None and own[0] == name
            normalize = own[1] if own is not None and confirmed else usual
            price = cost.discount(cost.RUNTIME, confirmed=confirmed)
            yield _normalizer(name, f"normalizer {name}", normalize, price)


def _normalizer(name: str, kind: str, normalize: Callable[[str], str], price: float) -> TokenizerChange:
    return TokenizerChange(
        kind=kind,
        sentence=f"normalizing texts with {name} first",
        cost=price,
        deviation=Deviation(normalizers=(normalize,)),
    )


def runtimes(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Change what llama.cpp always does, or decides by the names of the model and the pre-tokenizer."""
    if evidence.encoder is None:
        return
    settings = evidence.encoder.settings
    if settings.family.splits_words:
        yield from _word_changes(evidence)
    if settings.family.is_bpe:
        yield _ignore_merges(on=not settings.ignore_merges)
    yield from _stripping(evidence)
    if settings.special_ids.get("unk") in evidence.missing:
        yield from _no_byte_fallback(evidence.facts.fuses_unknown)


def _word_changes(evidence: Evidence) -> Iterator[TokenizerChange]:
    limit = evidence.facts.longest_word or _DEFAULT_LONGEST_WORD
    yield TokenizerChange(
        kind="longest_word",
        sentence=f"treating words of more than {limit} characters as unknown",
        cost=cost.RUNTIME,
        deviation=Deviation(longest_word=limit),
    )
    if ESCAPED_SPACE in evidence.text:
        yield TokenizerChange(
            kind="plain_marker",
            sentence="treating a ▁ in a text as an ordinary character (GGUF marks the start of words with it)",
            cost=cost.RUNTIME,
            deviation=Deviation(plain_marker=True),
        )


def _ignore_merges(*, on: bool) -> TokenizerChange:
    action = "encoding each pre-token that is a piece as one token" if on else "merging every pre-token"
    return TokenizerChange(
        kind="ignore_merges",
        sentence=f"{action} (ignore_merges {'on' if on else 'off'})",
        cost=cost.RUNTIME,
        deviation=Deviation(ignore_merges=on),
    )


def _no_byte_fallback(fuses: bool | None) -> Iterator[TokenizerChange]:
    for fuse in (True, False) if fuses is None else (fuses,):
        sentence = "treating what the vocabulary lacks as unknown instead of encoding its bytes"
        yield TokenizerChange(
            kind="byte_fallback",
            sentence=sentence if fuse else f"{sentence}, with one token per character",
            cost=cost.RUNTIME,
            deviation=Deviation(fuse_unknown=fuse),
        )


def _stripping(evidence: Evidence) -> Iterator[TokenizerChange]:
    reference = evidence.facts.added_tokens
    if reference is None or evidence.encoder is None:
        return
    flags: dict[int, tuple[bool, bool]] = {}
    for token in evidence.encoder.settings.added_tokens:
        other = reference.get(token.id, token)
        if (other.lstrip, other.rstrip) != (token.lstrip, token.rstrip):
            flags[token.id] = (other.lstrip, other.rstrip)
    if flags:
        count = plural(len(flags), "added token")
        yield TokenizerChange(
            kind="stripping",
            sentence=f"stripping spaces around {count} as the reference's lstrip and rstrip specify",
            cost=cost.STRIPPING,
            deviation=Deviation(stripping=flags),
        )
