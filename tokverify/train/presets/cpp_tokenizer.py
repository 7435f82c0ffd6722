"""CppTokenizer: the C++ hybrid tokenizer for programs that train or run a model with it."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path

from tokverify.engine.engine_choice import NATIVE
from tokverify.errors import UnsupportedError
from tokverify.sources.load import load_model
from tokverify.system.worker_pool import exit_with
from tokverify.text.sequence import pack
from tokverify.text.utf8 import to_utf8

_MODEL = "cpp-hybrid"


class CppTokenizer:
    """A tokenizer made by `tokverify train cpp`, from its tokenizer.json or its GGUF file, which are equivalent.

    Raises:
        UnsupportedError: If the file contains a tokenizer of another kind.
        TokverifyError: If there is no such file or it is broken.
    """

    def __init__(self, tokenizer_path: Path | str) -> None:
        self._path = Path(tokenizer_path).absolute()
        self._encoder = load_model(tokenizer_path)
        if self._encoder.spec.model != _MODEL:
            raise UnsupportedError(
                f"{tokenizer_path}: the tokenizer's model is {self._encoder.spec.model}, not {_MODEL}; "
                "make one with `tokverify train cpp`"
            )

    @property
    def vocab_size(self) -> int:
        """The number of ids, reserved ones included: 32,768 by default."""
        return self._encoder.vocab_size

    @property
    def bos_token_id(self) -> int:
        """The id of `<BOS>`, which no method adds: 2."""
        return self._encoder.special_ids["bos"]

    @property
    def eos_token_id(self) -> int:
        """The id of `<EOS>`, which no method adds: 3."""
        return self._encoder.special_ids["eos"]

    @property
    def pad_token_id(self) -> int:
        """The id of `<PAD>`: 0."""
        return self._encoder.special_ids["pad"]

    def encode(self, text: str) -> list[int]:
        """Encode a text, recognizing special tokens in it."""
        return self._encoder.encode(text)

    def encode_ordinary_batch(self, texts: Iterable[str], num_threads: int = 8) -> list[list[int]]:
        """Encode texts without recognizing special tokens, in parallel if there is enough text.

        Up to `num_threads` processors are used: by threads of the native engine if it knows this tokenizer, otherwise
        by processes.

        Raises:
            EncodeError: If a text contains a lone surrogate.
        """
        texts = list(texts)
        if self._encoder.engine.name == NATIVE:
            batch = self._encoder.encode_batch(texts, parse_special=False, threads=num_threads)
            return [list(ids) for ids in batch]
        processes = choose_processes(texts, num_threads)
        if processes > 1:
            return _encode_in_processes(self._path, texts, processes)
        return [self._encoder.encode(text, parse_special=False) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids, with spaces between words; bytes that are not UTF-8 become U+FFFD.

        Raises:
            EncodeError: If an id is outside the vocabulary.
        """
        return self._encoder.decode_text(ids)


WORTHWHILE = 1 << 20
"""The number of characters per process from which starting it is worth its time."""

# A child must import the same modules as this process, but not the program that it runs.
_CODE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import answer; answer()"

Ids = list[int]


def choose_processes(texts: Sequence[str], most: int) -> int:
    """Return how many processes, at most one per processor, are worthwhile for these texts."""
    worthwhile = sum(map(len, texts)) // WORTHWHILE
    return max(1, min(most, worthwhile, len(texts), os.cpu_count() or 1))


def _encode_in_processes(path: Path, texts: Sequence[str], processes: int) -> list[Ids]:
    """Encode texts without recognizing special tokens in them, each share of them in a process of its own.

    Raises:
        EncodeError: If a text contains a lone surrogate.
        RuntimeError: If a process fails.
    """
    for text in texts:
        to_utf8(text)
    with ThreadPoolExecutor(processes) as pool:
        shares = pool.map(partial(_ask, path), pack(texts, len, sum(map(len, texts)) / processes))
        return list(chain.from_iterable(shares))


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
