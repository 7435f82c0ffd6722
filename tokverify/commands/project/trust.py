"""Keep a configuration, which a stranger may have written, inside its repository.

docs/trust.md describes what else tokverify does with files from strangers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.sources.location import file_and_rest, find_existing
from tokverify.sources.stores.location import is_remote, is_stored

OPTION = "--allow-outside"
"""The option that lets a configuration name files outside of its repository."""


def repository_of(configuration: Path) -> Path:
    """Return the root of the repository that a configuration belongs to; without one, the directory of the file."""
    directory = configuration.parent.resolve()
    roots = (place for place in (directory, *directory.parents) if (place / ".git").exists())
    return next(roots, directory)


def find_outside(path: Path, root: Path) -> Path | None:
    """Return the first file outside of `root` that a path leads to, through links too; None if there is none.

    Of a directory, every file below it counts.
    """
    return next((file for file in chain([path], _files_below(path)) if not _is_inside(file, root)), None)


def find_reference_outside(location: str, directory: Path, root: Path) -> Path | None:
    """Return the file outside of `root` that the location of a reference leads to; None if there is none.

    Args:
        location: Such as `FILE`, `KIND:FILE` or `FILE:PATTERN`; hub ids and addresses are no files.
        directory: That of the configuration, where a file is looked for before the working directory.
        root: The root of the repository.
    """
    beside = directory / location
    if beside.exists():
        return find_outside(beside, root)
    for part in (location, location.partition(":")[2]):
        if is_stored(part) and not is_remote(part):
            return Path(part)
        split = file_and_rest(part)
        path = find_existing(part) or (split[0] if split else None)
        if part and path and (outside := find_outside(path, root)):
            return outside
    return None


def require_inside(path: Path, root: Path) -> None:
    """Check that a configured file may be written.

    Raises:
        TokverifyError: If it is outside of the repository.
    """
    if not _is_inside(path, root):
        raise TokverifyError(
            f"{path}: a configured report may be written only inside the repository {root}; "
            "name this file with --report instead"
        )


def _is_inside(path: Path, root: Path) -> bool:
    # subtle: a loop of links is resolved to a path inside of it, and is no file.
    return Path(os.path.realpath(path)).is_relative_to(root)


def _files_below(directory: Path) -> Iterator[Path]:
    for place, _, names in os.walk(directory):
        yield from (Path(place, name) for name in names)
