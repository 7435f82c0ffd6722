"""A stand-in for llama-server that speaks its protocol, backed by an Encoder, and fails on request."""

import json
from contextlib import suppress
from http.server import BaseHTTPRequestHandler

from support.http_thread import HttpThread


class StandIn(HttpThread):
    """A server in a thread.

    `answers` maps paths to (status, content) to answer instead, or to None to close the connection without an answer;
    with `hold` it stops answering.
    """

    def __init__(self, encoder) -> None:
        self.encoder = encoder
        self.answers = {}
        self.prefix = ""
        self.hold = False
        self.headers, self.body = {}, b""
        self.requests = []
        self.retry_after = {}
        self.connections = []
        stand_in = self

        class Handler(_Handler):
            owner = stand_in

        super().__init__(Handler)

    def __exit__(self, *error: object) -> None:
        self.released.set()
        self.drop_connections()
        super().__exit__(*error)

    def drop_connections(self) -> None:
        """Close all connections, as a server does with idle ones."""
        import socket

        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.connections.clear()

    def answer_or_refuse(self, path: str, body: bytes):
        """Return the status and the content; the status is 404 for a path that this kind of server does not know."""
        try:
            return 200, self.answer(path, body)
        except NotImplementedError:
            return 404, {"error": "File Not Found"}

    def answer(self, path: str, body: bytes):
        encoder, asked = self.encoder, json.loads(body or b"{}")
        if path == "/v1/models":
            return {"data": [{"id": "sample.gguf", "meta": {"n_vocab": encoder.vocab_size}}]}
        if path == "/props":
            return {"build_info": "b0-stand-in"}
        if path == "/detokenize":
            return {"content": b"".join(map(encoder.token_bytes, asked["tokens"])).decode(errors="replace")}
        if path != "/tokenize":
            raise NotImplementedError
        return {"tokens": self._tokens(asked)}

    def _tokens(self, asked):
        content = asked["content"]
        if isinstance(content, str):
            modes = {"add_special": asked.get("add_special", False), "parse_special": asked.get("parse_special", True)}
            ids = self.encoder.encode(content, **modes)
        else:
            ids = content
        return [{"id": id, "piece": self._piece(id)} for id in ids] if asked.get("with_pieces") else ids

    def _piece(self, id: int):
        token_bytes = self.encoder.token_bytes(id)
        try:
            return token_bytes.decode()
        except UnicodeDecodeError:
            return list(token_bytes)


class _Handler(BaseHTTPRequestHandler):
    owner: StandIn
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.owner.connections.append(self.connection)

    def __getattr__(self, name: str):
        # The base class looks for `do_GET` and `do_POST`.
        if name in {"do_GET", "do_POST"}:
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        # Several requests are answered at a time; tests look at the last one.
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.owner.headers, self.owner.body = dict(self.headers), body
        path = self.path.removeprefix(self.owner.prefix)
        if self.owner.hold:
            self.owner.released.wait()
            return
        self.owner.requests.append(path)
        answer = self.owner.answers.get(path, ())
        if answer is None:
            self.close_connection = True
            return
        status, content = answer or self.owner.answer_or_refuse(path, body)
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if status in self.owner.retry_after:
            self.send_header("Retry-After", self.owner.retry_after[status])
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass
