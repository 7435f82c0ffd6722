"""Keep a configuration, which a stranger may have written, inside its repository.

docs/trust.md describes what else tokverify does with files from strangers.
"""

from __future__ import annotations

from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.location import is_inside

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
