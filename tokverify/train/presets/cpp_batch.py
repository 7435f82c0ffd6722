"""Encode many texts with the C++ hybrid tokenizer in several processes: threads of Python cannot encode in parallel."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tokverify.sources.load import load_model
from tokverify.system.worker_pool import exit_with
from tokverify.text.utf8 import to_utf8

WORTHWHILE = 1 << 20
"""The number of characters per process from which starting it is worth its time."""

# A child must import the same modules as this process, but not the program that it runs.
_CODE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import answer; answer()"

Ids = list[int]


def choose_processes(texts: Sequence[str], most: int) -> int:
    """Return how many processes, at most one per processor, are worthwhile for these texts."""
    worthwhile = sum(map(len, texts)) // WORTHWHILE
    return max(1, min(most, worthwhile, len(texts), os.cpu_count() or 1))


def encode_in_processes(path: Path, texts: Sequence[str], processes: int) -> list[Ids]:
    """Encode texts without recognizing special tokens in them, each share of them in a process of its own.

    Raises:
        EncodeError: If a text contains a lone surrogate.
        RuntimeError: If a process fails.
    """
    for text in texts:
        to_utf8(text)
    with ThreadPoolExecutor(processes) as pool:
        shares = list(pool.map(partial(_ask, path), _share(texts, processes)))
    return [ids for share in shares for ids in share]


def _share(texts: Sequence[str], count: int) -> Iterator[list[str]]:
    """Split texts into `count` shares with about the same number of characters."""
    size = sum(map(len, texts)) / count
    share: list[str] = []
    done = 0
    for text in texts:
        share.append(text)
        done += len(text)
        if done >= size:
            yield share
            share, done = [], 0
    if share:
        yield share


def _ask(path: Path, texts: list[str]) -> list[Ids]:
    command = [sys.executable, "-P", "-c", _CODE.format(module=__name__), json.dumps(sys.path)]
    done = subprocess.run(command, input=pickle.dumps((path, texts)), capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"encoding in another process failed:\n{done.stderr.decode(errors='replace')}")
    result: list[Ids] = pickle.loads(done.stdout)  # noqa: S301 - from our own child
    return result


def answer() -> None:
    """Run as a child: read the path of a tokenizer and texts from stdin, and write their ids to stdout."""
    exit_with(os.getppid())
    path, texts = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own parent
    encoder = load_model(path)
    pickle.dump([encoder.encode(text, parse_special=False) for text in texts], sys.stdout.buffer)
