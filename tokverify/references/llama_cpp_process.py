"""Run llama.cpp in a child process, which may abort or hang without ending the run."""

from __future__ import annotations

import os
import signal
import sys
from array import array
from collections.abc import Sequence

from tokverify.references import llama_cpp_worker
from tokverify.references.llama_cpp_worker import HEADER, LENGTH
from tokverify.system.child_process import ChildProcess


class DiedError(Exception):
    """The child ended or exceeded its time limit; the message says which."""


class RefusedError(Exception):
    """The child answered with an error; the message is llama.cpp's."""


class Child(ChildProcess):
    """A running `llama_cpp_worker`; its answers come in the order of the requests."""

    def __init__(self, arguments: Sequence[str], *, seconds: float) -> None:
        self._seconds = seconds
        # Isolated: nothing in the user's environment can replace a standard module.
        command = [sys.executable, "-I", "-S", llama_cpp_worker.__file__, *arguments, str(seconds)]
        super().__init__(command, {"GGML_NO_BACKTRACE": "1"})

    def send(self, operation: bytes, items: Sequence[bytes], *, add_special: bool, parse_special: bool) -> None:
        """Send a request; each of its items will be answered."""
        header = HEADER.pack(operation, add_special, parse_special, len(items))
        self.write(b"".join([header, array("i", map(len, items)).tobytes(), *items]))

    def answer(self) -> bytes:
        """Wait for the next answer.

        Raises:
            DiedError: If the child ended before it.
            RefusedError: If it is an error.
        """
        head = self.stdout.read(LENGTH.size)
        if len(head) == LENGTH.size:
            size: int = LENGTH.unpack(head)[0]
            data = self.stdout.read(abs(size))
            if len(data) == abs(size):
                if size < 0:
                    raise RefusedError(data.decode(errors="replace"))
                return data
        raise DiedError(self._describe_end())

    def _describe_end(self) -> str:
        message = self.last_words()
        if os.name == "posix" and self._process.returncode == -signal.SIGALRM:
            return f"llama.cpp did not answer in time ({self._seconds:g} s for a text)"
        return f"llama.cpp aborted: {_strip_prefixes(message)}"


def _strip_prefixes(line: str) -> str:
    """Strip what C++ prints before the message of an exception, and the build path."""
    return line.removeprefix("what():").lstrip().rpartition("/llama.cpp/")[2]
