"""The server for this machine: which requests it answers, and which it rejects."""

import contextlib
import http.client
import socket
import struct
import threading
import time
from urllib.parse import urlsplit

import pytest

from tokverify.errors import TokverifyError
from tokverify.system import local_server
from tokverify.system.local_server import MAX_BODY, MAX_CONNECTIONS, Answer, LocalServer

pytestmark = pytest.mark.process

JSON = {"Content-Type": "application/json"}


def respond(method: str, path: str, body: bytes) -> Answer | None:
    if path == "broken":
        raise TokverifyError("the text is too long")
    return Answer(f"{method} {path} ".encode() + body) if path in {"", "echo"} else None


@pytest.fixture
def server():
    server = LocalServer(respond)
    thread = threading.Thread(target=server.serve)
    thread.start()
    yield server
    server.stop()
    thread.join()


def ask(server: LocalServer, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    """Send a request; `path` is below the secret unless it begins with a slash."""
    url = urlsplit(server.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path if path.startswith("/") else url.path + path, body or None, named)
    answer = connection.getresponse()
    got = answer.status, answer.read()
    connection.close()
    return got


def test_the_page_and_its_requests_are_answered(server):
    assert ask(server, "GET", "") == (200, b"GET  ")
    assert ask(server, "POST", "echo", b"{}", **JSON) == (200, b"POST echo {}")
    assert ask(server, "POST", "echo", b"{}", Origin=f"http://localhost:{server.port}", **JSON)[0] == 200


def test_an_error_is_answered_with_its_message(server):
    assert ask(server, "POST", "broken", b"{}", **JSON) == (400, b"the text is too long")


@pytest.mark.parametrize(
    ("line", "headers", "status"),
    [
        ("/echo", JSON, 404),
        ("{secret}echo", JSON | {"Origin": "https://example.com"}, 403),
        ("{secret}echo", JSON | {"Host": "example.com"}, 421),
        ("{secret}echo", {"Content-Type": "text/plain"}, 415),
    ],
)
def test_a_request_is_rejected_before_its_body_is_read(server, line: str, headers: dict[str, str], status: int):
    url = urlsplit(server.url)
    sent = {"Host": f"127.0.0.1:{server.port}", "Content-Length": str(MAX_BODY), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    with socket.create_connection((url.hostname, url.port), timeout=10) as connection:
        # The body never comes, so whoever waits for it does not answer.
        connection.sendall(f"POST {line.format(secret=url.path)} HTTP/1.1\r\n{head}\r\n".encode())
        answer = b""
        while received := connection.recv(1 << 16):
            answer += received
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize("path", ["/", "/echo", "//", "/../etc/passwd", "/%2e%2e/", "nowhere", "/wrong-secret-123456/"])
def test_other_paths_are_not_found(server, path: str):
    assert ask(server, "GET", path)[0] == 404


def test_the_secret_without_a_slash_is_not_found(server):
    assert ask(server, "GET", urlsplit(server.url).path.rstrip("/"))[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "[::1]:80", ""])
def test_requests_for_another_host_are_rejected(server, host: str):
    assert ask(server, "GET", "", Host=host)[0] == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1", "https://localhost"])
def test_requests_of_another_origin_are_rejected(server, origin: str):
    assert ask(server, "POST", "echo", b"{}", Origin=origin, **JSON)[0] == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_types_that_a_form_of_another_site_can_send_are_rejected(server, kind: str):
    assert ask(server, "POST", "echo", b"{}", Content_Type=kind)[0] == 415


@pytest.mark.parametrize("length", [str(MAX_BODY + 1), "-1", "1e3", "9" * 5000, "²"])
def test_bodies_that_are_too_large_or_of_unknown_length_are_rejected_unread(server, length: str):
    assert ask(server, "POST", "echo", Content_Length=length.encode().decode("latin-1"), **JSON)[0] == 413


def test_an_answer_cannot_be_framed_cached_or_guessed(server):
    url = urlsplit(server.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
    connection.request("GET", url.path)
    headers = connection.getresponse().headers
    connection.close()
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers


def test_each_server_has_its_own_secret_of_at_least_128_bits(server):
    other = LocalServer(respond)
    assert urlsplit(other.url).path != urlsplit(server.url).path
    assert len(urlsplit(other.url).path) >= 22 + 2
    other.close()


def test_a_port_that_is_taken_is_an_error(server):
    with pytest.raises(TokverifyError, match=f"cannot serve on port {server.port} of 127.0.0.1: .*--port"):
        LocalServer(respond, server.port)


@pytest.mark.parametrize("head", ["POST {}echo HTTP/1.1\r\nX: ", "POST {}echo HTTP/1.1\r\nContent-Length: 999\r\n\r\n"])
def test_a_request_that_never_ends_is_dropped(server, monkeypatch, head: str):
    """A byte now and then satisfies a timeout for each read, but not one for the whole request."""
    monkeypatch.setattr(local_server, "SECONDS", 0.3)
    url = urlsplit(server.url)
    with socket.create_connection((url.hostname, url.port), timeout=0.02) as connection:
        connection.sendall(head.format(url.path).encode())
        assert any(_is_dropped(connection) for _ in range(900))


def _is_dropped(connection: socket.socket) -> bool:
    """Send another byte, and check whether the server has closed the connection."""
    try:
        connection.sendall(b"x")
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_more_connections_than_the_limit_are_closed(server):
    opened = [socket.create_connection((local_server.ADDRESS, server.port)) for _ in range(MAX_CONNECTIONS)]
    with socket.create_connection((local_server.ADDRESS, server.port), timeout=10) as refused:
        assert not refused.recv(1)
    opened.pop().close()
    for _ in range(100):
        with contextlib.suppress(OSError, http.client.HTTPException):
            assert ask(server, "GET", "") == (200, b"GET  ")
            break
        time.sleep(0.1)
    else:
        pytest.fail("the place of a connection that was closed is not free again")
    for connection in opened:
        connection.close()


def test_a_client_that_disconnects_is_not_reported(server, capfd: pytest.CaptureFixture[str]):
    head = f"GET {urlsplit(server.url).path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
    for _ in range(5):
        connection = socket.create_connection((local_server.ADDRESS, server.port))
        # subtle: without lingering, closing the connection resets it.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(head.encode() * 50)
        connection.close()
    assert ask(server, "GET", "") == (200, b"GET  ")
    assert capfd.readouterr().err == ""
