"""A server that sends exactly the given bytes, however slowly, and never stops by itself."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, repeat
from typing import Self

Parts = Iterator[bytes]

_PAUSE = 0.02


class RawServer:
    """A server in a thread; `answer` returns the parts of each response, which are sent with pauses between them."""

    def __init__(self, answer: Callable[[], Parts]) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while not self._done.is_set():
            with suppress(OSError):
                connection, _ = self._listener.accept()
                with connection:
                    self._send(connection)

    def _send(self, connection: socket.socket) -> None:
        connection.recv(1 << 16)
        for part in self._answer():
            if self._done.is_set():
                return
            connection.sendall(part)
            time.sleep(_PAUSE)


OK = b"HTTP/1.1 200 OK\r\n"


def slow_headers() -> Parts:
    return chain([OK], repeat(b"X: y\r\n"))


def slow_body() -> Parts:
    return chain([OK + b"Content-Length: 10000000\r\n\r\n"], repeat(b" "))


def slow_chunks() -> Parts:
    return chain([OK + b"Transfer-Encoding: chunked\r\n\r\n"], repeat(b"1\r\n \r\n"))


def slow_chunk_size() -> Parts:
    return chain([OK + b"Transfer-Encoding: chunked\r\n\r\n"], repeat(b"0"))


def endless_continue() -> Parts:
    return repeat(b"HTTP/1.1 100 Continue\r\n\r\n")


def endless_body() -> Parts:
    return chain([OK + b"\r\n"], repeat(b" " * (1 << 22)))


def negative_chunk_size() -> Parts:
    return iter([OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabc\r\n0\r\n\r\n"])


def negative_length() -> Parts:
    return iter([OK + b"Content-Length: -7\r\n\r\n{}"])


def no_http() -> Parts:
    return iter([b"\0\xff" * 40 + b"\r\n\r\n"])


def bad_header() -> Parts:
    return iter([OK + b"\xff\0" * 70000 + b"\r\n\r\n"])
