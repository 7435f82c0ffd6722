"""Measure `tokverify corpus` against reading and encoding the same Parquet files and doing nothing else.

    python benchmarks/corpus.py model.gguf tokenizer.json data/ -j 2    # against `encode_batch_fast` of tokenizers
    python benchmarks/corpus.py model.gguf other.gguf data/ -j 2        # against encoding with both

Prints seconds and the ratio of the two; opening the tokenizers is included on both sides.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import pyarrow.parquet as pq

from tokverify import open_model
from tokverify.tasks.corpus import verify_corpus

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


def encode_file(tokenizers: list[str], column: str, path: Path) -> int:
    """Encode the texts in a file with each tokenizer, and return the number of ids."""
    count = 0
    for batch in pq.ParquetFile(path).iter_batches(_ROWS, columns=[column], use_threads=False):
        texts = batch.column(column).to_pylist()
        for name in tokenizers:
            if name.endswith(".json"):
                count += sum(len(encoding.ids) for encoding in _open_hugging_face(name).encode_batch_fast(texts))
            else:
                count += len(_open_model(name).encode_batch(texts, add_special=True).ids)
    return count


def encode_only(tokenizers: list[str], column: str, paths: list[Path], jobs: int) -> float:
    """Return the seconds that encoding takes."""
    start = time.perf_counter()
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        sum(pool.map(partial(encode_file, tokenizers, column), paths))
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("reference")
    parser.add_argument("data", type=Path, help="a directory of Parquet files")
    parser.add_argument("--text", default="text", metavar="COLUMN")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    paths = sorted(options.data.glob("*.parquet"))
    is_json = options.reference.endswith(".json")
    tokenizers = [options.reference] if is_json else [options.model, options.reference]
    bare = encode_only(tokenizers, options.text, paths, options.jobs)
    start = time.perf_counter()
    report = verify_corpus(options.model, options.reference, paths, text=options.text, jobs=options.jobs)
    whole = time.perf_counter() - start
    megabytes = report.bytes / 1e6
    print(f"{megabytes:,.0f} MB in {report.documents:,} documents, {report.differing:,} differ")
    print(f"encoding only  {bare:8.2f} s  {megabytes / bare:7.1f} MB/s")
    print(f"corpus         {whole:8.2f} s  {megabytes / whole:7.1f} MB/s  {whole / bare:.2f} times as long")


if __name__ == "__main__":
    main()
