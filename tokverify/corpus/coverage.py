"""Record which tokens, pre-tokenizer alternatives and pairs of scripts occur in documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tokverify.corpus.branch import BranchRecorder
from tokverify.engine.batch import EncodedBatch
from tokverify.engine.engine_choice import usable_native_module
from tokverify.explain.stats.text import learn_scripts, script_of_letter
from tokverify.report.corpus import CorpusCoverage
from tokverify.report.fields import Count
from tokverify.texts.coverage import CoverageCounter
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokverify.corpus.document import Document

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
    """Records what occurs in documents.

    Args:
        tokenizer: The tokenizer whose ids are recorded.
        place: What the rows of the documents count, as for `BranchRecorder`.
    """

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

    Args:
        tokenizer: The tokenizer whose ids were recorded.
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
