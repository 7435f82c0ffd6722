"""The files of the vocabularies of the benchmark; importing this needs nothing but Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import checkout  # noqa: F401

from support.real_data import SHARED

if TYPE_CHECKING:
    from pathlib import Path

VOCABS = SHARED / "vocabs"
REAL = (
    "gpt-2", "qwen2", "mpt", "gemma-4", "llama-spm", "gemma-3", "bert-bge", "t5", "xlnet", "nomic-bert-moe",
)  # fmt: skip
REWRITTEN = ("rwkv", "plamo2", "plamo3", "hybriddna", "whitespace")
"""The families without an available file; see `rewritten_vocabulary`."""


def gguf_of(name: str, folder: Path) -> Path:
    """Return the file of a vocabulary; a rewritten one is written into `folder` once.

    Raises:
        FileNotFoundError: If the file, or the one it is made from, is not among the shared data.
    """
    path = (folder if name in REWRITTEN else VOCABS) / f"{name}.gguf"
    if name in REWRITTEN and not path.exists():
        from rewritten_vocabulary import write

        write(name, path)
    if not path.exists():
        raise FileNotFoundError(path)
    return path


def reference_of(name: str, suffix: str) -> Path:
    """Return the reference file of a vocabulary.

    Raises:
        FileNotFoundError: If it does not exist.
    """
    path = VOCABS / f"{name}.{suffix}"
    if not path.exists():
        raise FileNotFoundError(path)
    return path
