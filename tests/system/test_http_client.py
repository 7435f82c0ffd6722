"""Requests to servers that nobody has to trust."""

import time

import pytest

from support.fake_hub import Server, drop, serving, status
from support.hub_fixtures import PROXIES, pauses
from support.raw_server import RawServer, slow_body, slow_headers
from tokverify.errors import TokverifyError
from tokverify.system.http_address import origin_of, redirected
from tokverify.system.http_client import (
    ATTEMPTS,
    Credentials,
    HttpClient,
    NoResponseError,
    describe_status,
)

__all__ = ["pauses"]


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch) -> None:
    for variable in PROXIES:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def server():
    server = Server(lambda handler: handler.send(200, handler.path.encode()))
    with serving(server):
        yield server


def test_one_connection_serves_several_requests(server):
    client = HttpClient()
    peers = set()
    server.answer = lambda handler: (peers.add(handler.client_address), handler.send(200, handler.path.encode()))
    assert [client.get(f"{server.address}/{name}", max_bytes=9).data for name in "ab"] == [b"/a", b"/b"]
    assert len(peers) == 1


def test_a_body_larger_than_requested_is_not_read(server):
    response = HttpClient().get(f"{server.address}/too-long", max_bytes=8)
    assert (response.status, response.data) == (200, b"")
    assert HttpClient().get(f"{server.address}/too-long", max_bytes=9).data == b"/too-long"


def test_any_character_can_be_in_an_address(server):
    assert HttpClient().get(f"{server.address}/лиса%20é?a=б&c=%2B", max_bytes=99).data == (
        b"/%D0%BB%D0%B8%D1%81%D0%B0%20%C3%A9?a=%D0%B1&c=%2B"
    )


def test_headers_of_a_redirect_are_kept(server):
    server.faults.append(status(302, Location="/b", X_Linked_ETag="tag", ETag="first"))
    server.faults.append(status(200, b"b", ETag="last"))
    response = HttpClient().get(f"{server.address}/a", max_bytes=9)
    assert response.url == f"{server.address}/b"
    assert (response.headers["x-linked-etag"], response.headers["etag"]) == ("tag", "last")


def test_credentials_stay_with_their_server(server):
    other = Server(lambda handler: handler.send(302, Location=f"{server.address}/x"))
    client = HttpClient(credentials=Credentials(other.address, "secret"))
    with serving(other):
        client.get(f"{other.address}/a", max_bytes=9)
    assert other.requests[0][1]["Authorization"] == "Bearer secret"
    assert "Authorization" not in server.requests[0][1]
    assert "secret" not in repr(Credentials(other.address, "secret"))


def test_an_insecure_redirect_is_not_followed():
    with pytest.raises(TokverifyError, match="redirected to an insecure address"):
        redirected("https://example.org/a", "http://example.org/a")
    assert redirected("https://example.org/a", "b") == "https://example.org/b"


@pytest.mark.parametrize("answer", [slow_headers, slow_body])
def test_a_server_that_sends_slowly_is_given_up(answer, pauses, monkeypatch):
    monkeypatch.setattr("support.raw_server.time", _Clock())
    with RawServer(answer) as server, pytest.raises(NoResponseError, match=r"no complete response within 0\.05 s"):
        HttpClient(seconds=0.05).get(server.address, max_bytes=2 * 10**9)
    assert pauses == [0.5, 1.0, 2.0][: ATTEMPTS - 1]


class _Clock:
    """The module `time`, as the slow server uses it, while pauses are not kept."""

    sleep = staticmethod(lambda seconds, wait=time.sleep: wait(seconds))


def test_a_server_that_is_gone_is_an_error(pauses):
    with pytest.raises(NoResponseError, match=r"^http://127\.0\.0\.1:1/x: no complete response"):
        HttpClient().get("http://127.0.0.1:1/x?signature", max_bytes=9)


def test_a_dropped_connection_is_tried_again(server, pauses):
    server.faults.extend([drop, drop])
    assert HttpClient().get(f"{server.address}/a", max_bytes=9).data == b"/a"


def test_a_proxy_relays_requests(server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.address)
    assert HttpClient().get("http://example.org/a?b", max_bytes=30).data == b"http://example.org/a?b"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert HttpClient().get(f"{server.address}/a", max_bytes=30).data == b"/a"


def test_a_proxy_is_asked_for_a_tunnel_to_a_secure_server(server, monkeypatch, pauses):
    monkeypatch.setenv("https_proxy", server.address)
    with pytest.raises(NoResponseError, match="Tunnel connection failed: 501"):
        HttpClient().get("https://example.org/a", max_bytes=30)


@pytest.mark.parametrize(
    "url", ["example.org/a", "ftp://example.org", "http://", "http://a b/", "http://[/", "http://a:x/"]
)
def test_an_invalid_address_is_an_error(url):
    with pytest.raises(TokverifyError, match="not a valid address"):
        origin_of(url)


def test_a_token_that_no_header_can_contain_is_an_error_that_does_not_quote_it():
    with pytest.raises(TokverifyError, match=r"^the token for https://x contains a character that no HTTP header"):
        Credentials("https://x", "a\nb")


def test_a_status_is_named():
    assert describe_status(404) == "HTTP 404 Not Found"
    assert describe_status(299) == "HTTP 299"
