"""Run llama.cpp in a child process, because it may abort, and time only the call of `llama_tokenize`.

Run as a script, this module is that child: it loads a vocabulary and answers each text with the CPU seconds it took.
"""

from __future__ import annotations

import ctypes
import struct
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tokverify.references.llama_cpp_library import find_library
from tokverify.references.llama_cpp_worker import LoadedLibrary

if TYPE_CHECKING:
    from pathlib import Path

LENGTH = struct.Struct("<i")


class LlamaCpp:
    """A child process that has loaded a vocabulary."""

    def __init__(self, gguf: Path) -> None:
        self._child = subprocess.Popen(
            [sys.executable, __file__, str(gguf)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def seconds(self, text: str) -> float:
        """Return how long encoding `text` takes; llama.cpp has no cache, so the first time is like all others."""
        data = text.encode()
        self._child.stdin.write(LENGTH.pack(len(data)) + data)
        self._child.stdin.flush()
        answer = self._child.stdout.readline()
        if not answer:
            raise OSError("llama.cpp has ended")
        return float(answer)

    def close(self) -> None:
        self._child.stdin.close()
        self._child.stdout.close()
        self._child.wait()


def main(gguf: str) -> None:
    library = find_library()
    vocabulary = LoadedLibrary(str(library.path)).load(gguf)
    while head := sys.stdin.buffer.read(LENGTH.size):
        text = sys.stdin.buffer.read(*LENGTH.unpack(head))
        # A buffer that is too small would make llama.cpp encode the text twice.
        vocabulary._ids = (ctypes.c_int32 * (len(text) + 2))()
        start = time.process_time()
        vocabulary.encode(text, add_special=False, parse_special=True)
        print(time.process_time() - start, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
