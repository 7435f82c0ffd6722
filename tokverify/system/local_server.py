"""Serve pages to a browser on this machine, and to nobody else.

Any web page can send requests to 127.0.0.1. Therefore each path begins with a secret, requests for another host are
rejected (which stops DNS rebinding), and so are those that another origin sends. No path names a file.
"""

from __future__ import annotations

import hmac
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Semaphore
from typing import Any

from tokverify.errors import TokverifyError
from tokverify.system.deadline_socket import DeadlineSocket

ADDRESS = "127.0.0.1"
MAX_BODY = 64 * 2**20
"""In bytes; larger requests are rejected before they are read."""
_MAX_HEAD = 16 * 2**20
"""In bytes; more than `http.server` accepts."""

MAX_CONNECTIONS = 64
"""More are closed at once; each needs a thread. A browser opens about six."""

SECONDS = 60.0
"""For a complete request, and for the answer to be sent."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered with."""

    body: bytes
    content_type: str = "application/json"
    status: HTTPStatus = HTTPStatus.OK


Respond = Callable[[str, str, bytes], Answer | None]
"""Answers a request: its method (`GET` or `POST`), path below the secret, and body; None for an unknown path."""


class LocalServer:
    """Serves on 127.0.0.1 below a secret path.

    Args:
        respond: Answers the requests that pass all checks.
        port: The port; 0 for any that is free.

    Raises:
        TokverifyError: If the port cannot be used.
    """

    def __init__(self, respond: Respond, port: int = 0) -> None:
        self._prefix = f"/{secrets.token_urlsafe(16)}/"
        handler = type("Handler", (_Handler,), {"respond": staticmethod(respond), "prefix": self._prefix})
        try:
            self._server = _Server((ADDRESS, port), handler)
        except OSError as error:
            reason = f"{error.strerror}; choose another one with --port"
            raise TokverifyError(f"cannot serve on port {port} of {ADDRESS}: {reason}") from error

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._server.server_port

    @property
    def url(self) -> str:
        """The address of the first page."""
        return f"http://{ADDRESS}:{self.port}{self._prefix}"

    def serve(self) -> None:
        """Answer requests until `stop` is called in another thread or an exception such as Ctrl-C ends it."""
        try:
            self._server.serve_forever(poll_interval=0.1)
        finally:
            self.close()

    def stop(self) -> None:
        """End `serve`."""
        self._server.shutdown()

    def close(self) -> None:
        """Release the port of a server that does not serve."""
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Another program must not be able to take over the port.
    allow_reuse_address = False
    # A connection beyond the queue, which is short by default, is only tried again after a second or more.
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, address: tuple[str, int], handler: type[_Handler]) -> None:
        self._slots = Semaphore(MAX_CONNECTIONS)
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in socketserver
        """Serve a connection in a thread of its own, or close it if there are too many."""
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in socketserver
        """Serve a connection until it ends."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in socketserver
        """Ignore that a client has gone, or is too slow; report anything else."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # The head and the body of an answer are sent separately; the body must not wait until the head is acknowledged.
    disable_nagle_algorithm = True
    server: _Server
    prefix: str
    respond: Respond

    def setup(self) -> None:
        super().setup()
        self._incoming = DeadlineSocket(self.connection)
        self.rfile = self._incoming.makefile("rb")

    def handle_one_request(self) -> None:
        """Answer a request; one that is not complete in time ends the connection."""
        self._incoming.restart(time.monotonic() + SECONDS, MAX_BODY + _MAX_HEAD)
        super().handle_one_request()

    def do_GET(self) -> None:
        problem = self._find_problem("GET")
        self._send(_problem(problem) if problem else self._respond("GET", b""))

    def do_POST(self) -> None:
        problem = self._find_problem("POST") or self._find_length_problem()
        if problem:
            # The body stays unread: only pages of ours may fill memory. So nothing else can be read from here.
            self.close_connection = True
            self._send(_problem(problem))
        else:
            self._send(self._respond("POST", self.rfile.read(int(self.headers["Content-Length"]))))

    def _find_length_problem(self) -> HTTPStatus | None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or len(length) > len(str(MAX_BODY)) or int(length) > MAX_BODY:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        return None

    def _respond(self, method: str, body: bytes) -> Answer:
        try:
            answer = type(self).respond(method, self.path[len(self.prefix) :], body)
        except TokverifyError as error:
            return Answer(str(error).encode("utf-8", "backslashreplace"), "text/plain", HTTPStatus.BAD_REQUEST)
        return answer or _problem(HTTPStatus.NOT_FOUND)

    def _find_problem(self, method: str) -> HTTPStatus | None:
        """Return why a request is rejected, if it is."""
        hosts = [f"{name}:{self.server.server_port}" for name in (ADDRESS, "localhost")]
        if self.headers.get("Host") not in hosts:
            return HTTPStatus.MISDIRECTED_REQUEST
        if not hmac.compare_digest(self.path[: len(self.prefix)].encode(), self.prefix.encode()):
            return HTTPStatus.NOT_FOUND
        if method == "GET":
            return None
        if self.headers.get("Origin") not in [None, *(f"http://{host}" for host in hosts)]:
            return HTTPStatus.FORBIDDEN
        # A form of another site cannot send this type without asking first.
        is_json = self.headers.get("Content-Type", "").partition(";")[0].strip() == "application/json"
        return None if is_json else HTTPStatus.UNSUPPORTED_MEDIA_TYPE

    def _send(self, answer: Answer) -> None:
        self.connection.settimeout(SECONDS)
        self.send_response(answer.status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{answer.content_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def version_string(self) -> str:
        return "tokverify"

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the path contains the secret."""


def _problem(status: HTTPStatus) -> Answer:
    return Answer(status.phrase.encode(), "text/plain", status)
