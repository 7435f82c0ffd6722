"""Changes that no GGUF file can ask for: what a reference does that llama.cpp does not."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from tokverify.diagnosis.change import TokenizerChange
from tokverify.diagnosis.deviation import Deviation
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.diagnosis.evidence import Evidence


def _strip_accents(text: str) -> str:
    marks_apart = unicodedata.normalize("NFD", text)
    return "".join(character for character in marks_apart if unicodedata.category(character) != "Mn")


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


def normalizers(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Normalize texts first: as the reference says that it does, then in the ways that are usual."""
    told = evidence.facts.normalizer
    words = evidence.facts.words
    if words and evidence.spec.model == "bert":
        yield TokenizerChange(
            kind="word_normalizer",
            sentence=f"normalizing and cutting texts as the reference does ({words[0]}) instead of llama.cpp's clean-up"
            " (which keeps one character of a decomposition and drops all marks)",
            cost=5.8,
            deviation=Deviation(cut_words=words[1]),
        )
    elif told and told[0] not in NORMALIZERS:
        yield _normalizer(f"the reference's own normalizer ({told[0]})", "normalizer", told[1], 6.2)
    for name, normalize in NORMALIZERS.items():
        if any(normalize(target.text) != target.text for target in evidence.targets):
            is_told = told is not None and told[0] == name
            yield _normalizer(name, f"normalizer {name}", told[1] if told and is_told else normalize, 6 - 0.5 * is_told)


def _normalizer(name: str, kind: str, normalize: Callable[[str], str], cost: float) -> TokenizerChange:
    return TokenizerChange(
        kind=kind,
        sentence=f"normalizing texts with {name} first",
        cost=cost,
        deviation=Deviation(normalizers=(normalize,)),
    )


def engines(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Do the other things that llama.cpp does in its own way, or by names alone."""
    if evidence.encoder is None:
        return
    settings = evidence.encoder.settings
    if settings.algorithm == "wordpiece":
        limit = evidence.facts.longest_word or 100
        yield TokenizerChange(
            kind="longest_word",
            sentence=f"taking words of more than {limit} characters for unknown",
            cost=6,
            deviation=Deviation(longest_word=limit),
        )
        if ESCAPED_SPACE in evidence.text:
            yield TokenizerChange(
                kind="plain_marker",
                sentence="taking a ▁ in a text for a character like others (GGUF marks by it what begins words)",
                cost=6,
                deviation=Deviation(plain_marker=True),
            )
    if settings.algorithm == "bpe":
        on = not settings.ignore_merges
        yield TokenizerChange(
            kind="ignore_merges",
            sentence=f"{'taking a pre-token that is a piece as one token' if on else 'merging every pre-token'}"
            f" (ignore_merges {'on' if on else 'off'})",
            cost=6,
            deviation=Deviation(ignore_merges=on),
        )
    yield from _stripping(evidence)
    if settings.special_ids.get("unk") in evidence.missing:
        yield from _no_byte_fallback(evidence.facts.fuses_unknown)


def _no_byte_fallback(told: bool | None) -> Iterator[TokenizerChange]:
    for fuse in (True, False) if told is None else (told,):
        sentence = "taking what the vocabulary lacks for unknown instead of spelling its bytes"
        yield TokenizerChange(
            kind="byte_fallback",
            sentence=sentence if fuse else f"{sentence}, each character by itself",
            cost=6,
            deviation=Deviation(fuse_unknown=fuse),
        )


def _stripping(evidence: Evidence) -> Iterator[TokenizerChange]:
    told = evidence.facts.added_tokens
    if told is None or evidence.encoder is None:
        return
    flags = {
        token.id: (told[token.id].lstrip, told[token.id].rstrip)
        for token in evidence.encoder.settings.added_tokens
        if token.id in told and (told[token.id].lstrip, told[token.id].rstrip) != (token.lstrip, token.rstrip)
    }
    if flags:
        count = plural(len(flags), "added token")
        yield TokenizerChange(
            kind="stripping",
            sentence=f"stripping spaces around {count} as the reference's lstrip and rstrip say",
            cost=5.9,
            deviation=Deviation(stripping=flags),
        )
