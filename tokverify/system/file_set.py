"""Write the files that a command makes: all of them or none, whatever happens to the run."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tokverify.errors import ENDING_SIGNALS, TokverifyError
from tokverify.system.output_file import check_place, errors_explained, put_in_place, sync, temporary_beside

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_DESCRIPTORS = {"/dev/stdout": 1, "/dev/stderr": 2}


def check_writable(path: Path, inputs: Iterable[Path | str | None] = ()) -> None:
    """Fail before the work is done if a file could not, or must not, be written after it.

    Raises:
        TokverifyError: If the path is a directory or one of the `inputs`, or nothing can be written there.
    """
    for given in inputs:
        if given and path.exists() and Path(given).exists() and path.samefile(given):
            raise TokverifyError(f"{path}: cannot be written: it is an input, {given}; name another file")
    if path.is_dir():
        raise TokverifyError(f"{path}: cannot be written: it is a directory; name a file in it")
    if not _is_written_in_place(path):
        check_place(path)


def write_file(path: Path, text: str) -> None:
    """Replace a file in one step: whoever reads it sees the old content or the new, never a part.

    Raises:
        TokverifyError: If it cannot be written.
    """
    write_files({path: text})


def write_files(texts: Mapping[Path, str]) -> None:
    """Replace files, each in one step, and none of them before all have been written elsewhere.

    Raises:
        TokverifyError: If one cannot be written.
    """
    with ExitStack() as temporaries:
        written: dict[Path, Path] = {}
        in_place = []
        for path, text in texts.items():
            if _is_written_in_place(path):
                in_place.append(path)
                continue
            written[path] = temporaries.enter_context(temporary_beside(path))
            with errors_explained(path):
                written[path].write_bytes(text.encode())
                sync(written[path])
        # Before anything is replaced, since these fail more easily.
        for path in in_place:
            _write_in_place(path, texts[path].encode())
        with _signals_put_off():
            for path, temporary in written.items():
                with errors_explained(path):
                    put_in_place(temporary, path)


def append_text(path: Path, text: str) -> None:
    """Add to the end of a file, in one step.

    Raises:
        TokverifyError: If it cannot be written.
    """
    with errors_explained(path), path.open("ab", buffering=0) as file:
        file.write(text.encode())


def _is_written_in_place(path: Path) -> bool:
    """Tell whether a path names a device, a pipe or a stream of this process, which must not be replaced by a file."""
    return _descriptor(path) is not None or (path.exists() and not path.is_file())


def _descriptor(path: Path) -> int | None:
    """Return the open file that a path names by its number, as `/dev/stdout` does.

    subtle: that may be a regular file, of which the shell has more to write.
    """
    found = _DESCRIPTOR.fullmatch(str(path))
    return int(found[1]) if found else _DESCRIPTORS.get(str(path))


def _write_in_place(path: Path, data: bytes) -> None:
    number = _descriptor(path)
    with errors_explained(path):
        if number is None:
            path.write_bytes(data)
            return
        sys.stdout.flush()
        with open(os.dup(number), "wb") as file:  # noqa: PTH123 - a descriptor has no path
            file.write(data)


@contextmanager
def _signals_put_off() -> Iterator[None]:
    """Let a signal that ends the run wait until the block is done; only SIGKILL does not."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    before = {number: signal.signal(number, lambda found, _: caught.append(found)) for number in ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in caught:
            signal.raise_signal(number)
