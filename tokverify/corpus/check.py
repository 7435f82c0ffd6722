"""Check: encode a batch of documents with two tokenizers, and find those on which they differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeGuard

import numpy as np

from tokverify.compare.limits.limit import Text
from tokverify.corpus.document import Document
from tokverify.engine.batch import EncodedBatch
from tokverify.errors import EncodeError
from tokverify.report.corpus import CorpusCause
from tokverify.texts.batch import encode_all
from tokverify.texts.mode import Mode, Modes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokverify.compare.limits.explaining import Explainer
    from tokverify.engine.encoder import Encoder
    from tokverify.tokenizer import Tokenizer

    Classify = Callable[[Sequence[int], Sequence[int]], tuple[str, ...]]

BATCH_CHARACTERS: Final = 1 << 20
"""Large, because the two tokenizers evict each other's tables from the caches of the processor."""

_OUR_BATCH_CHARACTERS: Final = 1 << 22
"""Even larger, because our encoder needs much less memory for ids than other libraries."""


class Found(NamedTuple):
    """A document on which the two sides differ."""

    position: int
    """In its batch."""
    causes: tuple[str, ...]
    actual: Sequence[int]
    expected: Sequence[int]
    limits: tuple[str, ...] = ()
    """The codes of the limits that explain the difference completely."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a batch."""

    actual: EncodedBatch
    """The ids of the tokenizer under test; none for a text that it cannot encode."""
    expected_tokens: int
    different: list[Found] = field(default_factory=list)
    failed: list[tuple[int, str]] = field(default_factory=list)
    """The positions of documents that could not be compared, and why, in one of few texts."""


class Checker(Protocol):
    """Compares batches of documents."""

    @property
    def batch_characters(self) -> int:
        """How many characters a batch should have."""

    def check(self, documents: Sequence[Document]) -> Checked:
        """Compare a batch."""

    def differ(self, text: str) -> Found | None:
        """Compare a part of a text; None if both sides agree on it, or it cannot be compared by itself."""


class TokenizerChecker:
    """Compares the ids of two tokenizers.

    Args:
        actual: The tokenizer under test.
        expected: The reference.
        mode: The options to encode with, where both sides support them.
        classify: Names the causes of a difference, given the ids of both sides.
        limits: Explains differences by limits of llama.cpp; None if nothing does.
    """

    def __init__(
        self, actual: Tokenizer, expected: Tokenizer, mode: Mode, classify: Classify, limits: Explainer | None = None
    ) -> None:
        self._actual = actual
        self._expected = expected
        self._asked = mode
        self._classify = classify
        self._limits = limits
        self._modes = Modes(actual, expected)
        are_ours = _is_ours(actual) and _is_ours(expected)
        self.batch_characters = _OUR_BATCH_CHARACTERS if are_ours else BATCH_CHARACTERS

    def check(self, documents: Sequence[Document]) -> Checked:
        """Compare a batch of documents, which must have a text."""
        texts = [document.text or "" for document in documents]
        modes = self._choose(texts)
        actual, expected = (_encode(side, texts, modes) for side in (self._actual, self._expected))
        checked = Checked(actual.batch, len(expected.batch.ids))
        if not (actual.failed or expected.failed) and _are_equal(actual.batch, expected.batch):
            return checked
        for index in _differing(actual, expected):
            text = Text(texts[index], *modes[index], tuple(expected.batch[index]))
            self._judge(checked, index, text, actual, expected)
        return checked

    def differ(self, text: str) -> Found | None:
        """Compare a text; None if both sides agree on it."""
        return next(iter(self.check([Document(0, text)]).different), None)

    def _choose(self, texts: Sequence[str]) -> list[Mode]:
        if self._modes.parses_special:  # then the text does not matter
            return [self._modes.choose("", self._asked)] * len(texts)
        return [self._modes.choose(text, self._asked) for text in texts]

    def _judge(self, checked: Checked, index: int, text: Text, actual: _Encoded, expected: _Encoded) -> None:
        if index in actual.failed and index in expected.failed:
            checked.failed.append((index, "neither side can encode the text"))
            return
        ids, others = actual.batch[index], expected.batch[index]
        failed = index in actual.failed or index in expected.failed
        limits = self._limits.find(text) if self._limits and not failed else ()
        if limits:
            causes: tuple[str, ...] = (CorpusCause.LIMIT,)
        else:
            causes = (CorpusCause.ERROR,) if failed else self._classify(ids, others)
        checked.different.append(Found(index, causes, ids, others, limits))


class _Encoded(NamedTuple):
    batch: EncodedBatch
    failed: frozenset[int]
    """The texts that cannot be encoded."""


def _is_ours(tokenizer: Tokenizer) -> TypeGuard[Encoder]:
    from tokverify.engine.encoder import Encoder

    return isinstance(tokenizer, Encoder)


def _encode(tokenizer: Tokenizer, texts: Sequence[str], modes: Sequence[Mode]) -> _Encoded:
    if _is_ours(tokenizer) and len(set(modes)) == 1:
        try:
            return _Encoded(tokenizer.encode_batch(texts, **modes[0]._asdict()), frozenset())
        except EncodeError:
            pass  # find out below which texts cannot be encoded
    return _store(encode_all(tokenizer, texts, modes))


def _store(encoded: Sequence[object]) -> _Encoded:
    """Store the ids of all texts; llama.cpp's id -1 means that the vocabulary has no token for a text."""
    lists = [ids if isinstance(ids, list) else [] for ids in encoded]
    failed = {index for index, ids in enumerate(encoded) if not isinstance(ids, list)}
    try:
        return _Encoded(EncodedBatch.from_lists(lists), frozenset(failed))
    except EncodeError:  # rare, so nothing else looks at each id
        failed |= {index for index, ids in enumerate(lists) if min(ids, default=0) < 0}
        kept = [[] if index in failed else ids for index, ids in enumerate(lists)]
        return _Encoded(EncodedBatch.from_lists(kept), frozenset(failed))


def _are_equal(left: EncodedBatch, right: EncodedBatch) -> bool:
    return np.array_equal(_array(left.ids), _array(right.ids)) and left.offsets == right.offsets


def _array(ids: memoryview) -> NDArray[np.uint32]:
    return np.frombuffer(ids, np.uint32)


def _differing(left: _Encoded, right: _Encoded) -> list[int]:
    """Return the indices of the texts that differ or cannot be encoded."""
    found = []
    ids, others = _array(left.batch.ids), _array(right.batch.ids)
    starts, other_starts = left.batch.offsets, right.batch.offsets
    for index in range(len(left.batch)):
        here = ids[starts[index] : starts[index + 1]]
        there = others[other_starts[index] : other_starts[index + 1]]
        if index in left.failed or index in right.failed or not np.array_equal(here, there):
            found.append(index)
    return found
