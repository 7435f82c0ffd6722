"""Run llama.cpp in a child process, which may abort or hang without ending the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import weakref
from array import array
from collections.abc import Sequence
from typing import BinaryIO, cast

from tokverify.references import llama_cpp_worker
from tokverify.references.llama_cpp_worker import HEADER, LENGTH

_TAIL_BYTES = 4096
_END_SECONDS = 5.0


class DiedError(Exception):
    """The child ended or exceeded its time limit; the message says which."""


class RefusedError(Exception):
    """The child answered with an error; the message is llama.cpp's."""


class Child:
    """A running `llama_cpp_worker`; its answers come in the order of the requests.

    It ends when this object is garbage-collected, when `end` is called, or when this process ends in any way.
    """

    def __init__(self, arguments: Sequence[str], *, seconds: float) -> None:
        self._seconds = seconds
        # subtle: a pipe for stderr could fill up and block the child.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        # Isolated: nothing in the user's environment can replace a standard module.
        command = [sys.executable, "-I", "-S", llama_cpp_worker.__file__, *arguments, str(seconds)]
        self._process = subprocess.Popen(  # noqa: S603 - our own module; a model's path is only an argument
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**os.environ, "GGML_NO_BACKTRACE": "1"},
        )
        self.end = weakref.finalize(self, _end, self._process, self._stderr)

    @property
    def alive(self) -> bool:
        """Whether it can take requests."""
        return self.end.alive and self._process.poll() is None

    def send(self, operation: bytes, items: Sequence[bytes], *, add_special: bool, parse_special: bool) -> None:
        """Send a request; each of its items will be answered."""
        header = HEADER.pack(operation, add_special, parse_special, len(items))
        stdin = cast("BinaryIO", self._process.stdin)
        try:
            stdin.write(b"".join([header, array("i", map(len, items)).tobytes(), *items]))
            stdin.flush()
        except OSError:
            # The child has ended; the next read reports how.
            return

    def answer(self) -> bytes:
        """Wait for the next answer.

        Raises:
            DiedError: If the child ended before it.
            RefusedError: If it is an error.
        """
        stdout = cast("BinaryIO", self._process.stdout)
        head = stdout.read(LENGTH.size)
        if len(head) == LENGTH.size:
            size: int = LENGTH.unpack(head)[0]
            data = stdout.read(abs(size))
            if len(data) == abs(size):
                if size < 0:
                    raise RefusedError(data.decode(errors="replace"))
                return data
        raise DiedError(self._last_words())

    def _last_words(self) -> str:
        code = self._process.wait(_END_SECONDS)
        if os.name == "posix" and code == -signal.SIGALRM:
            return f"llama.cpp did not answer in time ({self._seconds:g} s for a text)"
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - _TAIL_BYTES))
        lines = self._stderr.read().decode(errors="replace").split("\n")
        messages = [_strip_prefixes(line) for line in lines if line.strip()]
        return f"llama.cpp aborted: {messages[-1] if messages else _describe_exit(code)}"


def _strip_prefixes(line: str) -> str:
    """Strip what C++ prints before the message of an exception, and the build path."""
    return line.strip().removeprefix("what():").lstrip().rpartition("/llama.cpp/")[2]


def _describe_exit(code: int) -> str:
    return signal.strsignal(-code) or f"signal {-code}" if code < 0 else f"exit code {code}"


def _end(process: subprocess.Popen[bytes], stderr: BinaryIO) -> None:
    for stream in (process.stdin, process.stdout):
        try:
            cast("BinaryIO", stream).close()
        except OSError:
            # Nobody reads what was not yet written.
            continue
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    stderr.close()
