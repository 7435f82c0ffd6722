"""Try whether the suite distilled from a corpus finds an injected fault that the corpus itself finds."""

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from support.mutation import Mutation
from support.mutation_trial import intact, write_mutant
from tokverify.cases.loading import load_cases
from tokverify.commands.tasks.corpus import verify_corpus
from tokverify.compare.comparison import verify_tokenizers
from tokverify.corpus.check import TokenizerChecker
from tokverify.corpus.conclusion import describe_place
from tokverify.corpus.document import Columns, Document, Reading, WorkUnit
from tokverify.corpus.locate import find_files
from tokverify.corpus.plan import divide
from tokverify.corpus.result import Place
from tokverify.corpus.source import SOURCES
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.report.run import FAILING
from tokverify.sources.load import load_gguf
from tokverify.texts.mode import Mode

_BATCH = 256
_UNIT_BYTES = 1 << 27
_MODE = Mode(add_special=True, parse_special=True)


@dataclass(frozen=True)
class Outcome:
    """What finds a fault."""

    mutation: Mutation
    loads: bool
    """Whether the mutant can be opened; if not, neither the corpus nor the suite is needed."""
    place: str
    """The first document of the corpus that differs; empty if none does."""
    failed: int
    """How many cases of the suite fail."""
    cases: int
    """How many cases the suite has."""

    @property
    def is_missed(self) -> bool:
        """Whether the corpus finds the fault, and the suite does not."""
        return bool(self.place) and not self.failed


def write_markers(path: Path, vocabularies: Iterable[str]) -> None:
    """Write documents, as JSON Lines, with every added token of some vocabularies; real texts contain few of them."""
    markers = chain.from_iterable(load_gguf(intact(vocabulary)).added_texts for vocabulary in vocabularies)
    lines = [json.dumps({"text": f"before {marker}after {marker}\n"}) for marker in dict.fromkeys(markers)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def distill_corpus(vocabulary: str, data: Sequence[Path], suite: Path, *, jobs: int = 1) -> int:
    """Distill a corpus, on which the intact file agrees with itself, into a suite; return the bytes of the corpus."""
    copy = Path(shutil.copy(intact(vocabulary), suite.with_suffix(".gguf")))
    report = verify_corpus(intact(vocabulary), copy, data, text="text", jobs=jobs, distilled=suite)
    if report.differing or report.unreadable:
        raise ValueError(f"{vocabulary}: the file differs from itself, or the corpus cannot be read")
    return report.bytes


def try_fault(mutation: Mutation, data: Sequence[Path], suite: Path) -> Outcome:
    """Write the mutant next to a suite, and compare it with the intact file on the corpus and on the suite.

    The corpus is read in order, only as far as the first document that differs.
    """
    path = suite.with_name("mutant.gguf")
    path.unlink(missing_ok=True)
    write_mutant(mutation, path)
    cases = load_cases([suite])
    expected = load_gguf(intact(mutation.vocabulary))
    try:
        actual = load_gguf(path)
    except TokverifyError:
        return Outcome(mutation, loads=False, place="", failed=0, cases=len(cases))
    results = verify_tokenizers(actual, expected, cases).results
    failed = sum(result.status in FAILING for result in results)
    return Outcome(mutation, True, find_difference(actual, expected, data), failed, len(cases))


def find_difference(actual: Encoder, expected: Encoder, data: Sequence[Path]) -> str:
    """Return where the first document is that two tokenizers encode differently; empty if there is none."""
    checker = TokenizerChecker(actual, expected, _MODE, lambda *_: ())
    for unit in divide(find_files([str(path) for path in data]).files, _UNIT_BYTES):
        documents = (item for item in read_unit(unit) if isinstance(item, Document))
        while batch := list(islice(documents, _BATCH)):
            for found in checker.check(batch).different:
                place = Place(Path(unit.file.path).name, batch[found.position].row, unit.file.format)
                return describe_place(place)
    return ""


def read_unit(unit: WorkUnit) -> Reading:
    return SOURCES[unit.file.format].read(unit, Columns("text"))
