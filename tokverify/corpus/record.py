"""Record what was found in the documents of a unit, and turn it into a tally."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.corpus.result import CauseTally, Example, GroupTally, Place, ReasonTally, Tally, TallySum, add
from tokverify.engine.engine_choice import usable_native_module
from tokverify.explain.stats.text import script_of_line

if TYPE_CHECKING:
    from tokverify.corpus.check import Checked, Found
    from tokverify.corpus.document import CorpusFile, Document, Unreadable

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
        counted = Tally(sources={self._file.path: group}, scripts=scripts)
        for name, count in self._counts.items():
            counted = replace(counted, **{name: count})  # type: ignore[arg-type]  # only counts
        return add(self._sum.tally(), counted)


def _count_bytes(texts: Sequence[str]) -> int:
    """Return the size of texts in UTF-8."""
    module = usable_native_module()
    if module is None:
        return sum(len(text) if text.isascii() else len(text.encode()) for text in texts)
    size: int = module.count_bytes(tuple(texts))
    return size


def _script(text: str | None) -> str:
    return (script_of_line(text[:_SCRIPT_CHARACTERS]) if text else None) or "none"
