"""Record short excerpts of documents that together contain every token, and every feature, of a corpus.

The excerpt of a token depends only on the first document with the token: it is decoded from the ids around the first
place where it occurs. So the result does not depend on how a corpus is divided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokverify.compare.affix import affixes_of
from tokverify.corpus.batch import Batch, Occurrence
from tokverify.corpus.branch import BranchRecorder
from tokverify.corpus.feature import BRANCH, locate_script_pairs
from tokverify.corpus.script_pair import ScriptPairs
from tokverify.engine.batch import EncodedBatch
from tokverify.engine.encoder import Encoder

if TYPE_CHECKING:
    from tokverify.corpus.document import Document
    from tokverify.texts.mode import Mode

_BLOCK = 16
_WIDE = 64
_WHOLE = 1 << 12


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


def add_witnesses(left: Sequence[Witness], right: Sequence[Witness]) -> tuple[Witness, ...]:
    """Keep the first witness for each token and feature; associative, commutative and idempotent."""
    if not (left and right):
        return tuple(left or right)
    first: dict[int | str, _Place] = {}
    for witness in (*left, *right):
        place = _Place(witness.path, witness.row, witness.text)
        items: list[int | str] = [*witness.tokens, *witness.features]
        for item in items:
            first[item] = min(first.get(item, place), place)
    return _group(first)


def _group(first: dict[int | str, _Place]) -> tuple[Witness, ...]:
    items: dict[_Place, list[int | str]] = {}
    for item, place in first.items():
        items.setdefault(place, []).append(item)
    return tuple(
        Witness(
            *place,
            tokens=tuple(sorted(item for item in found if isinstance(item, int))),
            features=tuple(sorted(item for item in found if isinstance(item, str))),
        )
        for place, found in sorted(items.items())
    )


class WitnessRecorder:
    """Records the excerpts of one file, whose documents must come in order.

    Args:
        encoder: The tokenizer whose tokens are to be covered.
        path: The file.
        place: What the rows of the documents count, as for `BranchRecorder`.
        mode: The options with which documents are encoded.
    """

    def __init__(self, encoder: Encoder, path: str, place: str, mode: Mode) -> None:
        self._encoder = encoder
        self._path = path
        self._mode = mode
        self._branches = BranchRecorder(encoder, place)
        self._pairs = ScriptPairs()
        before, after = affixes_of(encoder) if mode.add_special else ((), ())
        self._affixes = len(before), len(after)
        self._seen = np.zeros(encoder.vocab_size, dtype=bool)
        self._first: dict[int | str, _Place] = {}

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
        return _group(self._first)

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
            for feature, excerpt in locate_script_pairs(text):
                self._keep_feature(row, feature, excerpt)

    def _keep_feature(self, row: int, feature: str, excerpt: str) -> None:
        self._first.setdefault(feature, _Place(self._path, row, excerpt))
