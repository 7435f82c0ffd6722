"""A child process that answers requests through pipes: its end, its limits of time and size, and its last words."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import BinaryIO, cast

_END_SECONDS = 5.0
_CHUNK_BYTES = 4096
_CHUNKS = 16
_DRAIN_SECONDS = 1.0


class ChildProcess:
    """A running program whose stdin and stdout are pipes; the end of what it writes to stderr is kept.

    It ends when this object is garbage-collected, when `end` is called, or when it reads the end of its input because
    this process has ended in any way.

    Args:
        command: The program and its arguments; no shell is involved.
        environment: Variables to set besides those of this process.

    Raises:
        OSError: If the program cannot be started.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - callers decide what may be run
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            # A session of its own, so that `kill` also ends what the program itself has started.
            start_new_session=os.name == "posix",
        )
        self.timed_out = False
        """Whether it was killed because it exceeded a limit of time."""
        self._tail: deque[bytes] = deque(maxlen=_CHUNKS)
        # subtle: an unread pipe could fill up and block the program.
        self._drain = threading.Thread(target=_drain, args=(self._process.stderr, self._tail), daemon=True)
        self._drain.start()
        self.end = weakref.finalize(self, _end, self._process, self._drain)

    @property
    def alive(self) -> bool:
        """Whether it can take requests."""
        return self.end.alive and self._process.poll() is None

    @property
    def stdout(self) -> BinaryIO:
        """The stream of its answers."""
        return cast("BinaryIO", self._process.stdout)

    def write(self, data: bytes) -> None:
        """Send data; if the process has ended, the next read reports how."""
        stdin = cast("BinaryIO", self._process.stdin)
        with suppress(OSError):
            stdin.write(data)
            stdin.flush()

    @contextmanager
    def limit_time(self, seconds: float) -> Iterator[None]:
        """Kill the process if the block takes longer, so that its reads and writes return."""
        # subtle: a timer that was canceled keeps its arguments a moment longer, and must not keep this object alive.
        timer = threading.Timer(seconds, _time_out, (weakref.ref(self),))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def kill(self) -> None:
        """End the process and those that it has started, at once."""
        _kill(self._process)

    def abort(self) -> None:
        """End the process at once and release its pipes: what it still sends is never read."""
        self.kill()
        self.end()

    def last_words(self) -> str:
        """Wait for the process to end and return the last line it wrote to stderr, or else how it ended."""
        try:
            code = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.wait()
        self._drain.join(_DRAIN_SECONDS)
        lines = b"".join(self._tail).decode(errors="replace").splitlines()
        messages = [line.strip() for line in lines if line.strip()]
        return messages[-1] if messages else _describe_exit(code)


def _time_out(reference: weakref.ref[ChildProcess]) -> None:
    if child := reference():
        child.timed_out = True
        child.kill()


def _drain(stream: BinaryIO, tail: deque[bytes]) -> None:
    with stream, suppress(OSError):
        while chunk := os.read(stream.fileno(), _CHUNK_BYTES):
            tail.append(chunk)


def _describe_exit(code: int) -> str:
    return signal.strsignal(-code) or f"signal {-code}" if code < 0 else f"exit code {code}"


def _kill(process: subprocess.Popen[bytes]) -> None:
    # subtle: once its end was noticed, the system may use its number for another process.
    if process.returncode is None:
        with suppress(OSError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def _end(process: subprocess.Popen[bytes], drain: threading.Thread) -> None:
    for stream in (process.stdin, process.stdout):
        # Nobody reads what was not yet written.
        with suppress(OSError):
            cast("BinaryIO", stream).close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        _kill(process)
        process.wait()
    drain.join(_DRAIN_SECONDS)
