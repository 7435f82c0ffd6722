"""Open one version of a tokenizer: a file, a reference, or a file of a git revision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.diff.revision import path_here, revision_of
from tokverify.errors import TokverifyError
from tokverify.files.location import file_and_rest, find_existing
from tokverify.references import open_reference
from tokverify.verify.side import reference_side, side_of

if TYPE_CHECKING:
    from tokverify.report.run import Side
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a tokenizer."""

    tokenizer: Tokenizer
    side: Side
    spec: TokenizerSpec | None
    """What it declares, as a GGUF file would; None if that is unknown."""
    unread: str = ""
    """Why `spec` is None."""
    path: Path | None = None
    """The file it was read from, if any."""
    file: str = ""
    """The same file as the user names it, without a revision."""


def open_version(location: str, directory: Path) -> Version:
    """Open the tokenizer at a location; a file of a git revision is written to the empty `directory` first.

    A GGUF file is encoded by tokverify, as llama.cpp would; any other tokenizer by its own library.

    Args:
        location: Whatever a model or a reference can be, or `REVISION:PATH` as `git show` takes it.
        directory: Where to write files from git; it must exist as long as the version is used.

    Raises:
        TokverifyError: If nothing is there; a subclass if the tokenizer is broken or not supported.
    """
    path = _file(location)
    if path is None and (revision := revision_of(location)):
        name = location.removeprefix(f"{revision.name}:")
        from_git = revision.write(name, directory)
        try:
            version = _open(str(from_git), from_git)
        except TokverifyError as error:
            # The directory means nothing to the user, and is gone by the time the message is read.
            raise type(error)(str(error).replace(str(from_git), location)) from error
        return replace(version, side=replace(version.side, source=location), file=path_here(name))
    return _open(location, path)


def _file(location: str) -> Path | None:
    path = find_existing(location)
    return path if path and path.is_file() else None


def _open(location: str, path: Path | None) -> Version:
    from tokverify.files.load import load_gguf
    from tokverify.files.tokenizer_file import kind_of_model

    if path and kind_of_model(path) == "gguf":
        encoder = load_gguf(path)
        return Version(encoder, replace(side_of(encoder), source=location), encoder.spec, path=path, file=location)
    found = open_reference(location)
    side = reference_side(found)
    file_of_pattern = file_and_rest(location)
    path = file_of_pattern[0] if file_of_pattern else found.path
    spec, unread = _read(location if file_of_pattern else path)
    is_named = find_existing(location) or file_of_pattern
    return Version(found.tokenizer, side, spec, unread, path, str(path) if path and is_named else "")


def _read(location: Path | str | None) -> tuple[TokenizerSpec | None, str]:
    from tokverify.files.tokenizer_file import read_spec

    if location is None:
        return None, "its encoder exposes nothing else"
    try:
        return read_spec(location), ""
    except TokverifyError as error:
        # Its own library can read it: it has been opened already.
        return None, str(error)
