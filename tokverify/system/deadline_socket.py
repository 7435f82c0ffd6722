"""Bound a whole exchange over a socket, in time and in bytes: a timeout of a socket bounds only a single read."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import socket


class TooLongError(Exception):
    """The other side sent more bytes than allowed."""


class DeadlineSocket:
    """A connected socket, as far as `http.client` uses it; `restart` begins an exchange.

    Reading raises a TimeoutError after the deadline of the exchange, and a TooLongError after its last allowed byte.
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._deadline = 0.0
        self._bytes_left = 0
        self._readers = 0
        self._is_closed = False

    def restart(self, deadline: float, max_bytes: int) -> None:
        """Begin an exchange that ends at `deadline`, in seconds of `time.monotonic`, or after `max_bytes`."""
        self._deadline = deadline
        self._bytes_left = max_bytes

    def sendall(self, data: bytes) -> None:
        """Send all of the data before the deadline."""
        self._set_timeout()
        self._socket.sendall(data)

    def receive_into(self, buffer: memoryview) -> int:
        """Read what has arrived, and wait for at least one byte; 0 is the end."""
        self._set_timeout()
        count = self._socket.recv_into(buffer)
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise TooLongError
        return count

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return the file that `http.client` reads a response from."""
        assert mode == "rb"  # noqa: S101 - the only mode it uses
        self._readers += 1
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        """Close the connection, once no response is being read from it."""
        self._is_closed = True
        if not self._readers:
            self._socket.close()

    def release(self) -> None:
        """End the reading of a response."""
        self._readers -= 1
        if self._is_closed:
            self.close()

    def _set_timeout(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)


class _Reader(io.RawIOBase):
    """The incoming side. Closing it does not close a connection that serves further requests."""

    def __init__(self, source: DeadlineSocket) -> None:
        super().__init__()
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        return self._source.receive_into(cast("memoryview", buffer))

    def close(self) -> None:
        if not self.closed:
            self._source.release()
        super().close()
