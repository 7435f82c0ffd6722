"""A directory of results that appears whole, or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.system.output_file import SUFFIX, stem_of


def check_output(output: Path, *, force: bool, inputs: Iterable[Path]) -> None:
    """Fail before the work is done if the results could not, or must not, be written after it.

    Raises:
        TokverifyError: If `output` is a file, its parent is missing, it holds something and there is no `force`, or one
            of the `inputs` is in it.
    """
    if output.is_symlink() and not output.exists():
        raise TokverifyError(f"{output}: cannot write there: it is a link to nothing; name a directory")
    if output.exists() and not output.is_dir():
        raise TokverifyError(f"{output}: cannot write there: it is a file; name a directory")
    if not output.parent.is_dir():
        raise TokverifyError(f"{output}: cannot write there: {output.parent} is no directory; create it first")
    if not output.is_dir():
        return
    for path in inputs:
        if path.resolve().parent == output.resolve():
            raise TokverifyError(f"{output}: cannot write there: it holds an input, {path}; name another directory")
    _require_replaceable(output, force=force)


def _require_replaceable(output: Path, *, force: bool) -> None:
    if any(output.iterdir()) and not force:
        raise TokverifyError(f"{output}: holds files already; name another directory, or write over them with --force")


@contextmanager
def staged(output: Path) -> Iterator[Path]:
    """Give a temporary directory, whose files are moved to `output` once all of them are there.

    Whatever goes wrong, by an interrupt or a full disk, leaves `output` as it was.

    Raises:
        TokverifyError: If something cannot be written.
    """
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
    """Return a directory on the file system that the output is, or will be, on."""
    return output if output.is_dir() else output.resolve().parent


def _replace(results: Path, output: Path, replaced: Path) -> None:
    """Move files one by one, and all of them back if that ends halfway."""
    for target in (output / path.name for path in results.iterdir()):
        if target.is_dir():
            raise TokverifyError(f"{target}: is a directory, where a file is to be written; name another DIR")
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
