"""Request JSON from an HTTP server over one persistent connection, with limits for each complete exchange."""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

from tokverify.errors import TokverifyError
from tokverify.system.deadline_socket import DeadlineSocket, TooLongError
from tokverify.system.http_address import REDIRECTS
from tokverify.system.json_input import JsonError, parse_json
from tokverify.system.library_error import summary

if TYPE_CHECKING:
    import socket

MAX_RESPONSE_BYTES = 1 << 26
"""The limit for a response with its headers. 16,384 tokens with their bytes take less than a mebibyte."""
MAX_RESPONSE_MEMORY = 1 << 29
"""The limit for the estimated memory of the JSON in a response, in bytes."""

_MAX_QUOTED = 200
_MAX_DIGITS = 6
_RETRIES = 3
_PAUSE = 0.1
"""The first pause before a retry, in seconds, if the server names none; each further one is twice as long."""
_BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_KEY = "set the environment variable TOKVERIFY_API_KEY or LLAMA_API_KEY"
_ADVICE: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: f"the server requires an API key; {_KEY}",
    HTTPStatus.FORBIDDEN: f"access denied; if it requires an API key, {_KEY}",
    HTTPStatus.TOO_MANY_REQUESTS: f"too many requests, also after {_RETRIES} retries; try again later",
    HTTPStatus.SERVICE_UNAVAILABLE: "the server is not ready; wait until it has loaded its model",
    **dict.fromkeys(REDIRECTS, "the server redirects to another address; name that one"),
    HTTPStatus.NOT_FOUND: "the server does not know this path; is it a server of another kind?",
}


class AnswerError(TokverifyError):
    """The server did not answer a request, or the answer is not usable."""


class RefusedError(AnswerError):
    """The server answered, but not with what was asked for; it is alive, and may be of another kind."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _Answer(NamedTuple):
    status: int
    retry_after: str
    data: bytes


class Connection:
    """A connection to the server at `address`.

    Args:
        address: Such as `http://127.0.0.1:8080`.
        seconds: The limit for each exchange, from the request to the last byte of the response.
        key: The key to send with every request.

    Raises:
        TokverifyError: If the address or the key is not valid.
    """

    def __init__(self, address: str, *, seconds: float, key: str | None = None) -> None:
        import http.client

        self.address = address.rstrip("/")
        self._seconds = seconds
        try:
            parts = urlsplit(self.address)
            if not parts.hostname:
                raise ValueError("no host")  # noqa: TRY301 - like urlsplit and port for other problems
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            self._connection = kind(parts.hostname, parts.port, timeout=seconds)
        except (ValueError, http.client.InvalidURL) as error:
            raise TokverifyError(f"{address}: not a valid address, such as http://127.0.0.1:8080 ({error})") from error
        weakref.finalize(self, self._connection.close)
        self._path = parts.path
        self._headers = {"Content-Type": "application/json"}
        if key:
            if not (key.isascii() and key.isprintable()):
                raise TokverifyError("the API key contains a character that no HTTP header can contain; correct it")
            self._headers["Authorization"] = f"Bearer {key}"

    def ask(self, path: str, content: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401 - JSON
        """Send a GET request, or a POST request if there is content, and return the JSON in the response.

        A server that answers that it is busy is asked again a few times, within the same limit.

        Raises:
            AnswerError: If there is no response.
            RefusedError: If the server refuses the request, or the response contains no JSON.
            TokverifyError: If the request times out, which would happen again for every text.
        """
        body = None if content is None else json.dumps(content).encode()
        try:
            answer = self._exchange_patiently(path, body)
        except TimeoutError as error:
            self._connection.close()
            raise TokverifyError(f"{self.address}: no complete response within {self._seconds:g} s") from error
        except TooLongError as error:
            self._connection.close()
            limit = f"{MAX_RESPONSE_BYTES >> 20} MiB"
            raise AnswerError(f"{self.address}{path}: the response is larger than {limit}, the limit") from error
        except Exception as error:
            # Apart from its own errors, http.client raises several others for an invalid response.
            self._connection.close()
            reason = (isinstance(error, OSError) and error.strerror) or summary(error)
            raise AnswerError(f"{self.address}: no response ({reason[:_MAX_QUOTED]})") from error
        return self._parse(path, answer)

    def _exchange_patiently(self, path: str, body: bytes | None) -> _Answer:
        """Retry while the server is busy, but not beyond the deadline."""
        deadline = time.monotonic() + self._seconds
        for number in range(_RETRIES):
            answer = self._exchange(path, body, deadline)
            pause = float(answer.retry_after) if answer.retry_after.isdecimal() else _PAUSE * 2**number
            if answer.status not in _BUSY or time.monotonic() + pause >= deadline:
                return answer
            time.sleep(pause)
        return self._exchange(path, body, deadline)

    def _exchange(self, path: str, body: bytes | None, deadline: float) -> _Answer:
        reused = self._connection.sock is not None
        try:
            return self._exchange_once(path, body, deadline)
        except ConnectionError:
            # subtle: servers close idle connections, which says nothing about this request.
            if not reused:
                raise
            self._connection.close()
            return self._exchange_once(path, body, deadline)

    def _exchange_once(self, path: str, body: bytes | None, deadline: float) -> _Answer:
        if self._connection.sock is None:
            self._connection.connect()
            connected = cast("socket.socket", self._connection.sock)
            self._connection.sock = cast("socket.socket", DeadlineSocket(connected))
        cast("DeadlineSocket", self._connection.sock).restart(deadline, MAX_RESPONSE_BYTES)
        self._connection.request("GET" if body is None else "POST", self._path + path, body, self._headers)
        response = self._connection.getresponse()
        return _Answer(response.status, response.headers.get("Retry-After", "")[:_MAX_DIGITS], response.read())

    def _parse(self, path: str, answer: _Answer) -> Any:  # noqa: ANN401 - JSON
        content, reason = _parse_answer(answer.data)
        if answer.status == HTTPStatus.OK and content is not None:
            return content
        message = _error_message(content)
        problem = summary(ValueError(message))[:_MAX_QUOTED] if message else reason
        advice = _ADVICE.get(answer.status, problem)
        raise RefusedError(f"{self.address}{path}: HTTP {answer.status}: {advice}", answer.status)


def _parse_answer(data: bytes) -> tuple[Any, str]:
    """Return the content of an answer, None if there is none, and what to say if it does not explain a refusal."""
    try:
        content = parse_json(data, max_memory=MAX_RESPONSE_MEMORY)
    except JsonError:
        return None, "the response is not JSON"
    return content, "the response is null" if content is None else "the response does not say why"


def _error_message(content: object) -> object:
    """Return the reason in the answer to a refused request: servers differ in where they put it."""
    if not isinstance(content, dict):
        return None
    error = content.get("error") or content.get("message") or content.get("detail")
    return error.get("message") if isinstance(error, dict) else error
