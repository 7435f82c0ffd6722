"""Check: encode a batch of documents with two tokenizers, and find those on which they differ."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from tokverify.compare.affix import affixes_of
from tokverify.compare.limits.explaining import Explainer
from tokverify.compare.limits.limit import Text
from tokverify.corpus.cause import AROUND, Classifier
from tokverify.corpus.document import Document
from tokverify.engine.batch import EncodedBatch
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError
from tokverify.report.corpus import CorpusCause
from tokverify.texts.batch import encode_all
from tokverify.texts.mode import Mode, Modes
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

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

    The options of `mode` are used where both sides support them; `classify` names the causes of a difference.
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
        are_ours = isinstance(actual, Encoder) and isinstance(expected, Encoder)
        self.batch_characters = _OUR_BATCH_CHARACTERS if are_ours else BATCH_CHARACTERS

    def check(self, documents: Sequence[Document]) -> Checked:
        """Compare a batch of documents, which must have a text."""
        texts = [document.text or "" for document in documents]
        modes = self._choose(texts)
        actual, expected = (_encode(side, texts, modes) for side in (self._actual, self._expected))
        checked = Checked(actual.batch, len(expected.batch.ids))
        ids, others = _array(actual.batch.ids), _array(expected.batch.ids)
        are_equal = np.array_equal(ids, others) and actual.batch.offsets == expected.batch.offsets
        if are_equal and not actual.failed and not expected.failed:
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


def _encode(tokenizer: Tokenizer, texts: Sequence[str], modes: Sequence[Mode]) -> _Encoded:
    if isinstance(tokenizer, Encoder) and len(set(modes)) == 1:
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


_NOT_ENCODED = "the tokenizer cannot encode the text"


class TokenizedChecker:
    """Compares the ids in a corpus with those of the tokenizer that should have produced them.

    The ids in the corpus are the actual side.
    """

    def __init__(self, encoder: Encoder, mode: Mode, classifier: Classifier) -> None:
        self.batch_characters = BATCH_CHARACTERS
        self._encoder = encoder
        self._mode = mode
        self._classifier = classifier
        self._padding = _padding_of(encoder)
        self._affixes = affixes_of(encoder) if mode.add_special else ([], [])

    def check(self, documents: Sequence[Document]) -> Checked:
        """Check a batch of documents, which must have ids."""
        actual = [list(document.ids or ()) for document in documents]
        expected = list(map(self._encode, documents, actual))
        checked = Checked(EncodedBatch.from_lists(map(self._keep_known, actual)), sum(map(len, filter(None, expected))))
        for index, (ids, others) in enumerate(zip(actual, expected, strict=True)):
            if others is None:
                checked.failed.append((index, _NOT_ENCODED))
            elif ids != others:
                causes = self.find_causes(ids, others, has_text=documents[index].text is not None)
                checked.different.append(Found(index, causes, ids, others))
        return checked

    def differ(self, text: str) -> None:
        """Return nothing: the ids of a part of a text are not known."""

    def find_causes(self, actual: list[int], expected: list[int], *, has_text: bool) -> tuple[CorpusCause, ...]:
        """Return why the ids of a document are not those that the tokenizer returns."""
        found = set[CorpusCause]()
        inner = _strip(actual, self._padding)
        if len(inner) < len(actual):
            found.add(CorpusCause.PADDING)
        if any(id >= self._encoder.vocab_size for id in inner):
            found.add(CorpusCause.OUTSIDE_VOCABULARY)
        elif has_text and self._is_truncated(inner, expected):
            found.add(CorpusCause.TRUNCATED)
        elif inner != expected:
            # Without a text, decoding and encoding again only shows that ids are others.
            causes = self._classifier.classify(inner, expected)
            found.update(cause if has_text or cause in AROUND else CorpusCause.NOT_CANONICAL for cause in causes)
        return tuple(cause for cause in CorpusCause if cause in found)

    def _is_truncated(self, actual: list[int], expected: list[int]) -> bool:
        """Check whether the ids are a beginning of the expected ones, perhaps with what is added at the end."""
        before, after = self._affixes
        ended = bool(after) and actual[-len(after) :] == after
        kept = actual[: len(actual) - len(after)] if ended else actual
        whole = expected[: len(expected) - len(after)]
        return len(before) < len(kept) < len(whole) and whole[: len(kept)] == kept

    def _encode(self, document: Document, ids: list[int]) -> list[int] | None:
        """Return the ids that a document should have; None if its text cannot be encoded."""
        try:
            if document.text is not None:
                return self._encoder.encode(document.text, **self._mode._asdict())
            return self._encode_again(ids)
        except EncodeError:
            return None

    def _encode_again(self, ids: list[int]) -> list[int]:
        """Return the ids of the text that ids represent, between the tokens that are added around a text."""
        before, after = self._affixes
        inner = self._keep_known(_strip(ids, self._padding))
        inner = _strip_end(_strip_end(inner[::-1], set(before))[::-1], set(after))
        encoded = self._encoder.encode(self._encoder.decode(inner), add_special=False, parse_special=True)
        return [*before, *encoded, *after]

    def _keep_known(self, ids: list[int]) -> list[int]:
        """Return the ids that are in the vocabulary."""
        size = self._encoder.vocab_size
        return ids if max(ids, default=0) < size else [id for id in ids if id < size]


def _padding_of(encoder: Encoder) -> frozenset[int]:
    """Return the ids that pad documents: that of the role, unless the token also ends or begins a text."""
    others = {encoder.special_ids.get(role) for role in ("bos", "eos", "unk", "sep")}
    return frozenset(id for id in [encoder.special_ids.get("pad")] if id is not None and id not in others)


def _strip(ids: list[int], unwanted: Collection[int]) -> list[int]:
    """Remove ids from both ends."""
    return _strip_end(_strip_end(ids[::-1], unwanted)[::-1], unwanted)


def _strip_end(ids: list[int], unwanted: Collection[int]) -> list[int]:
    end = len(ids)
    while end and ids[end - 1] in unwanted:
        end -= 1
    return ids[:end]
