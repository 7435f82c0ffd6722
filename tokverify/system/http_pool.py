"""Ask an HTTP server for JSON, many requests at a time, and tell a server that is gone from one bad answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, NamedTuple

from tokverify.errors import GoneError, TokverifyError
from tokverify.system.http_address import REDIRECTS, origin_of, shown
from tokverify.system.http_client import ATTEMPTS, Credentials, HttpClient, MalformedError, Response
from tokverify.system.json_input import JsonError, parse_json
from tokverify.system.library_error import summary

CONNECTIONS = 8
"""How many requests are sent at a time."""
MAX_RESPONSE_BYTES = 1 << 26
"""The limit for a response. 16,384 tokens with their bytes take less than a mebibyte."""
MAX_RESPONSE_MEMORY = 1 << 29
"""The limit for the estimated memory of the JSON in a response, in bytes."""

_MAX_QUOTED = 200
_FIRST_PAUSE = 0.1
_BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_GONE = _BUSY | {HTTPStatus.UNAUTHORIZED, HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT}
"""What says nothing about a request, because any other one would be answered in the same way."""
_KEY = "set the environment variable TOKVERIFY_API_KEY or LLAMA_API_KEY"
_ADVICE: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: f"the server requires an API key; {_KEY}",
    HTTPStatus.FORBIDDEN: f"access denied; if it requires an API key, {_KEY}",
    HTTPStatus.TOO_MANY_REQUESTS: f"too many requests, also after {ATTEMPTS - 1} retries; try again later",
    HTTPStatus.SERVICE_UNAVAILABLE: "the server is not ready; wait until it has loaded its model",
    **dict.fromkeys(REDIRECTS, "the server redirects to another address; name that one"),
    HTTPStatus.NOT_FOUND: "the server does not know this path; is it a server of another kind?",
}


class AnswerError(TokverifyError):
    """The answer to one request is not usable; others may be."""


class RefusedError(AnswerError):
    """The server answered, but not with what was asked for; it is alive, and may be of another kind."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Call(NamedTuple):
    """A request."""

    path: str
    content: Mapping[str, object] | None = None
    """What to send as JSON in a POST request; None for a GET request."""


class HttpPool:
    """Connections to the server at `address`, without any proxy.

    Args:
        address: Such as `http://127.0.0.1:8080`.
        seconds: The limit for a request with all its attempts, from the first byte to the last one of the response.
        key: The key to send with every request.

    Raises:
        TokverifyError: If the address or the key is not valid.
    """

    def __init__(self, address: str, *, seconds: float, key: str | None = None) -> None:
        origin = origin_of(address, example="http://127.0.0.1:8080")
        self.address = shown(address).rstrip("/")
        self._client = HttpClient(
            seconds=seconds,
            patience=seconds,
            first_pause=_FIRST_PAUSE,
            passing=_BUSY,
            credentials=Credentials(origin, key, "API key") if key else None,
            uses_proxy=False,
        )

    def ask(self, call: Call) -> Any:  # noqa: ANN401 - JSON
        """Return the JSON that the server answers.

        Raises:
            AnswerError: If the answer to this request is not usable.
            RefusedError: If the server refuses the request, or the response contains no JSON.
            GoneError: If the server does not answer, also after several attempts, or refuses requests of any kind.
        """
        url = self.address + call.path
        body = None if call.content is None else json.dumps(call.content).encode()
        headers = {"Content-Type": "application/json"}
        try:
            response = self._client.send(url, max_bytes=MAX_RESPONSE_BYTES, headers=headers, body=body)
        except MalformedError as error:
            raise AnswerError(str(error)) from error
        if response.is_too_large:
            raise AnswerError(f"{shown(url)}: the response is larger than {MAX_RESPONSE_BYTES >> 20} MiB, the limit")
        return _parse(response)

    def ask_object(self, call: Call) -> dict[str, Any]:
        """Return the JSON object that the server answers.

        Raises:
            TokverifyError: As `ask` does; an AnswerError also if the answer is no object.
        """
        answer = self.ask(call)
        if not isinstance(answer, dict):
            raise AnswerError(f"{self.address}{call.path}: the answer is not a JSON object")
        return answer

    def ask_all(self, calls: Sequence[Call]) -> list[Any | AnswerError]:
        """Return what the server answers to each of these calls, in their order.

        Raises:
            GoneError: If the server does not answer; calls that were not sent yet are not sent.
        """
        if len(calls) <= 1:
            return list(map(self._answer_or_error, calls))
        executor = ThreadPoolExecutor(min(CONNECTIONS, len(calls)))
        try:
            return list(executor.map(self._answer_or_error, calls))
        finally:
            executor.shutdown(cancel_futures=True)

    def _answer_or_error(self, call: Call) -> Any | AnswerError:  # noqa: ANN401 - JSON
        try:
            return self.ask(call)
        except AnswerError as error:
            return error


def _parse(response: Response) -> Any:  # noqa: ANN401 - JSON
    content = None
    try:
        content = parse_json(response.data, max_memory=MAX_RESPONSE_MEMORY)
        reason = "the response is null" if content is None else "the response does not say why"
    except JsonError:
        reason = "the response is not JSON"
    if response.status == HTTPStatus.OK and content is not None:
        return content
    message = _error_message(content)
    problem = summary(ValueError(message))[:_MAX_QUOTED] if message else reason
    advice = f"{shown(response.url)}: HTTP {response.status}: {_ADVICE.get(response.status, problem)}"
    raise GoneError(advice) if response.status in _GONE else RefusedError(advice, response.status)


def _error_message(content: object) -> object:
    """Return the reason in the answer to a refused request: servers differ in where they put it."""
    if not isinstance(content, dict):
        return None
    error = content.get("error") or content.get("message") or content.get("detail")
    return error.get("message") if isinstance(error, dict) else error
