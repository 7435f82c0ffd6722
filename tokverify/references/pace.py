"""Stop encoding with a library whose pattern takes exponential time, such as `(a+)+$`.

tiktoken, and mistral-common through it, search for a pattern with backtracking, and give up after a million steps. Each
of the thousands of texts of a command could take that long.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tokverify.errors import BrokenFileError

SECONDS = 5.0
"""No speed is too slow until this much processor time has passed."""
TEXTS_PER_SECOND, CHARACTERS_PER_SECOND = 500, 20_000
"""The slowest acceptable pace; with real patterns, it is at least ten times faster in one of the two ways."""


class Pace:
    """Measures how fast texts are encoded in the current thread."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._seconds = 0.0
        self._texts = self._characters = 0

    @contextmanager
    def measure(self, text: str) -> Iterator[None]:
        """Count the time of the block, which encodes a text or fails to.

        Raises:
            BrokenFileError: If all texts together took too long. This ends a command, unlike errors of one text.
        """
        start = time.thread_time()
        try:
            yield
        finally:
            self._seconds += time.thread_time() - start
            self._texts += 1
            self._characters += len(text)
            self._judge()

    def _judge(self) -> None:
        if self._seconds <= SECONDS or self._texts >= self._seconds * TEXTS_PER_SECOND:
            return
        if self._characters < self._seconds * CHARACTERS_PER_SECOND:
            raise BrokenFileError(
                f"{self._source}: {self._texts:,} texts with {self._characters:,} characters took more than "
                f"{SECONDS:g} seconds, which no real pattern causes; check the pattern"
            )
