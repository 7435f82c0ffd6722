"""Work: compare the documents of one unit."""

from __future__ import annotations

import hashlib
import signal
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias

from tokverify.corpus.check import Checked, Checker, Found
from tokverify.corpus.coverage import CoverageRecorder
from tokverify.corpus.document import Columns, CorpusFile, Document, Reading, UnitPart, Unreadable, WorkUnit
from tokverify.corpus.files import UnreadableFileError
from tokverify.corpus.result import CauseTally, Example, GroupTally, Place, ReasonTally, Tally, TallySum, add
from tokverify.corpus.source import SOURCES
from tokverify.corpus.witness import WitnessRecorder
from tokverify.engine.batch import EncodedBatch
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import usable_native_module
from tokverify.explain.stats.text import script_of_line
from tokverify.texts.mode import Mode

_SCRIPT_CHARACTERS = 64
"""The script of a document is that of its beginning: looking at all of it would take as long as encoding it."""


def hash_of(document: Document) -> str:
    """Return a hash of the text of a document, or of its ids if it has no text; 16 hexadecimal digits."""
    content = document.ids.tobytes() if document.ids and document.text is None else (document.text or "").encode()
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _hash_of_example(document: Document) -> str:
    """Return a hash that differs for equal texts with different ids in the corpus."""
    if document.text is None or not document.ids:
        return hash_of(document)
    content = document.text.encode() + b"\0" + document.ids.tobytes()
    return hashlib.blake2b(content, digest_size=8).hexdigest()


class Recorder:
    """Counts what is found in one file."""

    def __init__(self, file: CorpusFile) -> None:
        self._file = file
        self._counts: Counter[str] = Counter()
        self._scripts: Counter[str] = Counter()
        self._differing_scripts: Counter[str] = Counter()
        self._sum = TallySum()

    def leave_out(self) -> None:
        """Record a document that is not in the sample."""
        self._counts["sampled_out"] += 1

    def add_unreadable(self, unreadable: Unreadable) -> None:
        """Record something that could not be compared."""
        place = Place(self._file.path, -1 if unreadable.row is None else unreadable.row, self._file.format)
        self._counts["unreadable"] += unreadable.documents
        if unreadable.is_null:
            self._counts["null"] += unreadable.documents
        reason = ReasonTally(unreadable.documents, (place,))
        self._sum.add(Tally(reasons={unreadable.reason: reason}))

    def add_batch(self, documents: Sequence[Document], checked: Checked) -> None:
        """Record a batch of documents, all of which were checked; those that failed are not counted as compared."""
        failed = {index for index, _ in checked.failed}
        scripts = [_script(document.text) for document in documents]
        self._counts["documents"] += len(documents) - len(failed)
        self._counts["bytes"] += _count_bytes([document.text for document in documents if document.text is not None])
        self._counts["actual_tokens"] += len(checked.actual.ids)
        self._counts["expected_tokens"] += checked.expected_tokens
        self._scripts.update(script for index, script in enumerate(scripts) if index not in failed)
        for found in checked.different:
            self._counts["differing"] += 1
            self._differing_scripts[scripts[found.position]] += 1
            self._add_difference(documents[found.position], found)

    def _add_difference(self, document: Document, found: Found) -> None:
        place = Place(self._file.path, document.row, self._file.format)
        example = Example(_hash_of_example(document), place, document.text, tuple(found.actual), tuple(found.expected))
        tallies = {cause: CauseTally(1, (example,)) for cause in found.causes}
        self._sum.add(Tally(causes=tallies, limits=dict.fromkeys(found.limits, 1)))

    def tally(self) -> Tally:
        """Return everything recorded so far."""
        group = GroupTally(*(self._counts[name] for name in ("documents", "differing", "unreadable")))
        differing = self._differing_scripts
        scripts = {script: GroupTally(count, differing[script]) for script, count in sorted(self._scripts.items())}
        counts: dict[str, Any] = dict(self._counts)
        return add(self._sum.tally(), Tally(**counts, sources={self._file.path: group}, scripts=scripts))


def _count_bytes(texts: Sequence[str]) -> int:
    """Return the size of texts in UTF-8."""
    module = usable_native_module()
    if module is None:
        return sum(len(text) if text.isascii() else len(text.encode()) for text in texts)
    size: int = module.count_bytes(tuple(texts))
    return size


def _script(text: str | None) -> str:
    return (script_of_line(text[:_SCRIPT_CHARACTERS]) if text else None) or "none"


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
    """Observes the documents of one file, which must come in order."""

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


_BATCH_DOCUMENTS = 1024
_HASH_BITS = 64
_SECONDS = 20
_SECONDS_PER_DOCUMENT = 0.05
_CHARACTERS_PER_SECOND = 20_000
"""Much slower than any tokenizer. Where one is slower still, parts of a unit are repeated, and a document has time."""

