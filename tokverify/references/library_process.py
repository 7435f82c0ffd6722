"""Run a Python library in another process: in this environment, or in one with another version of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tokenizers import Tokenizer

from tokverify.errors import BrokenFileError, EncodeError, TokverifyError, UnsupportedError, or_raise
from tokverify.references import library_worker
from tokverify.references.command import CommandTokenizer, settings_of
from tokverify.references.command_process import Program, StartError
from tokverify.references.command_protocol import Failure, Operation
from tokverify.references.huggingface import DescribedTokenizer, from_json
from tokverify.references.reference import FoundReference, Request
from tokverify.sources.config import generation_end_ids, special_texts
from tokverify.sources.location import read_file

REMOTE_CODE = "trust_remote_code"
"""The option that lets a repository run its own code."""

_SAVE: Operation[bool] = Operation("save", "paths", "saved", lambda value: value is True)
"""What `library_worker.py` does besides the protocol: write a tokenizer.json."""


class LibraryTokenizer(DescribedTokenizer):
    """A tokenizer that a library in another process encodes and decodes with, and that a tokenizer.json describes."""

    def __init__(self, tokenizer: Tokenizer, *, program: CommandTokenizer, **options: Any) -> None:  # noqa: ANN401 - of the base class
        special_ids = program.special_ids or options["special_ids"]
        super().__init__(tokenizer, **{**options, "name": program.name, "special_ids": special_ids})
        self._program = program
        self.parses_special = program.parses_special
        self.always_parses_special = program.always_parses_special

    def close(self) -> None:
        """End the program; it is restarted when needed."""
        self._program.close()

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to token ids."""
        return or_raise(self.encode_many([text], add_special=add_special, parse_special=parse_special)[0])

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | Failure]:
        """Encode texts, many in one request; the result for a text that cannot be encoded is its error."""
        before, after = (add_special and self._around) or ((), ())
        adds = add_special and not self._around
        every = self._program.encode_many(texts, add_special=adds, parse_special=parse_special)
        return [[*before, *ids, *after] if isinstance(ids, list) else ids for ids in every]

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids as the library does, which replaces bytes that are not UTF-8 by U+FFFD."""
        return self._program.decode(ids)


def start_worker(python: str, kind: str, location: str, options: Sequence[str] = ()) -> Program:
    """Start a library in the environment of a Python.

    Raises:
        TokverifyError: If it cannot load the tokenizer.
    """
    # Isolated: a file in the working directory must not replace a module of the library.
    arguments = [python, "-I", library_worker.__file__, kind, location, *options]
    variables = {"TRANSFORMERS_VERBOSITY": "error", "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1"}
    try:
        return Program(arguments, environment=variables)
    except StartError as error:
        advice = f"; if you trust it, add `,{REMOTE_CODE}` to the location" if REMOTE_CODE in error.reason else ""
        raise TokverifyError(f"{location}: {kind} cannot load it ({error.reason}){advice}") from error


def describe(program: Program, request: Request, path: Path | None) -> FoundReference:
    """Return the tokenizer of a program that `start_worker` started, with the tokenizer.json that describes it, if any.

    Args:
        program: The program.
        request: What was asked for.
        path: The tokenizer.json that the library has read, or that would be in the directory that it has read.
    """
    tokenizer = CommandTokenizer(program, settings_of(request))
    found = FoundReference(
        tokenizer,
        source=request.location.text,
        directory=path.parent if path else None,
        versions={program.hello.name: program.hello.version},
    )
    held = _read_held(program)
    if held is None:
        return found
    roles, ends = (special_texts(path), generation_end_ids(path)) if path else ({}, ())
    make = partial(LibraryTokenizer, program=tokenizer)
    try:
        described = from_json(
            held, source=found.source, special_texts=roles, end_ids=ends, is_file=True, path=path, make=make
        )
    except (BrokenFileError, UnsupportedError):
        return found
    return replace(found, tokenizer=described.tokenizer)


def _read_held(program: Program) -> bytes | None:
    """Return the tokenizer.json that a library holds; None if it holds none that describes what it does."""
    # A library that fails here is asked for ids and tokens nevertheless.
    with TemporaryDirectory() as temporary, suppress(EncodeError, BrokenFileError, UnsupportedError):
        file = Path(temporary) / "tokenizer.json"
        if program.ask(_SAVE, [str(file)]) == [True]:
            return read_file(file)
    return None
