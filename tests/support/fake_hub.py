"""A hub on this machine: an API, addresses of files that redirect to a second server, and whatever can go wrong.

Modeled on the responses of huggingface.co: `/api/models/...`, and `/org/name/resolve/REVISION/FILE`, which redirects
large files to another host and states their hash and size in `X-Linked-ETag` and `X-Linked-Size`.
"""

import hashlib
import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_secret"  # noqa: S105 - of nobody


class Handler(BaseHTTPRequestHandler):
    """One request; a fault, if one is due, comes before the ordinary answer."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # so that headers and body are one packet, which is much faster
    server: "Server"

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers)))
        fault = self.server.faults.popleft() if self.server.faults else None
        if fault is None or fault(self):
            self.server.answer(self)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

    def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.server.sent += len(body)
            self.wfile.write(body)

    def requested_range(self) -> tuple[int, int] | None:
        """Return the first and the last offset that the request asks for."""
        kind, _, span = self.headers.get("Range", "").partition("=")
        first, _, last = span.partition("-")
        return (int(first), int(last)) if kind == "bytes" else None

    def drop(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """A server that counts its requests and the bytes of its answers."""

    daemon_threads = True

    def __init__(self, answer: Callable[[Handler], None], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.answer = answer
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.faults: deque[Callable[[Handler], object] | None] = deque()
        self.sent = 0
        self.address = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Stay silent about connections that a fault has dropped."""


def status(code: int, body: bytes = b"", **headers: str) -> Callable[[Handler], None]:
    """Build the fault of answering with a status."""
    return lambda handler: handler.send(code, body, **headers)


def drop(handler: Handler) -> None:
    """Close the connection without an answer."""
    handler.drop()


def drop_midway(handler: Handler) -> None:
    """Announce a part, send a little of it, and close the connection."""
    handler.send(206, b"GGUF", Content_Range="bytes 0-131071/200000", Content_Length="131072")
    handler.drop()


@dataclass
class FakeHub:
    """The two servers, and what is in the repositories: repository -> path -> file."""

    repositories: dict[str, dict[str, Path]] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    etag_version: int = 1

    def __post_init__(self) -> None:
        self.api = Server(self._answer_api)
        self.cdn = Server(self._answer_cdn)

    @property
    def endpoint(self) -> str:
        return self.api.address

    def etag(self, path: Path) -> str:
        return hashlib.sha256(f"{path} {self.etag_version}".encode()).hexdigest()

    def _answer_api(self, handler: Handler) -> None:
        parts = urlsplit(handler.path)
        path = unquote(parts.path)
        if path == "/api/models":
            self._answer_search(handler, parse_qs(parts.query))
            return
        words = path.removeprefix("/api/models").strip("/").split("/")
        repository = "/".join(words[:2])
        files = self.repositories.get(repository)
        is_hidden = repository in self.private and handler.headers.get("Authorization") != f"Bearer {TOKEN}"
        if files is None or is_hidden:
            handler.send(401, X_Error_Code="RepoNotFound")
        elif words[3] not in {"main", COMMIT}:
            handler.send(404, X_Error_Code="RevisionNotFound")
        elif words[2] == "revision":
            siblings = [{"rfilename": name} for name in files]
            handler.send(200, json.dumps({"id": repository, "sha": COMMIT, "siblings": siblings}).encode())
        else:
            self._answer_file(handler, files.get("/".join(words[4:])))

    def _answer_search(self, handler: Handler, query: dict[str, list[str]]) -> None:
        """Return the repositories of an owner, two on each page."""
        page = int(query.get("cursor", ["0"])[0])
        ids = [each for each in self.repositories if each.startswith(f"{query['author'][0]}/")]
        shown = ids[page : page + 2]
        next_page = f"{self.endpoint}/api/models?author={query['author'][0]}&cursor={page + 2}"
        link = {"Link": f'<{next_page}>; rel="next"'} if ids[page + 2 :] else {}
        handler.send(200, json.dumps([{"id": each} for each in shown]).encode(), **link)

    def _answer_file(self, handler: Handler, path: Path | None) -> None:
        if path is None:
            handler.send(404, X_Error_Code="EntryNotFound")
            return
        linked = {"X_Linked_ETag": f'"{self.etag(path)}"', "X_Linked_Size": str(path.stat().st_size)}
        handler.send(302, Location=f"{self.cdn.address}{path}?signature=x", X_Repo_Commit=COMMIT, **linked)

    def _answer_cdn(self, handler: Handler) -> None:
        send_file(handler, Path(unquote(urlsplit(handler.path).path)), f'"cdn-{self.etag_version}"')


def send_file(handler: Handler, path: Path, etag: str) -> None:
    """Answer with the requested part of a file."""
    if not path.is_file():
        handler.send(404)
        return
    size = path.stat().st_size
    requested = handler.requested_range()
    if requested is None:
        handler.send(200, path.read_bytes(), ETag=etag)
        return
    first, last = requested
    if first >= size:
        handler.send(416, Content_Range=f"bytes */{size}")
        return
    with path.open("rb") as file:
        file.seek(first)
        body = file.read(last - first + 1)
    handler.send(206, body, ETag=etag, Content_Range=f"bytes {first}-{first + len(body) - 1}/{size}")


@contextmanager
def serving(*servers: Server) -> Iterator[None]:
    """Run servers in threads."""
    threads = [threading.Thread(target=server.serve_forever, args=(0.01,)) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()
