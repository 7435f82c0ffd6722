"""Find the configuration file of a repository: tokverify.toml, or pyproject.toml with the table `tool.tokverify`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tokverify.errors import TokverifyError
from tokverify.location import is_inside
from tokverify.system.input_file import read_text

FILE = "tokverify.toml"
PROJECT = "pyproject.toml"
_MAX_BYTES = 1 << 20


def find_file(directory: Path) -> Path | None:
    """Find the configuration file of a directory or its nearest parent, up to the root of the repository.

    Raises:
        TokverifyError: If a pyproject.toml along the way cannot be read.
    """
    directory = directory.resolve()
    for place in (directory, *directory.parents):
        if file := file_in(place):
            return file
        if (place / ".git").exists():
            return None
    return None


def file_in(directory: Path) -> Path | None:
    """Return the configuration file in a directory: its tokverify.toml, or a pyproject.toml with the table.

    Raises:
        TokverifyError: If there is a pyproject.toml that cannot be read.
    """
    if (directory / FILE).is_file():
        return directory / FILE
    project = directory / PROJECT
    return project if project.is_file() and project_table(parse_document(project)) is not None else None


def is_configuration(path: Path) -> bool:
    """Check whether a file is the configuration of its directory.

    A broken pyproject.toml counts as one, so that reading it reports the problem.
    """
    try:
        return file_in(path.parent) == path
    except TokverifyError:
        return path.name == PROJECT


def contains_configuration(path: Path, ignored: Sequence[str] = ()) -> bool:
    """Check whether a path is a configuration, or there is one below it, not in a directory whose name is `ignored`."""
    if path.is_file():
        return is_configuration(path)
    for directory, subdirectories, names in os.walk(path):
        subdirectories[:] = [name for name in subdirectories if not any(fnmatch(name, pattern) for pattern in ignored)]
        if any(is_configuration(Path(directory, name)) for name in names if name.endswith(".toml")):
            return True
    return False


def locate_configuration(root: str) -> str:
    """Return the path of the configuration of the current directory, relative to the root of the repository.

    Reports for CI systems point at it if no file of the repository is to blame. Without one, this is `.`.
    """
    with suppress(OSError, TokverifyError):
        file = find_file(Path.cwd())
        if root and file and file.is_relative_to(root):
            return file.relative_to(root).as_posix()
    return "."


def project_table(document: dict[str, Any]) -> object:
    """Return the table `tool.tokverify` of a pyproject.toml; None if there is none."""
    tools = document.get("tool")
    return tools.get("tokverify") if isinstance(tools, dict) else None


def parse_document(path: Path) -> dict[str, Any]:
    """Parse a TOML file.

    Raises:
        TokverifyError: If it cannot be read, is too large, or is not valid TOML.
    """
    text = read_text(path, "configuration", _MAX_BYTES)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise TokverifyError(f"{path}: not valid TOML: {error}") from error


OPTION = "--allow-outside"
"""The option that lets a configuration name files outside of its repository."""


def repository_of(configuration: Path) -> Path:
    """Return the root of the repository that a configuration belongs to; without one, the directory of the file."""
    directory = configuration.parent.resolve()
    roots = (place for place in (directory, *directory.parents) if (place / ".git").exists())
    return next(roots, directory)


def require_inside(path: Path, root: Path) -> None:
    """Check that a configured file may be written.

    Raises:
        TokverifyError: If it is outside of the repository.
    """
    if not is_inside(path, root):
        raise TokverifyError(
            f"{path}: a configured report may be written only inside the repository {root}; "
            "name this file with --report instead"
        )


def require_own(path: Path, root: Path) -> None:
    """Check that a file in a repository that the user has not named, only its directory, does not lead elsewhere.

    Raises:
        TokverifyError: If a link does.
    """
    if not is_inside(path, root):
        raise TokverifyError(f"{path}: a link leads out of the repository {root}; remove it, or name a file there")
