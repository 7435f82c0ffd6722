"""Write files that are either whole or untouched, whatever happens to the run."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import threading
import time
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.errors import TokverifyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SUFFIX = ".tokverify.tmp"
_MAX_NAME = 100
_LEFT_OVER_SECONDS = 600
_DEADLY = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def check_writable(path: Path, inputs: Iterable[Path | str | None] = ()) -> None:
    """Fail before the work is done if a file could not, or must not, be written after it.

    Raises:
        TokverifyError: If the path is a directory, its directory is missing, or it is one of the `inputs`.
    """
    for given in inputs:
        if given and path.exists() and Path(given).exists() and path.samefile(given):
            raise TokverifyError(f"{path}: cannot be written: it is an input, {given}; name another file")
    if path.is_dir():
        raise TokverifyError(f"{path}: cannot be written: it is a directory; name a file in it")
    if not path.parent.is_dir():
        raise TokverifyError(f"{path}: cannot be written: {path.parent} is no directory; create it first")


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
    # subtle: /dev/stdout, a pipe or /dev/null must be written to, not replaced.
    special = [path for path in texts if path.exists() and not path.is_file()]
    with _signals_put_off():
        _replace({path: text for path, text in texts.items() if path not in special})
    for path in special:
        with _explained(path):
            path.write_bytes(texts[path].encode())


def append_text(path: Path, text: str) -> None:
    """Add to the end of a file, in one step.

    Raises:
        TokverifyError: If it cannot be written.
    """
    with _explained(path), path.open("ab", buffering=0) as file:
        file.write(text.encode())


def _replace(texts: Mapping[Path, str]) -> None:
    temporaries: dict[Path, Path] = {}
    try:
        for path, text in texts.items():
            with _explained(path):
                target = path.resolve()
                temporaries[path] = _temporary(target)
                _write_whole(temporaries[path], text.encode())
                if target.exists():
                    shutil.copymode(target, temporaries[path])
        for path, temporary in temporaries.items():
            with _explained(path):
                temporary.replace(path.resolve())
    finally:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)


def _temporary(target: Path) -> Path:
    """Name a file beside `target` that no other run writes to, and remove what killed runs have left there."""
    stem = f".{target.name[:_MAX_NAME]}."
    for left_over in target.parent.glob(f"{escape(stem)}*{_SUFFIX}"):
        with suppress(OSError):
            if time.time() - left_over.stat().st_mtime > _LEFT_OVER_SECONDS:
                left_over.unlink()
    return target.with_name(f"{stem}{secrets.token_hex(8)}{_SUFFIX}")


def _write_whole(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        # So that not even a power failure leaves an empty file under the final name.
        os.fsync(file.fileno())


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        reason = getattr(error, "strerror", None) or error
        raise TokverifyError(f"{path}: cannot be written: {reason}") from error


@contextmanager
def _signals_put_off() -> Iterator[None]:
    """Let a signal that ends the run wait until the block is done; only SIGKILL does not."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    before = {number: signal.signal(number, lambda found, _: caught.append(found)) for number in _DEADLY}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in caught:
            signal.raise_signal(number)
