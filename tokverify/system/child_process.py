"""A child process that answers requests, each one line of JSON, through pipes: its end, its limits, its last words.

Nothing that it does can hold this process: it may crash, hang, answer anything, or leave its pipes to a descendant
that never closes them.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import Any, BinaryIO, cast

from tokverify.system.json_input import JsonError, parse_json
from tokverify.system.library_error import summary

MAX_RESPONSE_BYTES = 1 << 26
"""The limit for a response, unless another one is given."""

_MAX_MEMORY_PER_BYTE = 8
_END_SECONDS = 5.0
_LAST_SECONDS = 1.0
"""How long to wait for what a process has written before its end: a descendant may keep the pipe open."""
_WATCH_SECONDS = 0.5
"""How often to look whether the process has ended, although nobody has closed its pipes."""
_PAUSE = 0.005
_CHUNK_BYTES = 1 << 16
_CHUNKS = 16


class FailedError(Exception):
    """The process ended, took too long, or sent something that is not the response to the request."""


class LateError(FailedError):
    """The process took too long."""


class ChildProcess:
    """A running program whose stdin and stdout are pipes; the end of what it writes to stderr is kept.

    It ends when this object is garbage-collected, when `end` is called, or when it reads the end of its input because
    this process has ended in any way.

    Args:
        command: The program and its arguments; no shell is involved.
        environment: Variables to set besides those of this process.
        max_bytes: The limit for a response.

    Raises:
        OSError: If the program cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        max_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - callers decide what may be run
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            # A session of its own, so that `kill` also ends what the program itself has started.
            start_new_session=os.name == "posix",
        )
        self._max_bytes = max_bytes
        self._number = 0
        self._unread = bytearray()
        self._chunks: Queue[bytes] = Queue(_CHUNKS)
        self._tail: deque[bytes] = deque(maxlen=_CHUNKS)
        has_ended = threading.Event()
        _start_thread(_read_all, self._process.stdout, _put_into(self._chunks, has_ended), has_ended)
        # subtle: an unread pipe could fill up and block the program.
        self._drain = _start_thread(_read_all, self._process.stderr, self._tail.append, has_ended)
        self.end = weakref.finalize(self, _end, self._process, has_ended)

    @property
    def alive(self) -> bool:
        """Whether it can take requests."""
        return self.end.alive and not _has_exited(self._process)

    def ask(self, operation: str, content: Mapping[str, object], *, seconds: float) -> Mapping[str, Any]:
        """Send a request and return the response, both JSON objects with the same `id`.

        After any error, the process must be ended: its response could be mistaken for that of the next request.

        Raises:
            FailedError: If there is no such response within this time.
        """
        [response] = self.ask_each(operation, [content], seconds=seconds)
        return response

    def ask_each(
        self, operation: str, contents: Sequence[Mapping[str, object]], *, seconds: float
    ) -> Iterator[Mapping[str, Any]]:
        """Send requests at once, which the process answers in turn, and yield the response to each as it arrives.

        Raises:
            FailedError: If there is no such response within this time after the one before.
        """
        numbers = range(self._number + 1, self._number + 1 + len(contents))
        self._number += len(contents)
        requests = ({"id": number, "op": operation, **each} for number, each in zip(numbers, contents, strict=True))
        self._send("".join(json.dumps(request) + "\n" for request in requests).encode())
        for number in numbers:
            line = self._read_line(time.monotonic() + seconds)
            if line is None:
                raise LateError(f"did not respond within {seconds:g} s")
            yield self._parse(line, number)

    def abort(self) -> None:
        """End the process and those that it has started at once: what it still sends is never read."""
        _kill(self._process)
        self.end()

    def _send(self, data: bytes) -> None:
        stdin = cast("BinaryIO", self._process.stdin)
        if _can_write(stdin, len(data)):
            _write(stdin, data)
        else:
            # A process that does not read could block it forever.
            _start_thread(_write, stdin, data)

    def _read_line(self, deadline: float) -> bytes | None:
        """Return the next line; None after the deadline."""
        line = bytearray()
        chunk = bytes(self._unread)
        while b"\n" not in chunk:
            line += chunk
            if len(line) > self._max_bytes:
                raise FailedError(f"sent a response of more than {self._max_bytes >> 20} MiB, the limit")
            found = self._next_chunk(deadline)
            if found is None:
                return None
            if not found:
                raise FailedError(f"ended without a response: {summary(ValueError(self._last_words()))}")
            chunk = found
        end, _, rest = chunk.partition(b"\n")
        self._unread = bytearray(rest)
        return bytes(line + end)

    def _next_chunk(self, deadline: float) -> bytes | None:
        """Return what comes next; nothing at the end, None after the deadline."""
        while (left := deadline - time.monotonic()) > 0:
            has_exited = _has_exited(self._process)
            with suppress(Empty):
                return self._chunks.get(timeout=min(left, _WATCH_SECONDS))
            if has_exited:
                return b""
        return None

    def _parse(self, line: bytes, number: int) -> Mapping[str, Any]:
        try:
            response = parse_json(line, max_memory=_MAX_MEMORY_PER_BYTE * self._max_bytes)
        except JsonError as error:
            raise FailedError(f"sent a line that is not JSON ({error})") from error
        if not isinstance(response, dict):
            raise FailedError("sent a line that is not a JSON object")
        if response.get("id") != number:
            raise FailedError("sent a response whose `id` is not that of the request")
        return response

    def _last_words(self) -> str:
        """Wait for the process to end and return the last line it wrote to stderr, or else how it ended."""
        deadline = time.monotonic() + _END_SECONDS
        while not _has_exited(self._process) and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        # Also what it has started and left behind, which may keep the pipe open.
        _kill(self._process)
        code = self._process.wait()
        self._drain.join(_LAST_SECONDS)
        lines = b"".join(self._tail).decode(errors="replace").splitlines()
        messages = [line.strip() for line in lines if line.strip()]
        if messages:
            return messages[-1]
        return signal.strsignal(-code) or f"signal {-code}" if code < 0 else f"exit code {code}"


