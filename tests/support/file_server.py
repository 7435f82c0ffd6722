"""An HTTP server for the files of a directory that answers requests for ranges, and fails on request."""

import re
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from support.http_thread import HttpThread


class FileServer(HttpThread):
    """A server in a thread; `status` maps names of files to the status to answer instead, None to never answer."""

    def __init__(self, directory: Path) -> None:
        self.status: dict[str, int | None] = {}
        self.sent = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.answer(has_body=False)

            def do_GET(self) -> None:
                self.answer(has_body=True)

            def answer(self, has_body: bool) -> None:
                name = self.path.strip("/")
                status = server.status.get(name, 200)
                if status is None:
                    server.released.wait()
                    self.close_connection = True
                    return
                data = (directory / name).read_bytes() if status == 200 else b""
                wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
                part = data[int(wanted[1]) : int(wanted[2]) + 1] if wanted else data
                self.send_response(206 if wanted and status == 200 else status)
                if wanted:
                    self.send_header("Content-Range", f"bytes {wanted[1]}-{int(wanted[1]) + len(part) - 1}/{len(data)}")
                self.send_header("Accept-Ranges", "bytes")
                self.send_header("Content-Length", str(len(part)))
                self.end_headers()
                if has_body:
                    with suppress(ConnectionError):  # a client may look at the headers only
                        self.wfile.write(part)
                        server.sent += len(part)

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(Handler)
