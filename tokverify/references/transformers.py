"""The reference `transformers`: what `AutoTokenizer` loads, which includes slow and custom tokenizers.

The library runs in a child process as a program: it takes seconds to import, prints, and may run the model's own code.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tokverify.errors import MissingLibraryError, TokverifyError
from tokverify.references.library_process import REMOTE_CODE, describe, start_worker
from tokverify.references.reference import FoundReference, Request
from tokverify.sources.tokenizer_file import kind_of_model

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
    source = f"{location} ({', '.join(options)})" if options else location
    return replace(describe(program, request, json_in(location)), source=source, caveat=CAVEAT)


def json_in(location: str) -> Path | None:
    """Return the path of the tokenizer.json in a directory, which may lack it; None for a name on the hub."""
    return Path(location) / "tokenizer.json" if Path(location).is_dir() else None


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