Differ: TypeAlias = "Callable[[str], Found | None]"
"""Compares a text; None if both sides agree on it."""

MAX_EXCERPT = 1 << 14
"""In characters; also the limit for the ids of an example."""

_ENOUGH = 1 << 10


class Worker:
    """Processes one part of a unit after the other; what it holds in memory does not depend on their size.

    Args:
        checker: Compares batches of documents.
        columns: The columns to read.
        rate: The share of the documents to compare, from 0 to 1; which ones depends on their texts only.
        observation: What to observe besides; None for nothing.
    """

    def __init__(
        self, checker: Checker, columns: Columns, rate: float = 1.0, observation: Observation | None = None
    ) -> None:
        self._checker = checker
        self._columns = columns
        self._below = int(rate * 2**_HASH_BITS)
        self._observation = observation
        self._seconds: float | None = None

    def limit_time(self, seconds: float = _SECONDS) -> None:
        """End the process if a batch takes much too long, at least some seconds; only for one that does nothing else.

        subtle: the signal has its default action, because no handler written in Python runs before native code returns.
        """
        if hasattr(signal, "setitimer"):  # not on Windows
            self._seconds = seconds

    def process(self, part: UnitPart) -> Tally:
        """Compare the documents of a part of a unit."""
        recorder = Recorder(part.unit.file)
        observer = Observer(self._observation, part.unit.file) if self._observation else None
        for batch in self._batches(self._select(self._read(part), recorder)):
            checked = self._check(batch)
            recorder.add_batch(batch, checked)
            if observer:
                observer.add(batch, checked.actual)
            for index, reason in checked.failed:
                recorder.add_unreadable(Unreadable(batch[index].row, reason))
        tally = _shorten_examples(recorder.tally(), self._checker.differ)
        return observer.add_to(tally) if observer else tally

    def _check(self, batch: Sequence[Document]) -> Checked:
        if self._seconds is None:
            return self._checker.check(batch)
        characters = sum(len(document.text or "") for document in batch)
        more = len(batch) * _SECONDS_PER_DOCUMENT + characters / _CHARACTERS_PER_SECOND
        signal.setitimer(signal.ITIMER_REAL, self._seconds + more)
        try:
            return self._checker.check(batch)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def locate(self, part: UnitPart) -> array[int]:
        """Return the rows of the documents of a part, without comparing them; -1 for an unknown one."""
        return array("q", (-1 if item.row is None else item.row for item in self._read(part)))

    def _read(self, part: UnitPart) -> Reading:
        return islice(_read_to_end(part.unit, self._columns), part.first, part.last)

    def _select(self, reading: Reading, recorder: Recorder) -> Iterator[Document]:
        for item in reading:
            if isinstance(item, Unreadable):
                recorder.add_unreadable(item)
            elif self._below < 2**_HASH_BITS and int(hash_of(item), 16) >= self._below:
                recorder.leave_out()
            else:
                yield item

    def _batches(self, documents: Iterator[Document]) -> Iterator[list[Document]]:
        batch: list[Document] = []
        size = 0
        for document in documents:
            batch.append(document)
            size += len(document.text or "") + len(document.ids or ())
            if size >= self._checker.batch_characters or len(batch) == _BATCH_DOCUMENTS:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch


def _read_to_end(unit: WorkUnit, columns: Columns) -> Reading:
    """Read a unit; where it cannot be read any further, the last item says so."""
    try:
        yield from SOURCES[unit.file.format].read(unit, columns)
    except UnreadableFileError as error:
        yield Unreadable(None, str(error))


def _shorten_examples(tally: Tally, differ: Differ) -> Tally:
    """Replace each long text by a part of it that differs for the same reason, if there is one.

    So the size of a tally does not depend on the length of documents.

    A text none of whose halves differs is not shortened any further; if it is still long, it is left out.
    """
    causes = {
        cause: CauseTally(found.documents, tuple(_shorten(example, cause, differ) for example in found.examples))
        for cause, found in tally.causes.items()
    }
    return replace(tally, causes=causes)


def _shorten(example: Example, cause: str, differ: Differ) -> Example:
    if example.text is None or len(example.text) <= _ENOUGH:
        return _limit(example)
    while (part := _differing_part(example, cause, differ)) is not None:
        example = part
    return _limit(example)


def _differing_part(example: Example, cause: str, differ: Differ) -> Example | None:
    text = example.text or ""
    middle, quarter = len(text) // 2, len(text) // 4
    for part in (text[:middle], text[middle:], text[quarter:-quarter]) if len(text) > _ENOUGH else ():
        found = differ(part)
        if found and cause in found.causes:
            return replace(example, text=part, actual=tuple(found.actual), expected=tuple(found.expected))
    return None


def _limit(example: Example) -> Example:
    if max(len(example.text or ""), len(example.actual), len(example.expected)) > MAX_EXCERPT:
        return replace(example, text=None, actual=(), expected=())
    return example
