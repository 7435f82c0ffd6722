"""Download from HTTP servers that nobody has to trust: every exchange has a deadline and a limit for its size.

A connection to each server is kept open. Failures that pass are tried again: dropped connections, and the responses of
a server that is overloaded. Credentials are sent only to the server that they are meant for, never after a redirect to
another one.
"""

from __future__ import annotations

import http.client
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from string import punctuation
from typing import TYPE_CHECKING, cast
from urllib.parse import SplitResult, quote, urlsplit

from tokverify.errors import TokverifyError
from tokverify.system.deadline_socket import DeadlineSocket, TooLongError
from tokverify.system.http_address import REDIRECTS, origin_of, proxy_for, redirected, shown
from tokverify.system.library_error import summary

if TYPE_CHECKING:
    import socket

ATTEMPTS = 4
"""How many times a request is sent before its failure counts."""
MAX_WAIT = 30.0
"""How many seconds a server may ask to wait before the next attempt."""

_MAX_REDIRECTS = 5
_MAX_HEADER_BYTES = 1 << 17
_FIRST_PAUSE = 0.5
_MAX_DIGITS = 6
_PASSING = frozenset({429, 500, 502, 503, 504})


class NoResponseError(TokverifyError):
    """A server cannot be reached, or does not send a complete response in time."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A secret for one server."""

    origin: str
    """The server, such as `https://huggingface.co`."""
    token: str = field(repr=False)
    """What to send to it as a bearer token."""

    def __post_init__(self) -> None:
        if not (self.token.isascii() and self.token.isprintable()):
            raise TokverifyError(f"the token for {self.origin} contains a character that no HTTP header can contain")


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The response to a request, after all redirects."""

    url: str
    """The address that it came from."""
    status: int
    headers: Mapping[str, str]
    """By lower-case name; what the last server does not send is as in the redirects that led to it."""
    data: bytes
    """The body; empty if it is larger than requested, in which case it is not read."""
    is_too_large: bool = False
    """Whether the body is larger than requested."""


class HttpClient:
    """Sends GET requests.

    Args:
        seconds: The limit for each exchange, from the request to the last byte of the response.
        credentials: What to send to one of the servers.
    """

    def __init__(self, *, seconds: float = 60.0, credentials: Credentials | None = None) -> None:
        self._seconds = seconds
        self._credentials = credentials
        self._connections: dict[str, http.client.HTTPConnection] = {}
        weakref.finalize(self, _close_all, self._connections)

    def get(self, url: str, *, max_bytes: int, headers: Mapping[str, str] | None = None) -> Response:
        """Send a request, and follow redirects.

        Args:
            url: The address.
            max_bytes: The largest body to read.
            headers: Headers to send, such as `Range`.

        Raises:
            NoResponseError: If there is no complete response, after several attempts.
            TokverifyError: If the address is not valid, or is redirected too often or to an insecure address.
        """
        seen: dict[str, str] = {}
        first = url
        for _ in range(_MAX_REDIRECTS + 1):
            response = self._get_patiently(url, headers or {}, max_bytes)
            seen |= response.headers
            location = response.headers.get("location")
            if response.status not in REDIRECTS or location is None:
                return replace(response, headers=seen)
            url = redirected(url, location)
        raise TokverifyError(f"{shown(first)}: redirected more than {_MAX_REDIRECTS} times")

    def _get_patiently(self, url: str, headers: Mapping[str, str], max_bytes: int) -> Response:
        """Send a request until its result does not look like a failure that passes."""
        for attempt in range(1, ATTEMPTS):
            pause = _FIRST_PAUSE * 2 ** (attempt - 1)
            try:
                response = self._get_once(url, headers, max_bytes)
            except NoResponseError:
                time.sleep(pause)
                continue
            if response.status not in _PASSING:
                return response
            time.sleep(_requested_pause(response, pause))
        return self._get_once(url, headers, max_bytes)

    def _get_once(self, url: str, headers: Mapping[str, str], max_bytes: int) -> Response:
        deadline = time.monotonic() + self._seconds
        connection = self._connection(url)
        try:
            return self._exchange(connection, url, headers, max_bytes, deadline)
        except TimeoutError as error:
            connection.close()
            raise NoResponseError(f"{shown(url)}: no complete response within {self._seconds:g} s") from error
        except Exception as error:
            # Apart from its own errors, http.client raises several others for an invalid response.
            connection.close()
            reason = (isinstance(error, OSError) and error.strerror) or summary(error)
            raise NoResponseError(f"{shown(url)}: no complete response ({reason})") from error

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        url: str,
        headers: Mapping[str, str],
        max_bytes: int,
        deadline: float,
    ) -> Response:
        if connection.sock is None:
            connection.connect()
            connected = cast("socket.socket", connection.sock)
            connection.sock = cast("socket.socket", DeadlineSocket(connected))
        cast("DeadlineSocket", connection.sock).restart(deadline, _MAX_HEADER_BYTES + max_bytes)
        parts = urlsplit(url)
        target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=punctuation)
        # A proxy for plain HTTP has to know the server.
        is_relayed = parts.scheme == "http" and proxy_for(url) is not None
        connection.request("GET", url if is_relayed else target, headers={**headers, **self._authorization(url)})
        response = connection.getresponse()
        data = _read_at_most(response, max_bytes)
        if not response.isclosed():
            connection.close()
        lowered = {name.lower(): value for name, value in response.getheaders()}
        return Response(url=url, status=response.status, headers=lowered, data=data or b"", is_too_large=data is None)

    def _authorization(self, url: str) -> dict[str, str]:
        if self._credentials is None or origin_of(url) != origin_of(self._credentials.origin):
            return {}
        return {"Authorization": f"Bearer {self._credentials.token}"}

    def _connection(self, url: str) -> http.client.HTTPConnection:
        origin = origin_of(url)
        if origin not in self._connections:
            self._connections[origin] = _connect(urlsplit(url), proxy_for(url), self._seconds)
        return self._connections[origin]


def _connect(server: SplitResult, proxy: SplitResult | None, seconds: float) -> http.client.HTTPConnection:
    """Return a connection to a server, through a proxy if there is one, that is opened later."""
    kind = http.client.HTTPSConnection if server.scheme == "https" else http.client.HTTPConnection
    nearest = proxy or server
    connection = kind(cast("str", nearest.hostname), nearest.port, timeout=seconds)
    if proxy and server.scheme == "https":
        connection.set_tunnel(cast("str", server.hostname), server.port)
    return connection


def _requested_pause(response: Response, default: float) -> float:
    """Return how many seconds to wait before the next attempt.

    Raises:
        TokverifyError: If the server asks to wait for too long.
    """
    requested = response.headers.get("retry-after", "")
    if not requested.isdecimal():
        return default
    # subtle: Python does not read numbers of thousands of digits.
    if len(requested) > _MAX_DIGITS or int(requested) > MAX_WAIT:
        status = describe_status(response.status)
        raise TokverifyError(f"{shown(response.url)}: {status}: asks for a pause of {requested[:9]} s; try again later")
    return float(requested)


def _read_at_most(response: http.client.HTTPResponse, max_bytes: int) -> bytes | None:
    """Read a body; return None if it is too large."""
    if response.length is not None:
        return response.read() if response.length <= max_bytes else None
    try:
        data = response.read(max_bytes + 1)
    except TooLongError:
        return None
    return data if len(data) <= max_bytes else None


def describe_status(status: int) -> str:
    """Name a status, as in `HTTP 404 Not Found`."""
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def _close_all(connections: dict[str, http.client.HTTPConnection]) -> None:
    for connection in connections.values():
        connection.close()
