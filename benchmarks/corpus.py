"""Measure `tokverify corpus` against reading and encoding the same Parquet or JSON Lines files and doing nothing else.

    python benchmarks/corpus.py model.gguf tokenizer.json data/ -j 2    # against `encode_batch_fast` of tokenizers
    python benchmarks/corpus.py model.gguf other.gguf data/ -j 2        # against encoding with both

Prints seconds, seconds of processor time (which a busy machine changes less), the ratios of both, and the memory of the
largest worker. Opening the tokenizers is included on both sides. `--parts 4` measures both ways in turn, each on a
quarter of the files at a time, so that other work on the machine affects them alike. `--repeat 4` names each file four
times, by links.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow.parquet as pq

from tokverify import open_model
from tokverify.commands.tasks.corpus import verify_corpus

if TYPE_CHECKING:
    from tokverify.report.corpus import CorpusReport

_ROWS = 512


@cache
def _open_hugging_face(path: str):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    return tokenizer


@cache
def _open_model(path: str):
    return open_model(path).encoder


def read_batches(path: Path, column: str) -> Iterator[list[str]]:
    """Yield the texts in a file, some at a time."""
    if path.suffix == ".parquet":
        for batch in pq.ParquetFile(path).iter_batches(_ROWS, columns=[column], use_threads=False):
            yield batch.column(column).to_pylist()
        return
    decoder = msgspec.json.Decoder(dict[str, str])
    with path.open("rb") as lines:
        while texts := [decoder.decode(line)[column] for line in islice(lines, _ROWS)]:
            yield texts


def encode_file(tokenizers: list[str], column: str, path: Path) -> int:
    """Encode the texts in a file with each tokenizer, and return the number of ids."""
    count = 0
    for texts in read_batches(path, column):
        for name in tokenizers:
            if name.endswith(".json"):
                count += sum(len(encoding.ids) for encoding in _open_hugging_face(name).encode_batch_fast(texts))
            else:
                count += len(_open_model(name).encode_batch(texts, add_special=True).ids)
    return count


def encode_only(tokenizers: list[str], column: str, paths: list[Path], jobs: int) -> None:
    """Encode and do nothing else."""
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        sum(pool.map(partial(encode_file, tokenizers, column), paths))


@dataclass(frozen=True, slots=True)
class Spent:
    """How long something took."""

    seconds: float = 0.0
    processor: float = 0.0
    """The seconds that all processors were busy with it."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.seconds + other.seconds, self.processor + other.processor)

    def describe(self, megabytes: float) -> str:
        return f"{self.seconds:8.2f} s  {self.processor:8.2f} s CPU  {megabytes / self.seconds:7.1f} MB/s"


def measure(run: Callable[[], object]) -> Spent:
    """Measure a call."""
    start, before = time.perf_counter(), sum(os.times()[:4])
    run()
    return Spent(time.perf_counter() - start, sum(os.times()[:4]) - before)


def list_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in {".parquet", ".jsonl"})


def repeat(paths: list[Path], times: int, folder: Path) -> list[Path]:
    """Link to each file several times."""
    links = [folder / f"{number}-{path.name}" for number in range(times) for path in paths]
    for link, path in zip(links, paths * times, strict=True):
        link.symlink_to(path.resolve())
    return links


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("reference")
    parser.add_argument("data", type=Path, help="a directory of Parquet or JSON Lines files")
    parser.add_argument("--text", default="text", metavar="COLUMN")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--parts", type=int, default=1, help="measure both ways on so many parts of the files in turn")
    parser.add_argument("--repeat", type=int, default=1, metavar="TIMES", help="name each file several times")
    parser.add_argument("--no-bare", dest="bare", action="store_false", help="do not encode without tokverify")
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    with tempfile.TemporaryDirectory() as folder:
        compare(options, repeat(list_files(options.data), options.repeat, Path(folder)))


def compare(options: argparse.Namespace, paths: list[Path]) -> None:
    """Measure both ways on one part of the files after the other, and print the sums so far."""
    is_json = options.reference.endswith(".json")
    tokenizers = [options.reference] if is_json else [options.model, options.reference]
    reports: list[CorpusReport] = []
    whole, bare = Spent(), Spent()
    if options.parts > len(paths):
        raise SystemExit(f"--parts: there are only {len(paths)} files")
    for number in range(options.parts):
        part = paths[number :: options.parts]
        verify = partial(verify_corpus, options.model, options.reference, part, text=options.text, jobs=options.jobs)
        whole += measure(lambda verify=verify: reports.append(verify()))
        if number == 0:  # later, the largest process may be one that encoded only
            memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        if options.bare:
            bare += measure(partial(encode_only, tokenizers, options.text, part, options.jobs))
        print_sums(reports, memory, whole, bare if options.bare else None)


def print_sums(reports: list[CorpusReport], memory: float, whole: Spent, bare: Spent | None) -> None:
    megabytes = sum(report.bytes for report in reports) / 1e6
    documents, differing = (sum(getattr(report, name) for report in reports) for name in ("documents", "differing"))
    print(f"{megabytes:,.0f} MB in {documents:,} documents, {differing:,} differ")
    print(f"corpus         {whole.describe(megabytes)}  {memory:,.0f} MiB", flush=True)
    if bare:
        print(f"encoding only  {bare.describe(megabytes)}")
        print(
            f"ratio          {whole.seconds / bare.seconds:8.2f}    {whole.processor / bare.processor:8.2f}", flush=True
        )


if __name__ == "__main__":
    main()
