"""Drive a simulated run over a corpus of 100 TB: everything but reading and encoding, which workers do elsewhere.

    python benchmarks/corpus_simulation.py model.gguf state/ --files 780000

The run is interrupted twice. Each line says how long a step took, and how long per file.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections import deque
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self
from unittest.mock import patch

import tokverify
from tokverify.commands.tasks.corpus import run_plan
from tokverify.commands.tasks.corpus_state import corpus_status
from tokverify.corpus.coverage import Coverage, CoverageDescriber
from tokverify.corpus.document import CorpusFile
from tokverify.corpus.executor import Finished, Job
from tokverify.corpus.plan import Plan, Request, divide
from tokverify.corpus.result import CauseTally, Example, GroupTally, Place, Tally
from tokverify.corpus.state import StateDirectory
from tokverify.location import Typed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokverify.report.corpus import CorpusProgress

_FILE_BYTES = 128_000_000
_DOCUMENTS = 40_000


class _InterruptedError(Exception):
    pass


class SimulatedWorkers:
    """An executor whose workers have found something in each file at once."""

    capacity = 64

    def __init__(self, tokens: int) -> None:
        self._jobs: deque[Job] = deque()
        self._tokens = tokens
        self._random = random.Random(1)  # noqa: S311

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, job: Job) -> None:
        self._jobs.append(job)

    def wait(self) -> Finished:
        job = self._jobs.popleft()
        return Finished(job, self._tally(job.part.unit.file.path), 60.0)

    def _tally(self, path: str) -> Tally:
        group = GroupTally(_DOCUMENTS, 1)
        example = Example(
            f"{self._random.getrandbits(64):016x}", Place(path, 7, "parquet"), "a text " * 9, (1, 2), (3,)
        )
        return Tally(
            documents=_DOCUMENTS,
            bytes=3 * _FILE_BYTES,
            differing=1,
            causes={"ids": CauseTally(1, (example,))},
            sources={path: group},
            scripts={"Latin": group, "Han": GroupTally(9), "Cyrillic": GroupTally(9)},
            coverage=Coverage(tokens=self._random.randbytes(-(-self._tokens // 8)), script_pairs=("Latin Han",)),
        )


def make_plan(files: int) -> Plan:
    names = (f"s3://bucket/corpus/part-{number:07}.parquet" for number in range(files))
    found = [CorpusFile(name, "parquet", _FILE_BYTES, "0123456789abcdef") for name in names]
    return Plan(Request(model=Typed("model.gguf")), {"the model": "simulated"}, tuple(divide(found, 1 << 27)))


@contextmanager
def timed(step: str, files: int) -> Iterator[None]:
    start = time.process_time()
    yield
    seconds = time.process_time() - start
    print(f"{step}: {seconds:.1f} s, {seconds / max(1, files) * 1000:.3f} ms for each file", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("state", type=Path)
    parser.add_argument("--files", type=int, default=780_000)
    options = parser.parse_args()
    files: int = options.files
    encoder = tokverify.load_model(options.model)
    state = StateDirectory(options.state)

    def run(last: int) -> Tally:
        def watch(progress: CorpusProgress) -> None:
            if last <= progress.units.done < files:
                raise _InterruptedError

        coverage = CoverageDescriber(encoder)
        return run_plan(plan, plan.units, coverage, jobs=2, state=state, on_progress=watch)

    with timed("plan", files):
        plan = make_plan(files)
        state.begin(plan)
    with patch("tokverify.commands.tasks.corpus._make_executor", lambda *_: SimulatedWorkers(encoder.vocab_size)):
        for last in (files // 10, files * 9 // 10):
            with timed(f"run, interrupted after {last:,} files", last), suppress(_InterruptedError):
                run(last)
        with timed("run to the end", files - last):
            tally = run(files)
    with timed("status, from the directory alone", files):
        progress = corpus_status(options.state)
    assert progress.units.done == len(tally.sources) == files
    assert progress.documents == tally.documents == files * _DOCUMENTS
    size = sum(unit.size for unit in plan.units) / 1e12
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{files:,} files, {size:.1f} TB, {tally.differing:,} documents differ; at most {memory:,} MiB of memory")


if __name__ == "__main__":
    main()
