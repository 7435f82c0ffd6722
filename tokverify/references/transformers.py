"""The reference `transformers`: what `AutoTokenizer` loads, which includes slow and custom tokenizers.

The library runs in a child process as a program: it takes seconds to import, prints, and may run the model's own code.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tokverify.errors import MissingLibraryError, TokverifyError
from tokverify.references import library_worker
from tokverify.references.command import CommandTokenizer, settings_of
from tokverify.references.command_process import Program, StartError
from tokverify.references.reference import FoundReference, Request
from tokverify.sources.tokenizer_file import kind_of_model

REMOTE_CODE = "trust_remote_code"
"""The option that lets a repository run its own code."""
OPTIONS: Mapping[str, str] = {
    "slow": "the tokenizer written in Python, if there is one",
    REMOTE_CODE: "allow the repository to run its own code",
}
"""What can follow a location after a comma, and what it means."""

CAVEAT = (
    "transformers may change a tokenizer while it loads it; compare with the tokenizer.json to see what the file says"
)

_GGUF_CAVEAT = (
    "transformers makes a tokenizer of its own of a GGUF file, and what it does differently is no fault of the file"
)


def load(request: Request) -> FoundReference:
    """Load `PATH` or `org/name@revision`, which may be followed by options, as in `PATH,slow`.

    Raises:
        MissingLibraryError: If transformers is not installed.
        TokverifyError: If it cannot load the tokenizer, or only a file asks to run the code of a repository.
    """
    location, options = split_options(request.location.text)
    if not location:
        raise TokverifyError("transformers: there is no tokenizer; name one, as in `transformers:org/name`")
    if REMOTE_CODE in options:
        request.location.require_typed(f"transformers:{location}", f"ask for {REMOTE_CODE}")
    if os.path.lexists(location):
        request.location.at(location).require_reachable()
    if importlib.util.find_spec("transformers") is None:
        raise MissingLibraryError(
            "-r transformers:... needs transformers, which is not installed; install it with `pip install transformers`"
        )
    program = start_worker(sys.executable, "transformers", location, options)
    return FoundReference(
        CommandTokenizer(program, settings_of(request)),
        source=f"{location} ({', '.join(options)})" if options else location,
        caveat=CAVEAT,
        versions={"transformers": program.hello.version},
    )


def load_gguf(request: Request) -> FoundReference:
    """Load a GGUF file as transformers reads it (`gguf_file`), or MODEL itself if the location is empty.

    Raises:
        MissingLibraryError: If transformers is not installed.
        TokverifyError: If it cannot load the file, or MODEL is no GGUF file.
    """
    text = request.location.text or str(request.model or "")
    file = Path(split_options(text)[0])
    if kind_of_model(file) != "gguf" or not file.is_file():
        raise TokverifyError(f"transformers-gguf: {text or 'MODEL'} is not a GGUF file; name one after a colon")
    found = load(replace(request, location=request.location.at(text)))
    reads_model = request.model is not None and file.resolve() == request.model.resolve()
    return replace(found, caveat=_GGUF_CAVEAT, reads_model=reads_model)


def split_options(location: str) -> tuple[str, list[str]]:
    """Split the options off the end of a location."""
    options: list[str] = []
    while (parts := location.rpartition(","))[2] in OPTIONS and parts[1]:
        location = parts[0]
        options.insert(0, parts[2])
    return location, options


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
