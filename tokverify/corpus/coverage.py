"""Record which tokens, alternatives of the pre-tokenizer's patterns and pairs of scripts occur in documents.

The native engine looks for alternatives, the branches, in all documents, and stops when it has found all that there
are. The Python engine would take many times as long as for encoding, so it looks for them in the first
`SAMPLED_CHARACTERS` of a sample. Whether a document belongs to the sample depends on the document alone, so the result
does not depend on how a corpus is divided.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokverify.corpus.document import Document
from tokverify.engine import pre_pattern
from tokverify.engine.batch import EncodedBatch
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE, usable_native_module
from tokverify.engine.native import rule_name
from tokverify.engine.pre_token import alternatives, function_name, match_alternatives
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer
from tokverify.explain.stats.text import learn_scripts, script_of_letter
from tokverify.report.corpus import CorpusCoverage
from tokverify.report.fields import Count
from tokverify.texts.coverage import CoverageCounter
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


_CHARACTERS = 0x110000
_UNKNOWN = 255
"""The class of characters that have not occurred; 0 is that of characters without a script."""


def find_script_pairs(text: str) -> set[str]:
    """Return the pairs in a text."""
    if text.isascii():
        return set()
    scripts = {(script_of_letter(left), script_of_letter(right)) for left, right in set(pairwise(text))}
    return {f"{left} {right}" for left, right in scripts if left and right and left != right}


class _Classes:
    """Numbers the scripts, and knows those of the characters that have occurred."""

    def __init__(self) -> None:
        self.of_characters = bytearray([_UNKNOWN]) * _CHARACTERS
        self.scripts: list[str | None] = [None]
        self._numbers: dict[str | None, int] = {None: 0}

    def learn(self, characters: Sequence[int]) -> None:
        """Find the classes of characters."""
        distinct = set(characters)
        learn_scripts(map(chr, distinct))
        for character in distinct:
            script = script_of_letter(chr(character))
            if script not in self._numbers:
                self._numbers[script] = len(self.scripts)
                self.scripts.append(script)
            self.of_characters[character] = self._numbers[script]


@cache
def _classes() -> _Classes:
    """Return the classes, which a process needs only once."""
    return _Classes()


class ScriptPairs:
    """Collects the pairs in texts."""

    def __init__(self) -> None:
        # subtle: a module that was compiled before this function was written lacks it, and is fine otherwise.
        self._mark = getattr(usable_native_module(), "mark_class_pairs", None)
        self._found: set[str] = set()
        self._is_irrelevant = np.eye(_UNKNOWN + 1, dtype=np.uint8)
        self._is_irrelevant[0] = self._is_irrelevant[:, 0] = 1
        self._pairs = self._is_irrelevant.copy()
        """Whether a pair of classes occurred, or is not one of two scripts."""

    def add(self, texts: Sequence[str]) -> bool:
        """Collect the pairs in texts; return whether any of them is new."""
        if self._mark is None:
            count = len(self._found)
            self._found.update(*map(find_script_pairs, texts))
            return len(self._found) > count
        is_new, unknown, incomplete = self._mark(tuple(texts), _classes().of_characters, self._pairs.reshape(-1))
        if not unknown:
            return bool(is_new)
        _classes().learn(unknown)
        return self.add([texts[index] for index in incomplete]) or bool(is_new)

    def pairs(self) -> set[str]:
        """Return the pairs collected so far."""
        scripts = _classes().scripts
        marked = np.argwhere(self._pairs > self._is_irrelevant).tolist()
        return self._found | {f"{scripts[left]} {scripts[right]}" for left, right in marked}


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What occurs in some documents."""

    tokens: bytes = b""
    """A bit for each id, the lowest first."""
    branches: tuple[str, ...] = ()
    """Alternatives of the pre-tokenizer's patterns, sorted."""
    script_pairs: tuple[str, ...] = ()
    """Such as `Latin Han`, sorted."""
    sampled: Count = 0
    """How many documents were examined for the alternatives."""


def add_coverage(left: Coverage, right: Coverage) -> Coverage:
    """Combine what occurs in different documents; associative and commutative."""
    size = max(len(left.tokens), len(right.tokens))
    bits = [int.from_bytes(side.tokens, "little") for side in (left, right)]
    return Coverage(
        tokens=(bits[0] | bits[1]).to_bytes(size, "little"),
        branches=tuple(sorted({*left.branches, *right.branches})),
        script_pairs=tuple(sorted({*left.script_pairs, *right.script_pairs})),
        sampled=left.sampled + right.sampled,
    )


class CoverageRecorder:
    """Records what occurs in documents."""

    def __init__(self, tokenizer: Tokenizer, place: str) -> None:
        self._seen = np.zeros(tokenizer.vocab_size, np.uint8)
        self._branches = BranchRecorder(tokenizer, place)
        self._pairs = ScriptPairs()

    def add(self, documents: Sequence[Document], ids: EncodedBatch) -> None:
        """Record a batch of documents and their ids, which must be in the vocabulary."""
        _mark_ids(ids.ids, self._seen)
        texts = [document.text for document in documents if document.text is not None]
        self._pairs.add([text for text in texts if not text.isascii()])
        self._branches.add(documents)

    def coverage(self) -> Coverage:
        """Return everything recorded so far."""
        return Coverage(
            tokens=np.packbits(self._seen, bitorder="little").tobytes(),
            branches=tuple(sorted(self._branches.found)),
            script_pairs=tuple(sorted(self._pairs.pairs())),
            sampled=self._branches.examined,
        )


def _mark_ids(ids: memoryview, table: NDArray[np.uint8]) -> None:
    """Set the bytes of ids in a table to 1."""
    mark = getattr(usable_native_module(), "mark_ids", None)  # in half the time
    if mark is None:
        table[np.frombuffer(ids, np.uint32)] = 1
    elif ids:  # an empty array can be at an address that the module refuses
        mark(ids, table)


def covered_ids(coverage: Coverage) -> list[int]:
    """Return the ids that occur, in ascending order."""
    bits = np.unpackbits(np.frombuffer(coverage.tokens, np.uint8), bitorder="little")
    ids: list[int] = np.flatnonzero(bits).tolist()
    return ids


class CoverageDescriber:
    """Turns coverage into report data.

    Finding the merges of all tokens takes longer than everything else at the end of a run, and so `prepare` is called
    with each part of the coverage, while other processes work.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._prepared = 0

    @cached_property
    def _counter(self) -> CoverageCounter:
        return CoverageCounter(self._tokenizer)

    def prepare(self, part: Coverage) -> None:
        """Find the merges of the tokens in a part of what is described later."""
        bits = int.from_bytes(part.tokens, "little")
        if new := bits & ~self._prepared:
            self._prepared |= new
            self._counter.add(covered_ids(replace(part, tokens=new.to_bytes(len(part.tokens), "little"))))

    def describe(self, coverage: Coverage) -> CorpusCoverage:
        """Return coverage as report data, with the share of the merges that build the tokens that occur."""
        self.prepare(coverage)
        return CorpusCoverage(
            vocabulary=self._counter.coverage,
            branches=coverage.branches,
            script_pairs=coverage.script_pairs,
            sampled=coverage.sampled,
        )
