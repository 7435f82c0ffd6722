"""Observe what occurs in the documents of a file, besides comparing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokverify.corpus.coverage import CoverageRecorder
from tokverify.corpus.document import Document
from tokverify.corpus.source import SOURCES
from tokverify.corpus.unit import CorpusFile
from tokverify.corpus.witness import WitnessRecorder
from tokverify.engine.batch import EncodedBatch
from tokverify.engine.encoder import Encoder

if TYPE_CHECKING:
    from tokverify.corpus.result import Tally
    from tokverify.texts.mode import Mode


@dataclass(frozen=True, slots=True)
class Observation:
    """What to observe."""

    encoder: Encoder
    """The tokenizer whose ids are recorded."""
    mode: Mode
    """The options with which documents are encoded."""
    keeps_excerpts: bool = False
    """Whether to keep excerpts, from which a suite can be distilled."""


class Observer:
    """Observes the documents of one file, which must come in order.

    Args:
        observation: What to observe.
        file: The file.
    """

    def __init__(self, observation: Observation, file: CorpusFile) -> None:
        place = SOURCES[file.format].place
        self._coverage = CoverageRecorder(observation.encoder, place)
        self._witnesses = (
            WitnessRecorder(observation.encoder, file.path, place, observation.mode)
            if observation.keeps_excerpts
            else None
        )

    def add(self, documents: Sequence[Document], ids: EncodedBatch) -> None:
        """Observe a batch of documents and their ids, which must be in the vocabulary."""
        self._coverage.add(documents, ids)
        if self._witnesses:
            self._witnesses.add(documents, ids)

    def add_to(self, tally: Tally) -> Tally:
        """Return a tally with what was observed."""
        witnesses = self._witnesses.witnesses() if self._witnesses else ()
        return replace(tally, coverage=self._coverage.coverage(), witnesses=witnesses)
