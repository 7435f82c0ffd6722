"""Write a directory of results so that all of them appear, or none."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.system.output_file import SUFFIX, require_outside_git, stem_of


def check_output(output: Path, *, force: bool, inputs: Iterable[Path]) -> None:
    """Fail before the work begins if the results could not, or must not, be written to a directory.

    Raises:
        TokverifyError: If `output` is a file, its parent is missing, it is not empty and `force` is off, it contains
            one of the `inputs`, or it belongs to git.
    """
    require_outside_git(output)
    if output.is_symlink() and not output.exists():
        raise TokverifyError(f"{output}: cannot write there: it is a broken symbolic link; name a directory")
    if output.exists() and not output.is_dir():
        raise TokverifyError(f"{output}: cannot write there: it is a file; name a directory")
    if not output.parent.is_dir():
        raise TokverifyError(f"{output}: cannot write there: {output.parent} is not a directory; create it first")
    if not output.is_dir():
        return
    for path in inputs:
        if path.resolve().parent == output.resolve():
            raise TokverifyError(f"{output}: cannot write there: it contains the input {path}; name another directory")
    _require_replaceable(output, force=force)


def _require_replaceable(output: Path, *, force: bool) -> None:
    if any(output.iterdir()) and not force:
        raise TokverifyError(f"{output}: already contains files; name another directory or overwrite them with --force")


@contextmanager
def stage_output(output: Path) -> Iterator[Path]:
    """Yield a temporary directory, and move its files to `output` if the block succeeds.

    Any failure, such as an interrupt or a full disk, leaves `output` as it was.

    Raises:
        TokverifyError: If a file cannot be written.
    """
    require_outside_git(output)
    try:
        # On the same file system as the output, so that moving is one step.
        with tempfile.TemporaryDirectory(SUFFIX, stem_of(output), _nearest(output)) as name:
            results, replaced = Path(name, "new"), Path(name, "old")
            results.mkdir()
            yield results
            if output.exists():
                _replace(results, output, replaced)
            else:
                results.rename(output)
    except OSError as error:
        raise TokverifyError(f"{output}: cannot be written: {error.strerror or error}") from error


def _nearest(output: Path) -> Path:
    """Return a directory on the file system of the output."""
    return output if output.is_dir() else output.resolve().parent


def _replace(results: Path, output: Path, replaced: Path) -> None:
    """Move files one by one, and all of them back if one fails."""
    for target in (output / path.name for path in results.iterdir()):
        if target.is_dir():
            raise TokverifyError(
                f"{target}: is a directory, but a file would be written there; name another output directory"
            )
    replaced.mkdir()
    moved: list[str] = []
    try:
        for path in sorted(results.iterdir()):
            target = output / path.name
            moved.append(path.name)
            if target.exists():
                target.rename(replaced / path.name)
            path.rename(target)
    except BaseException:
        for name in moved:
            _move_back(results / name, output / name, replaced / name)
        raise


def _move_back(result: Path, target: Path, old: Path) -> None:
    if not result.exists():
        target.rename(result)
    if old.exists():
        old.rename(target)
