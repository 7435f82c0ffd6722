"""Exchange requests with HTTP servers that nobody has to trust: each has deadlines, and limits for its size.

Open connections are kept. Failures that pass are tried again: dropped connections, and the responses of a server that
is overloaded. Credentials are sent only to the server that they are meant for, never after a redirect to another one.
"""

from __future__ import annotations

import http.client
import math
import socket
import time
import weakref
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from string import punctuation
from typing import cast
from urllib.parse import quote, urlsplit

from tokverify.errors import GoneError, TokverifyError
from tokverify.system.deadline_socket import DeadlineSocket, TooLongError
from tokverify.system.http_address import REDIRECTS, origin_of, proxy_for, redirected, shown
from tokverify.system.library_error import summary

ATTEMPTS = 4
"""How many times a request is sent before its failure counts."""
MAX_WAIT = 30.0
"""How many seconds a server may ask to wait, in all attempts of a request together."""
PATIENCE = 120.0
"""The limit for all attempts of a request and for all redirects, in seconds."""

_MAX_REDIRECTS = 5
_MAX_HEADER_BYTES = 1 << 17
_MAX_DIGITS = 6
_PASSING = frozenset({429, 500, 502, 503, 504})


class NoResponseError(GoneError):
    """A server cannot be reached, or does not send a complete response in time."""


