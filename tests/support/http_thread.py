"""An HTTP server in a thread."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class _Server(ThreadingHTTPServer):
    request_queue_size = 64
    """By default, five connections may wait, fewer than a pool opens at once."""


class HttpThread:
    """Serves while the block runs; a handler that must not answer waits until `released`."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self.released = threading.Event()
        self._server = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
