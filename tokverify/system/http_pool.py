"""Send many requests to one HTTP server at a time, each over a persistent connection of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from tokverify.system.http_connection import AnswerError, Connection

CONNECTIONS = 8
"""How many requests are sent at a time."""


class Call(NamedTuple):
    """A request."""

    path: str
    content: Mapping[str, object] | None = None
    """What to send as JSON in a POST request; None for a GET request."""


class HttpPool:
    """Connections to the server at an address; the arguments are those of `Connection`."""

    def __init__(self, address: str, *, seconds: float, key: str | None = None) -> None:
        self._open: Callable[[], Connection] = partial(Connection, address, seconds=seconds, key=key)
        self._first = self._open()
        self._idle: list[Connection] = []
        self.address = self._first.address

    def ask(self, call: Call) -> Any:  # noqa: ANN401 - JSON
        """Return the JSON that the server answers.

        Raises:
            AnswerError: If there is no response, or it contains no JSON.
            TokverifyError: If the request times out.
        """
        return self._first.ask(call.path, call.content)

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
            TokverifyError: If a request times out; those that were not sent yet are not sent.
        """
        if len(calls) <= 1:
            return [_answer_or_error(self._first, call) for call in calls]
        executor = ThreadPoolExecutor(min(CONNECTIONS, len(calls)))
        try:
            return list(executor.map(self._ask_in_thread, calls))
        finally:
            executor.shutdown(cancel_futures=True)

    def _ask_in_thread(self, call: Call) -> Any | AnswerError:  # noqa: ANN401 - JSON
        # subtle: `pop` and `append` are atomic, so no other thread gets the same connection.
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._open()
        try:
            return _answer_or_error(connection, call)
        finally:
            self._idle.append(connection)


def _answer_or_error(connection: Connection, call: Call) -> Any | AnswerError:  # noqa: ANN401 - JSON
    try:
        return connection.ask(call.path, call.content)
    except AnswerError as error:
        return error