class MalformedError(TokverifyError):
    """What a server sends is not a response of HTTP."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A secret for one server."""

    origin: str
    """The server, such as `https://huggingface.co`."""
    token: str = field(repr=False)
    """What to send to it as a bearer token."""
    kind: str = "token"
    """What it is called in messages."""

    def __post_init__(self) -> None:
        if not (self.token.isascii() and self.token.isprintable()):
            raise TokverifyError(
                f"the {self.kind} for {self.origin} contains a character that no HTTP header can contain; correct it"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The response to a request."""

    url: str
    """The address that it came from."""
    status: int
    headers: Mapping[str, str]
    """By lower-case name; after redirects, what the last server does not send is as in those that led to it."""
    data: bytes
    """The body; empty if it is larger than requested, in which case it is not read."""
    is_too_large: bool = False
    """Whether the body is larger than requested."""


@dataclass(frozen=True, slots=True)
class _Request:
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    max_bytes: int


class HttpClient:
    """Sends requests; several threads may do so at a time.

    Args:
        seconds: The limit for each exchange, from the request to the last byte of the response.
        patience: The limit for all attempts of a request and for all redirects, in seconds.
        first_pause: The pause before the second attempt, in seconds, if the server names none; each further one is
            twice as long.
        passing: The statuses of failures that pass.
        credentials: What to send to one of the servers.
        uses_proxy: Whether to use the proxy that the environment names.
    """

    def __init__(  # noqa: PLR0913 - all of them are keywords
        self,
        *,
        seconds: float = 60.0,
        patience: float = PATIENCE,
        first_pause: float = 0.5,
        passing: Collection[int] = _PASSING,
        credentials: Credentials | None = None,
        uses_proxy: bool = True,
    ) -> None:
        self._seconds = seconds
        self._patience = patience
        self._pauses = [first_pause * 2**number for number in range(ATTEMPTS - 1)]
        self._passing = passing
        self._credentials = credentials
        self._uses_proxy = uses_proxy
        self._idle: dict[str, list[http.client.HTTPConnection]] = {}
        weakref.finalize(self, _close_all, self._idle)

    def get(
        self, url: str, *, max_bytes: int, headers: Mapping[str, str] | None = None, until: float = math.inf
    ) -> Response:
        """Send a GET request, and follow redirects.

        Args:
            url: The address.
            max_bytes: The largest body to read.
            headers: Headers to send, such as `Range`.
            until: When to give up at the latest, in seconds of `time.monotonic`.

        Raises:
            NoResponseError: If there is no complete response, after several attempts.
            GoneError: If the server asks to wait for too long.
            MalformedError: If something else than a response arrives.
            TokverifyError: If the address is not valid, or is redirected too often or to an insecure address.
        """
        seen: dict[str, str] = {}
        first = url
        until = min(until, time.monotonic() + self._patience)
        for _ in range(_MAX_REDIRECTS + 1):
            response = self.send(url, max_bytes=max_bytes, headers=headers, until=until)
            seen |= response.headers
            location = response.headers.get("location")
            if response.status not in REDIRECTS or location is None:
                return replace(response, headers=seen)
            url = redirected(url, location)
        raise TokverifyError(f"{shown(first)}: redirected more than {_MAX_REDIRECTS} times")

    def send(
        self,
        url: str,
        *,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        until: float = math.inf,
    ) -> Response:
        """Send a POST request if there is a body, else a GET request, until its result is not a failure that passes.

        Arguments and errors are those of `get`, but a redirect is returned like any other response.
        """
        request = _Request(url, headers or {}, body, max_bytes)
        until = min(until, time.monotonic() + self._patience)
        waited = 0.0
        for default_pause in self._pauses:
            pause = default_pause
            try:
                response = self._attempt(request, until)
            except NoResponseError:
                if time.monotonic() + pause >= until:
                    raise
            else:
                if response.status not in self._passing:
                    return response
                pause = _requested_pause(response, pause, MAX_WAIT - waited)
                if time.monotonic() + pause >= until:
                    return response
            waited += pause
            time.sleep(pause)
        return self._attempt(request, until)

    def _attempt(self, request: _Request, until: float) -> Response:
        """Send a request once; raise one of our errors if that fails."""
        start = time.monotonic()
        seconds = max(min(self._seconds, until - start), 0.0)
        try:
            return self._exchange(request, start + seconds)
        except TimeoutError as error:
            raise NoResponseError(f"{shown(request.url)}: no complete response within {seconds:.3g} s") from error
        except (OSError, http.client.IncompleteRead) as error:
            reason = (isinstance(error, OSError) and error.strerror) or summary(error)
            advice = "check the address, and whether the server is running"
            raise NoResponseError(f"{shown(request.url)}: no complete response ({reason}); {advice}") from error
        except TokverifyError:
            raise
        except Exception as error:
            # Apart from its own errors, http.client raises several others for an invalid response.
            raise MalformedError(f"{shown(request.url)}: no usable response ({summary(error)})") from error

    def _exchange(self, request: _Request, deadline: float) -> Response:
        """Send a request over a connection that is open, or else over a new one."""
        idle = self._idle.setdefault(origin_of(request.url), [])
        while idle:
            # subtle: `pop` and `append` are atomic, so no other thread gets the same connection.
            try:
                connection = idle.pop()
            except IndexError:
                break
            try:
                return self._exchange_over(connection, request, deadline)
            except ConnectionError:
                # Servers close idle connections, which says nothing about this request.
                continue
        return self._exchange_over(self._open(request.url, deadline), request, deadline)

    def _exchange_over(self, connection: http.client.HTTPConnection, request: _Request, deadline: float) -> Response:
        try:
            cast("DeadlineSocket", connection.sock).restart(deadline, _MAX_HEADER_BYTES + request.max_bytes)
            headers = {**request.headers, **self._authorization(request.url)}
            target = self._target(request.url)
            connection.request("GET" if request.body is None else "POST", target, request.body, headers)
            response = connection.getresponse()
            data = _read_at_most(response, request.max_bytes)
        except BaseException:
            connection.close()
            raise
        if response.isclosed() and connection.sock is not None:
            self._idle[origin_of(request.url)].append(connection)
        else:
            connection.close()
        return Response(
            url=request.url,
            status=response.status,
            headers={name.lower(): value for name, value in response.getheaders()},
            data=data or b"",
            is_too_large=data is None,
        )

    def _authorization(self, url: str) -> dict[str, str]:
        if self._credentials is None or origin_of(url) != origin_of(self._credentials.origin):
            return {}
        return {"Authorization": f"Bearer {self._credentials.token}"}

    def _target(self, url: str) -> str:
        parts = urlsplit(url)
        # A proxy for plain HTTP has to know the server.
        if parts.scheme == "http" and self._uses_proxy and proxy_for(url):
            return url
        return quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=punctuation)

    def _open(self, url: str, deadline: float) -> http.client.HTTPConnection:
        """Open a connection to a server, through a proxy if there is one."""
        server = urlsplit(url)
        proxy = proxy_for(url) if self._uses_proxy else None
        kind = http.client.HTTPSConnection if server.scheme == "https" else http.client.HTTPConnection
        nearest = proxy or server
        left = max(deadline - time.monotonic(), 0.001)
        connection = kind(cast("str", nearest.hostname), nearest.port, timeout=left)
        if proxy and server.scheme == "https":
            connection.set_tunnel(cast("str", server.hostname), server.port)
        connection.connect()
        connection.sock = cast("socket.socket", DeadlineSocket(cast("socket.socket", connection.sock)))
        return connection


def _requested_pause(response: Response, default: float, most: float) -> float:
    """Return how many seconds to wait before the next attempt.

    Raises:
        GoneError: If the server asks to wait for too long.
    """
    requested = response.headers.get("retry-after", "")
    if not requested.isdecimal():
        return default
    # subtle: Python does not read numbers of thousands of digits.
    if len(requested) > _MAX_DIGITS or int(requested) > most:
        status = describe_status(response.status)
        raise GoneError(f"{shown(response.url)}: {status}: asks for a pause of {requested[:9]} s; try again later")
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


def _close_all(idle: Mapping[str, list[http.client.HTTPConnection]]) -> None:
    for connections in idle.values():
        for connection in connections:
            connection.close()