def _start_thread(function: Callable[..., None], *args: object) -> threading.Thread:
    """Start a thread that may outlive everything: a read or write in it can wait for a descendant of the process."""
    thread = threading.Thread(target=function, args=args, daemon=True)
    thread.start()
    return thread


def _can_write(stream: BinaryIO, count: int) -> bool:
    """Whether so many bytes can certainly be written without waiting."""
    if not hasattr(select, "poll") or count > select.PIPE_BUF:  # not on Windows
        return False
    poll = select.poll()
    poll.register(stream, select.POLLOUT)
    return bool(poll.poll(0))


def _write(stream: BinaryIO, data: bytes) -> None:
    """Send data; if the process has ended, the next read reports how."""
    rest = memoryview(data)
    with suppress(OSError, ValueError):  # a ValueError: it was closed meanwhile
        while rest:
            rest = rest[stream.write(rest) :]


def _read_all(stream: BinaryIO, take: Callable[[bytes], object], has_ended: threading.Event) -> None:
    """Pass on what arrives, until the other side closes the pipe or nobody wants more."""
    with stream, suppress(OSError):
        while _wait_for_data(stream, has_ended):
            chunk = os.read(stream.fileno(), _CHUNK_BYTES)
            take(chunk)
            if not chunk:
                return


def _wait_for_data(stream: BinaryIO, has_ended: threading.Event) -> bool:
    """Wait until something can be read; return False if the process has been ended meanwhile."""
    if hasattr(select, "poll"):  # not on Windows, where a descendant that keeps the pipe also keeps this thread
        poll = select.poll()
        poll.register(stream, select.POLLIN)
        while not has_ended.is_set():
            if poll.poll(_WATCH_SECONDS * 1000):
                return True
    return not has_ended.is_set()


def _put_into(chunks: Queue[bytes], has_ended: threading.Event) -> Callable[[bytes], None]:
    def put(chunk: bytes) -> None:
        while not has_ended.is_set():
            with suppress(Full):
                chunks.put(chunk, timeout=_WATCH_SECONDS)
                return

    return put


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Whether the process has exited, if possible without releasing its number: `_kill` still needs it."""
    if process.returncode is not None or not hasattr(os, "waitid"):  # not on Windows
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    # subtle: once its end was noticed, the system may use its number for another process.
    if process.returncode is None:
        with suppress(OSError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def _end(process: subprocess.Popen[bytes], has_ended: threading.Event) -> None:
    has_ended.set()
    with suppress(OSError):
        cast("BinaryIO", process.stdin).close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        _kill(process)
        process.wait()
