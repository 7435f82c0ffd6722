"""The reference `llama.cpp@/path/to/llama-tokenize`: the program of llama.cpp, which is run for each text."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from tokverify.engine.family import Affixes
from tokverify.engine.settings import resolve
from tokverify.references import llama_tokenize_worker
from tokverify.references.command import CommandTokenizer
from tokverify.references.command_process import Program
from tokverify.spec import TokenizerSpec

_LIBRARY = re.compile(r"\.(so|dylib|dll)(\.|$)")
_SECONDS = 1200.0
"""The limit for a request of many texts, each of which has its own."""


def is_program(path: Path) -> bool:
    """Whether a path is that of a program, and not of a library."""
    return not _LIBRARY.search(path.name) and path.is_file() and os.access(path, os.X_OK)


def open_program(program: Path, model: Path, spec: TokenizerSpec) -> tuple[CommandTokenizer, int | None]:
    """Return the tokenizer of a GGUF file in llama-tokenize, and the number of the build; None if it is not known.

    Raises:
        TokverifyError: If the program cannot be started.
    """
    settings = resolve(spec)
    adds_special = settings.family.affixes is Affixes.BY_FLAG and settings.add_bos
    arguments = [program.absolute(), model, len(spec.tokens), "yes" if adds_special else "no"]
    command = [sys.executable, "-I", "-S", llama_tokenize_worker.__file__, *map(str, arguments)]
    started = Program(command, seconds=_SECONDS)
    version = started.hello.version
    return CommandTokenizer(started, settings), int(version) if version.isdecimal() else None
