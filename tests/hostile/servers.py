"""Servers of every protocol that misbehave, and what they may never learn: an API key, or the hub's token."""

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from hostile.commands import GGUF, MODEL, TEXTS, Command
from hostile.faults import FAULTS
from support.fake_hub import TOKEN, FakeHub, Handler, Server, send_file, serving
from support.hub_fixtures import run_hub
from support.paths import SAMPLE
from support.server_stand_ins import STAND_INS
from support.stand_in import StandIn
from tokverify.engine.encoder import Encoder
from tokverify.sources.gguf.declaration import read_spec

KEY = "key-of-nobody"
FILES = {"model.gguf": GGUF, "tokenizer.model": MODEL, "tokenizer.json": SAMPLE / "sample.tokenizer.json"}


@dataclass
class Chaos:
    """Decides what is sent instead of right responses, and remembers which requests got those."""

    source: random.Random
    trap: Server
    """Where redirects lead; it must not be sent a secret."""
    right: set[bytes] = field(default_factory=set)
    """The bodies of requests that were answered rightly at least once."""
    over: threading.Event = field(default_factory=threading.Event)
    asked: threading.local = field(default_factory=threading.local)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.share = self.source.choice((0.02, 0.2, 0.9))
        self._quiet = self.source.choice((0, 0, 4, 40))

    def expect_few_requests(self) -> None:
        """Misbehave soon."""
        self.share = max(self.share, 0.2)
        self._quiet = min(self._quiet, 2)

    def respond(self, response: bytes, send: Callable[[bytes], object]) -> bool:
        """Send a response, or something else; return whether it was sent as it is."""
        with self.lock:
            self._quiet -= 1
            is_honest = self._quiet >= 0 or self.source.random() >= self.share
            fault = None if is_honest else self.source.choice(FAULTS)
        sent = b""
        for part in [response] if fault is None else fault(self.source, response, self.trap.address):
            if isinstance(part, bytes):
                send(part)
                sent = (sent + part)[: 1 << 20]
            elif self.over.wait(part):
                break
        if _is_right(response, sent):
            self.right.add(getattr(self.asked, "body", b""))
        return fault is None


def _is_right(response: bytes, sent: bytes) -> bool:
    body = response.partition(b"\r\n\r\n")[2]
    if body and body in sent:
        return True
    try:
        return _ids(sent.partition(b"\r\n\r\n")[2]) == _ids(body)
    except (ValueError, TypeError, LookupError, RecursionError):
        return False


def _ids(body: bytes) -> list[object]:
    """Return the ids in a response of any kind of server."""
    document = json.loads(body)
    tokens = document["tokens"] if isinstance(document, dict) else document[0]
    return [token["id"] if isinstance(token, dict) else token for token in tokens]


