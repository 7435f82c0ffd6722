"""Adding up results takes time for each result, and not for all files that are known."""

import tracemalloc
from collections import Counter
from typing import ClassVar

import pytest

from support.selection import slow_if
from tokverify.corpus.coverage import Coverage
from tokverify.corpus.document import CorpusFile, WorkUnit
from tokverify.corpus.result import CauseTally, Example, GroupTally, Place, Tally, UnitResult
from tokverify.corpus.state import ProgressCounter

pytestmark = pytest.mark.process

MEASURED = 100


class CountedPath(str):
    """A path that counts how often it is hashed or compared."""

    __slots__ = ()
    operations: ClassVar[Counter[str]] = Counter()

    def __hash__(self) -> int:
        self.operations["hash"] += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        self.operations["compare"] += 1
        return super().__eq__(other)

    def __lt__(self, other: str) -> bool:
        self.operations["compare"] += 1
        return super().__lt__(other)


def result(unit: WorkUnit, number: int) -> UnitResult:
    path = CountedPath(unit.file.path)
    example = Example(f"{number:016x}", Place(path, 1, "text"), "text")
    tally = Tally(
        documents=2,
        differing=1,
        causes={"ids": CauseTally(1, (example,))},
        sources={path: GroupTally(2, 1)},
        scripts={"Latin": GroupTally(2, 1)},
        coverage=Coverage(tokens=bytes(range(256)), branches=("a",), script_pairs=("Latin Han",)),
    )
    return UnitResult("plan", unit.id, tally, 0.5)


def cost_of_last_results(files: int) -> tuple[int, int]:
    """Return how many operations on paths, and how many bytes at a time, the last results of many files take."""
    units = [WorkUnit(CorpusFile(f"{number:06}.txt", "text", 9, ""), size=9) for number in range(files)]
    results = [result(unit, number) for number, unit in enumerate(units)]
    counter = ProgressCounter(units)
    for each in results[:-MEASURED]:
        counter.take(each)
    CountedPath.operations.clear()
    tracemalloc.start()
    for each in results[-MEASURED:]:
        counter.take(each)
        assert counter.progress.documents
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    operations = CountedPath.operations.total()
    assert len(counter.tally.sources) == counter.progress.units.done == files
    return operations, peak


@pytest.mark.parametrize("files", slow_if(lambda files: files > 10_000, [10_000, 100_000]))
def test_the_cost_of_a_result_does_not_depend_on_the_number_of_files(files: int):
    small, large = cost_of_last_results(1_000), cost_of_last_results(files)
    assert small[0] == large[0] <= 100 * MEASURED
    assert max(small[1], large[1]) < 500_000


@pytest.mark.parametrize("again", [False, True])
def test_a_result_counts_once(again):
    units = [WorkUnit(CorpusFile(name, "text", 9, ""), size=9) for name in "ab"]
    counter = ProgressCounter(units)
    counter.take(result(units[0], 0))
    if again:
        counter.take(result(units[0], 0))
    assert (counter.tally.documents, counter.remaining_bytes, counter.missing) == (2, 9, [units[1]])
    assert counter.progress.causes == {"ids": 1}
