"""Find where tokens occur first in a batch of documents, and decode the text around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokverify.corpus.document import Document
    from tokverify.engine.batch import EncodedBatch
    from tokverify.engine.encoder import Encoder


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