class _Writer:
    """Collects a response; it is sent, or something else, once it is complete."""

    def __init__(self, handler: BaseHTTPRequestHandler, file: Any, chaos: Chaos) -> None:
        self._handler, self._file, self._chaos = handler, file, chaos
        self._parts: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> int:
        self._parts.append(data)
        return len(data)

    def flush(self) -> None:
        response, self._parts = b"".join(self._parts), []
        if response:
            try:
                self._handler.close_connection |= not self._chaos.respond(response, self._send)
            except OSError:
                self._handler.close_connection = True

    def _send(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()

    def close(self) -> None:
        self.closed = True


def _garbled(handler: type[BaseHTTPRequestHandler], chaos: Chaos) -> type[BaseHTTPRequestHandler]:
    class Garbled(handler):
        def setup(self) -> None:
            super().setup()
            self.wfile = _Writer(self, self.wfile, chaos)

    return Garbled


@dataclass
class Peers:
    """The servers of one command."""

    names: dict[str, str]
    """What commands call them -> where they are."""
    find_problem: Callable[[Command, int], str]
    """Says what is wrong with the exit code of a command, and with what the servers were sent."""


@contextmanager
def serve(kind: str, source: random.Random, directory: Path) -> Iterator[Peers]:
    """Run the servers of a kind that misbehave."""
    trap = Server(lambda handler: handler.send(200, b"{}"))
    chaos = Chaos(source, trap)
    with ExitStack() as stack:
        stack.enter_context(serving(trap))
        stack.callback(chaos.over.set)
        yield SERVERS[kind](stack, chaos, directory)


def _serve_tokenizer(stack: ExitStack, chaos: Chaos, _: Path) -> Peers:
    kind = chaos.source.choice(["llama-server", *STAND_INS])
    made = (StandIn if kind == "llama-server" else STAND_INS[kind])(Encoder(read_spec(GGUF)))
    answer = made.answer_or_refuse

    def answer_or_refuse(path: str, body: bytes) -> Any:
        chaos.asked.body = body
        return answer(path, body)

    made.answer_or_refuse = answer_or_refuse
    made._server.RequestHandlerClass = _garbled(made._server.RequestHandlerClass, chaos)
    address = stack.enter_context(made).address

    def find_problem(command: Command, code: int) -> str:
        if any("Authorization" in headers for _, headers in chaos.trap.requests):
            return "a key was sent to where a redirect leads"
        missing = [text for text in TEXTS if not any(json.dumps(text).encode() in body for body in list(chaos.right))]
        if command[0] == "run" and code == 0 and missing:
            return f"exit code 0, but the server has never given the ids of {missing[0]!r}"
        return ""

    named = f"{kind}+{address}" if chaos.source.random() < 0.7 else address
    return Peers({"ADDRESS": named}, find_problem)


def _serve_files(stack: ExitStack, chaos: Chaos, _: Path, port: int = 0) -> Peers:
    def answer(handler: Handler) -> None:
        send_file(handler, FILES.get(handler.path.strip("/"), Path("/nowhere")), '"one"')

    chaos.expect_few_requests()
    server = Server(answer, port)
    server.RequestHandlerClass = _garbled(server.RequestHandlerClass, chaos)
    stack.enter_context(serving(server))
    return Peers({"ADDRESS": server.address}, lambda *_: _find_secret(server, chaos.trap))


def _serve_files_rightly(stack: ExitStack, chaos: Chaos, directory: Path) -> Peers:
    """Serve files at the same address for each command, so that the next one finds them in the cache."""
    port = directory / "port"
    peers = _serve_files(stack, chaos, directory, int(port.read_text()) if port.exists() else 0)
    port.write_text(peers.names["ADDRESS"].rpartition(":")[2])
    chaos.share = 0.0
    return peers


def _serve_hub(stack: ExitStack, chaos: Chaos, directory: Path) -> Peers:
    chaos.expect_few_requests()
    patch = pytest.MonkeyPatch()
    stack.callback(patch.undo)
    hub: FakeHub = run_hub(stack, patch, directory / "cache")
    patch.setenv("HF_TOKEN", TOKEN)
    patch.setenv("HF_ENDPOINT", hub.endpoint)
    hub.repositories["org/sample"] = FILES
    for server in (hub.api, hub.cdn):
        server.RequestHandlerClass = _garbled(server.RequestHandlerClass, chaos)
    return Peers({}, lambda *_: _find_secret(hub.cdn, chaos.trap))


def _serve_quietly(stack: ExitStack, _: Chaos, __: Path) -> Peers:
    """Run a server that only data names, so that it must not be sent a key."""
    made = stack.enter_context(StandIn(Encoder(read_spec(GGUF))))

    def find_problem(*_: object) -> str:
        return "a key was sent to a server that data names" if "Authorization" in made.headers else ""

    return Peers({"ADDRESS": made.address}, find_problem)


def _find_secret(*servers: Server) -> str:
    secret = any("Authorization" in headers for server in servers for _, headers in server.requests)
    return "a secret was sent to a server that it is not for" if secret else ""


SERVERS: dict[str, Callable[[ExitStack, Chaos, Path], Peers]] = {
    "server": _serve_tokenizer,
    "address": _serve_files,
    "cache": _serve_files_rightly,
    "hub": _serve_hub,
    "quiet": _serve_quietly,
}
"""Kind -> the function that runs the servers."""
