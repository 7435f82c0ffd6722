"""Find the alternatives of a pre-tokenizer's patterns, its branches, that match in the documents of a corpus.

The native engine looks for them in all documents, and stops when it has found all that there are. The Python engine
would take many times as long as for encoding, so it looks for them in the first `SAMPLED_CHARACTERS` of a sample.
Whether a document belongs to the sample depends on the document alone, so the result does not depend on how a corpus is
divided.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokverify.engine import pre_pattern
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE, usable_native_module
from tokverify.engine.native import rule_name
from tokverify.engine.pre_token import alternatives, function_name, match_alternatives
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokverify.corpus.document import Document

UNMATCHED = "between matches"
"""Stands for the text that no alternative matches."""

SAMPLED_CHARACTERS = 1024

FIRST = {"row": 64, "document": 64, "byte": 1 << 16}
"""What the rows of documents count -> the row below which all documents of a file belong to the sample."""

_RATE = 1024
_HASHED_CHARACTERS = 64
_PLACES = 16
"""The number of places for each rule in the table of the native engine; place 0 is that of `UNMATCHED`."""
_AROUND = 32
_LONGEST = 1024


class FoundBranch(NamedTuple):
    """The first match of an alternative."""

    document: int
    """The index of the document."""
    name: str
    excerpt: str
    """The match with some characters around it; the beginning of a long one."""


def pre_tokenizer_of(tokenizer: Tokenizer) -> PreTokenizer | None:
    """Return the pre-tokenizer, if the tokenizer has one and shows it."""
    if isinstance(tokenizer, Encoder) and tokenizer.settings.family.uses_pre_tokenizer:
        return PRE_TOKENIZERS.get(tokenizer.settings.pre)
    return None


def find_branches(pre_tokenizer: PreTokenizer, text: str) -> set[str]:
    """Return the alternatives of the patterns that match in a text."""
    return {match.alternative or UNMATCHED for match in match_alternatives(pre_tokenizer, text)}


def _place_names(pre_tokenizer: PreTokenizer) -> dict[int, str]:
    """Return the alternatives that can match, by their place in the table of the native engine."""
    rules = pre_tokenizer.patterns
    names = {} if pre_pattern.COVERING.intersection(rules) else {0: UNMATCHED}
    for index, rule in enumerate(rules):
        own = alternatives(rule) if isinstance(rule, str) else (function_name(rule),)
        if rule != pre_pattern.BEFORE_ASCII_THOUSANDS:  # it only looks ahead
            names |= dict(enumerate(own, 1 + index * _PLACES))
    return names


def is_sampled(document: Document, first: int) -> bool:
    """Check whether a document belongs to the sample: one of 1,024 by a hash, and those before row `first`."""
    text = document.text or ""
    beginning = text[:_HASHED_CHARACTERS].encode("utf-8", "surrogatepass")
    return document.row < first or zlib.crc32(beginning, len(text)) % _RATE == 0


class BranchRecorder:
    """Collects the branches of documents.

    Args:
        tokenizer: The tokenizer; if it shows no pre-tokenizer, there are no branches.
        place: What the rows of the documents count, as a key of `FIRST`.
    """

    def __init__(self, tokenizer: Tokenizer, place: str) -> None:
        self._pre_tokenizer = pre_tokenizer_of(tokenizer)
        self._rows_of_sample = FIRST[place]
        rules = self._pre_tokenizer.patterns if self._pre_tokenizer else ()
        self._rules = [rule_name(rule) for rule in rules]
        self._names = _place_names(self._pre_tokenizer) if self._pre_tokenizer else {}
        self._table = np.ones(1 + _PLACES * len(rules), np.uint8)
        self._table[list(self._names)] = 0
        is_native = isinstance(tokenizer, Encoder) and tokenizer.engine.name == NATIVE
        # subtle: a module that was compiled before this function was written lacks it, and is fine otherwise.
        self._mark = getattr(usable_native_module(), "mark_branches", None) if is_native else None
        self.examines_sample = self._mark is None
        """Whether only a sample of the documents is examined."""
        self.found: set[str] = set()
        """Those that have been found."""
        self.examined = 0
        """The number of documents in which they were looked for."""

    def add(self, documents: Sequence[Document]) -> list[FoundBranch]:
        """Collect the branches of documents; return those that are new."""
        if self._pre_tokenizer is None:
            return []
        new = list((self._find_in_sample if self.examines_sample else self._find)(documents))
        self.found.update(branch.name for branch in new)
        return new

    def _find(self, documents: Sequence[Document]) -> Iterator[FoundBranch]:
        texts = [(index, document.text) for index, document in enumerate(documents) if document.text is not None]
        self.examined += len(texts)
        if self._mark is None or self._table.all():
            return
        for number, place, start, end in self._mark(self._rules, tuple(text for _, text in texts), self._table):
            index, text = texts[number]
            first, last = (len(text.encode()[:byte].decode()) for byte in (start, end))
            yield FoundBranch(index, self._names[place], _excerpt(text, first, last))

    def _find_in_sample(self, documents: Sequence[Document]) -> Iterator[FoundBranch]:
        known = set(self.found)
        for index, document in enumerate(documents):
            if document.text is None or not is_sampled(document, self._rows_of_sample):
                continue
            self.examined += 1
            text = document.text[:SAMPLED_CHARACTERS]
            matches = match_alternatives(self._pre_tokenizer, text) if self._pre_tokenizer else ()
            for match in matches if len(known) < len(self._names) else ():
                name = match.alternative or UNMATCHED
                if name not in known:
                    known.add(name)
                    yield FoundBranch(index, name, _excerpt(text, match.start, match.end))


def _excerpt(text: str, start: int, end: int) -> str:
    return text[max(0, start - _AROUND) : min(end, start + _LONGEST) + _AROUND]
