"""Write files: each next to its destination, and then moved there, so that no file is ever half written."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.system.git import find_git_directory
from tokverify.system.input_file import exists
from tokverify.system.quick_exit import postpone_signals

SUFFIX = ".tokverify.tmp"
"""The suffix of all temporary names."""

_EXECUTABLE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
# A name may have 255 bytes on most systems.
_MAX_STEM_BYTES = 100
_LEFTOVER_SECONDS = 24 * 60 * 60
_REPLACED = "old"
"""Where files are while others take their place."""
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DESCRIPTOR_PATH = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_DESCRIPTORS = {"/dev/stdout": 1, "/dev/stderr": 2}


def check_writable(path: Path, inputs: Iterable[os.PathLike[str] | str | None] = ()) -> None:
    """Fail before the work is done if a file could not, or must not, be written afterwards.

    Raises:
        TokverifyError: If the path is a directory or one of the `inputs`, or nothing can be written there.
    """
    for given in inputs if exists(path) else ():
        if given and Path(given).exists() and path.samefile(given):
            raise TokverifyError(f"{path}: cannot be written: it is an input, {Path(given)}; name another file")
    if path.is_dir():
        raise TokverifyError(f"{path}: cannot be written: it is a directory; name a file in it")
    if not _is_written_in_place(path):
        check_place(path)


def check_place(path: Path) -> None:
    """Fail before the work is done if no file could be created or replaced at a path afterwards.

    Raises:
        TokverifyError: If the directory is missing or belongs to git, or no file can be created in it.
    """
    require_outside_git(path)
    with _explain_errors(path):
        # Through a link, the file may be created in another directory.
        directory = _resolve(path).parent if path.is_symlink() else path.parent
    if not directory.is_dir():
        raise TokverifyError(f"{path}: cannot be written: {directory} is not a directory; create it first")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise TokverifyError(
            f"{path}: cannot be written: no file can be created in {directory}, which is necessary even to replace one;"
            " name another directory"
        )


def check_new_file(path: Path, *, force: bool) -> None:
    """Fail before the work is done if a file could not, or must not, be written.

    Raises:
        TokverifyError: If it exists and is not to be overwritten, or cannot be written; see `check_place`.
    """
    is_there = exists(path)
    if is_there and not path.is_file():
        raise TokverifyError(f"{path}: not a regular file; name another one")
    if is_there and not force:
        raise TokverifyError(f"{path}: already exists; name another file or overwrite it with --force")
    check_place(path)


def require_outside_git(path: Path) -> None:
    """Refuse to write into a directory of git, whose hooks and configuration are run by other commands.

    Raises:
        TokverifyError: If the path is, or leads through links, to a place in one.
    """
    with _explain_errors(path):
        place = find_git_directory(path)
    if place:
        raise TokverifyError(f"{path}: cannot be written: {place} belongs to git; name another place")


def write_file(path: Path, text: str) -> None:
    """Replace a file atomically: readers see the old content or the new, never a part of it.

    Raises:
        TokverifyError: If the file cannot be written.
    """
    write_files({path: text})


def write_files(texts: Mapping[Path, str]) -> None:
    """Replace files atomically, and none of them before all have been written under temporary names.

    Raises:
        TokverifyError: If one cannot be written.
    """
    in_place = [path for path in texts if _is_written_in_place(path)]
    with ExitStack() as temporaries:
        written: dict[Path, Path] = {}
        for path in texts:
            if path in in_place:
                continue
            written[path] = temporaries.enter_context(temporary_beside(path))
            with _explain_errors(path):
                written[path].write_bytes(texts[path].encode())
                sync(written[path])
        # Before anything is replaced, because these fail more easily.
        for path in in_place:
            _write_in_place(path, texts[path].encode())
        with postpone_signals():
            for path, temporary in written.items():
                with _explain_errors(path):
                    move_into_place(temporary, path)


def append_text(path: Path, text: str) -> None:
    """Append to a file in a single write.

    Raises:
        TokverifyError: If the file cannot be written.
    """
    require_outside_git(path)
    with _explain_errors(path), path.open("ab", buffering=0) as file:
        file.write(text.encode())


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """Yield a temporary name next to a file; any file of that name is removed at the end, even after an error.

    A run ended by SIGKILL can leave one behind, which a later run removes after a day.

    Raises:
        TokverifyError: For any error of the operating system, such as a full disk, or if the place belongs to git.
    """
    require_outside_git(path)
    with _explain_errors(path):
        target = _resolve(path)
        _remove_leftovers(target.parent)
        # No other run uses this name.
        temporary = target.with_name(f"{stem_of(target)}{os.urandom(8).hex()}{SUFFIX}")
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


def move_into_place(temporary: Path, path: Path) -> None:
    """Rename a temporary file to its final name: readers see the old content or the new, never a part of it.

    Links are followed. A replaced file keeps its permissions, except to execute it, and, where possible, its owner.

    Raises:
        TokverifyError: If the place belongs to git.
    """
    # subtle: a link may have been changed since the temporary file was created.
    require_outside_git(path)
    path = _resolve(path)
    if path.exists():
        status = path.stat()
        temporary.chmod(stat.S_IMODE(status.st_mode) & ~_EXECUTABLE)
        with suppress(OSError, AttributeError):  # AttributeError: not on Windows
            os.chown(temporary, status.st_uid, status.st_gid)
    temporary.replace(path)


def sync(path: Path) -> None:
    """Flush a file to the disk, so that a full disk fails now and a power failure leaves no empty file."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def stem_of(target: Path) -> str:
    """Return the beginning of all temporary names for a file or directory."""
    return f".{os.fsencode(target.name)[:_MAX_STEM_BYTES].decode(errors='ignore')}."


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """Name the file when the system refuses to write it.

    Raises:
        TokverifyError: In place of an OSError.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError) and error.filename is None:
            # Only the current directory has no name; it is missing, whatever the path.
            raise TokverifyError("the current directory no longer exists; change to another one") from error
        advice = "; free some space, or name another place" if error.errno in _NO_SPACE else ""
        raise TokverifyError(f"{path}: cannot be written: {error.strerror or error}{advice}") from error


def _resolve(path: Path) -> Path:
    """Follow all links, even to a file that does not exist yet."""
    # subtle: for a loop of links, Path.resolve raises a RuntimeError before Python 3.13, and nothing from 3.13 on.
    resolved = type(path)(os.path.realpath(path))
    if resolved.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return resolved


@cache
def _remove_leftovers(directory: Path) -> None:
    """Remove what killed runs have left in a directory; once only, as a corpus writes many files into one."""
    for leftover in directory.glob(f".*{SUFFIX}"):
        with suppress(OSError):
            # A directory is not changed by what is written into its files.
            changed = max(path.stat().st_mtime for path in (leftover, *leftover.rglob("*")))
            if time.time() - changed > _LEFTOVER_SECONDS:
                _remove_leftover(leftover)


def _remove_leftover(leftover: Path) -> None:
    """Remove a file, or a directory of `stage_output` that holds nothing but results that were not moved."""
    if not stat.S_ISDIR(leftover.lstat().st_mode):
        leftover.unlink()
    elif not any((leftover / _REPLACED).glob("*")):
        shutil.rmtree(leftover)


def _is_written_in_place(path: Path) -> bool:
    """Check for a device, a pipe or a stream of this process, none of which may be replaced by a file."""
    return _descriptor(path) is not None or (path.exists() and not path.is_file())


def _descriptor(path: Path) -> int | None:
    """Return the number of an open file that a path refers to, as `/dev/stdout` does.

    subtle: it may be a regular file that the shell continues to write to.
    """
    match = _DESCRIPTOR_PATH.fullmatch(str(path))
    return int(match[1]) if match else _DESCRIPTORS.get(str(path))


def _write_in_place(path: Path, data: bytes) -> None:
    number = _descriptor(path)
    with _explain_errors(path):
        if number is None:
            require_outside_git(path)
            path.write_bytes(data)
            return
        sys.stdout.flush()
        with open(os.dup(number), "wb") as file:  # noqa: PTH123 - a descriptor has no path
            file.write(data)


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
        nearest = output if output.is_dir() else output.resolve().parent
        _remove_leftovers(nearest)
        with tempfile.TemporaryDirectory(SUFFIX, stem_of(output), nearest) as name:
            results, replaced = Path(name, "new"), Path(name, _REPLACED)
            results.mkdir()
            yield results
            if output.exists():
                _replace(results, output, replaced)
            else:
                results.rename(output)
    except OSError as error:
        raise TokverifyError(f"{output}: cannot be written: {error.strerror or error}") from error


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
