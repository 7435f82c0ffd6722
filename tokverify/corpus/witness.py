"""Record short excerpts of documents that together contain every token, and every feature, of a corpus.

The excerpt of a token depends only on the first document with the token: it is decoded from the ids around the first
place where it occurs. So the result does not depend on how a corpus is divided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from tokverify.compare.affix import affixes_of
from tokverify.corpus.coverage import BranchRecorder, ScriptPairs, find_branches, find_script_pairs
from tokverify.corpus.document import Document
from tokverify.engine.batch import EncodedBatch
from tokverify.engine.encoder import Encoder
from tokverify.engine.pre_tokenizer import PreTokenizer
from tokverify.text.sequence import group_values
from tokverify.texts.mode import Mode

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 16
_WIDE = 64
_WHOLE = 1 << 12

BRANCH = "the pre-tokenizer's alternative "
SCRIPTS = "the scripts "

_CHARACTERS = 6


@dataclass(frozen=True, slots=True, order=True)
class Witness:
    """An excerpt of a document, and what it is kept for."""

    path: str
    row: int
    text: str
    tokens: tuple[int, ...] = ()
    """Ids that occur in it, and in no document before."""
    features: tuple[str, ...] = ()
    """Features, as of `find_features`, that occur in it and in no document before."""


class _Place(NamedTuple):
    path: str
    row: int
    text: str


FirstPlaces: TypeAlias = "dict[int | str, _Place]"
"""For each token and feature, the first place where it occurs."""


def add_witnesses(first: FirstPlaces, witnesses: Iterable[Witness]) -> None:
    """Keep the first place of each token and feature; the order of the calls does not matter."""
    for witness in witnesses:
        place = _Place(witness.path, witness.row, witness.text)
        items: list[int | str] = [*witness.tokens, *witness.features]
        for item in items:
            first[item] = min(first.get(item, place), place)


def group_witnesses(first: FirstPlaces) -> tuple[Witness, ...]:
    """Return a witness for each place, in order."""
    items = group_values((place, item) for item, place in first.items())
    return tuple(
        Witness(
            *place,
            tokens=tuple(sorted(item for item in found if isinstance(item, int))),
            features=tuple(sorted(item for item in found if isinstance(item, str))),
        )
        for place, found in sorted(items.items())
    )


class WitnessRecorder:
    """Records the excerpts of one file, whose documents must come in order."""

    def __init__(self, encoder: Encoder, path: str, place: str, mode: Mode) -> None:
        self._encoder = encoder
        self._path = path
        self._mode = mode
        self._branches = BranchRecorder(encoder, place)
        self._pairs = ScriptPairs()
        before, after = affixes_of(encoder) if mode.add_special else ((), ())
        self._affixes = len(before), len(after)
        self._seen = np.zeros(encoder.vocab_size, dtype=bool)
        self._first: FirstPlaces = {}

    def add(self, documents: Sequence[Document], ids: EncodedBatch) -> None:
        """Record a batch of documents and their ids, which must be in the vocabulary."""
        batch = Batch(documents, ids, self._affixes)
        is_new = batch.is_inner & ~self._seen[batch.ids]
        while is_new.any():
            left = self._keep(batch, batch.find_first(is_new), _BLOCK)
            left = self._keep(batch, self._keep(batch, left, _WIDE), _WHOLE)
            is_new &= ~self._seen[batch.ids]
            # A token whose excerpts do not contain it is looked for in the next document.
            for found in left:
                part = batch.part(found.document)
                is_new[part] &= batch.ids[part] != found.token
        for branch in self._branches.add(documents):
            self._keep_feature(documents[branch.document].row, BRANCH + branch.name, branch.excerpt)
        for document in documents:
            if document.text is not None:
                self._add_script_pairs(document.row, document.text)

    def witnesses(self) -> tuple[Witness, ...]:
        """Return everything recorded so far."""
        return group_witnesses(self._first)

    def _keep(self, batch: Batch, found: Sequence[Occurrence], size: int) -> list[Occurrence]:
        """Keep the excerpts of about `size` ids that contain the tokens they were made for; return the other ones."""
        texts = [batch.excerpt(each, size, self._encoder) for each in found]
        distinct = list(dict.fromkeys(texts))
        # A token that is added around every text must occur in the excerpt itself.
        encoded = self._encoder.encode_batch(distinct, add_special=False, parse_special=self._mode.parse_special)
        contained = dict(zip(distinct, map(set, encoded), strict=True))
        left: list[Occurrence] = []
        for each, text in zip(found, texts, strict=True):
            if each.token in contained[text]:
                self._seen[each.token] = True
                self._first[each.token] = _Place(self._path, batch.documents[each.document].row, text)
            else:
                left.append(each)
        return left

    def _add_script_pairs(self, row: int, text: str) -> None:
        if not text.isascii() and self._pairs.add([text]):
            for feature, excerpt in _locate_script_pairs(text):
                self._keep_feature(row, feature, excerpt)

    def _keep_feature(self, row: int, feature: str, excerpt: str) -> None:
        self._first.setdefault(feature, _Place(self._path, row, excerpt))


class Occurrence(NamedTuple):
    """A token at one place of a batch."""

    token: int
    place: int
    """Among all ids of the batch."""
    document: int
    """The index of the document."""


class Batch:
    """Documents and their ids.

    Args:
        documents: The documents.
        ids: Their ids.
        affixes: How many ids at the beginning and the end of each document were added around its text.
    """

    def __init__(self, documents: Sequence[Document], ids: EncodedBatch, affixes: tuple[int, int]) -> None:
        self.documents = documents
        self.ids: NDArray[np.uint32] = np.frombuffer(ids.ids, np.uint32)
        offsets = np.frombuffer(ids.offsets, np.int64)
        self._starts = offsets[:-1] + affixes[0]
        self._ends = np.maximum(offsets[1:] - affixes[1], self._starts)
        steps = np.zeros(len(self.ids) + 1 + sum(affixes), dtype=np.int32)
        np.add.at(steps, self._starts, 1)
        np.add.at(steps, self._ends, -1)
        self.is_inner: NDArray[np.bool_] = np.cumsum(steps)[: len(self.ids)] > 0
        """For each id, whether it belongs to the text of its document."""

    def find_first(self, wanted: NDArray[np.bool_]) -> list[Occurrence]:
        """Return the first place of each distinct token among the wanted places."""
        places = np.flatnonzero(wanted)
        tokens, first = np.unique(self.ids[places], return_index=True)
        indices = np.searchsorted(self._starts, places[first], "right") - 1
        found = zip(tokens.tolist(), places[first].tolist(), indices.tolist(), strict=True)
        return [Occurrence(*each) for each in found]

    def part(self, index: int) -> slice:
        """Return where the ids of the text of a document are."""
        return slice(int(self._starts[index]), int(self._ends[index]))

    def excerpt(self, found: Occurrence, size: int, encoder: Encoder) -> str:
        """Decode the block of `size` ids of its document that a token is in."""
        part = self.part(found.document)
        start = found.place - (found.place - part.start) % size
        return encoder.decode(self.ids[start : min(start + size, part.stop)].tolist()).decode("utf-8", "ignore")


def find_features(pre_tokenizer: PreTokenizer | None, text: str) -> set[str]:
    """Return the features of a text as texts for people."""
    branches = find_branches(pre_tokenizer, text) if pre_tokenizer else set()
    return {*map(BRANCH.__add__, branches), *map(SCRIPTS.__add__, find_script_pairs(text))}


def _locate_script_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the features of a text that are pairs of scripts, from its beginning, each with the text around it."""
    for index, (left, right) in enumerate(pairwise(text)):
        if not (left.isascii() and right.isascii()):
            for pair in find_script_pairs(left + right):
                yield SCRIPTS + pair, text[max(0, index - _CHARACTERS) : index + _CHARACTERS]
