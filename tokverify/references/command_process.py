"""Exchange JSON Lines with a program, which may crash, hang, or answer anything; it is restarted when needed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tokverify.errors import EncodeError, TokverifyError
from tokverify.references.command_protocol import VERSION, Failure, Hello, Operation, ResponseError, Result, read_hello
from tokverify.system.child_process import ChildProcess
from tokverify.system.json_input import JsonError, parse_json
from tokverify.system.library_error import summary

START_SECONDS = 120.0
"""The limit for starting a program, which may load a model."""
SECONDS = 60.0
"""The limit for each later response."""
MAX_RESPONSE_BYTES = 1 << 26
"""The limit for a response."""
MAX_FAILURES = 20
"""How many requests in a row may fail before the run ends."""

_MAX_MEMORY = 1 << 29
_NO_OPTIONS: Mapping[str, object] = {}


class FailedError(Exception):
    """The program ended, took too long, or sent something that does not follow the protocol."""


class StartError(TokverifyError):
    """A program cannot be used; the arguments are its command and the reason."""

    def __str__(self) -> str:
        command, reason = self.args
        return f"{command}: {reason}"

    @property
    def reason(self) -> str:
        """Why it cannot be used."""
        return str(self.args[1])


class Program:
    """A program that is started at once, and again after a failure.

    Args:
        arguments: The program and its arguments.
        seconds: The limit for each response after the first.
        environment: Variables to set besides those of this process.

    Raises:
        StartError: If the program cannot be started, or does not answer `hello` as the protocol requires.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        seconds: float = SECONDS,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.command = shlex.join(arguments)
        self._arguments = arguments
        self._environment = environment
        self._seconds = seconds
        self._failures = 0
        self._number = 0
        self._process, self.hello = self._start()

    def close(self) -> None:
        """End the program; it is restarted when needed."""
        self._process.end()

    def ask_each(
        self, operation: Operation[Result | Failure], items: Sequence[object], options: Mapping[str, object]
    ) -> list[Result | Failure]:
        """Ask about many items in one request; if that fails, ask again about each alone.

        The result for an item that fails is its error.

        Raises:
            TokverifyError: If the program cannot be restarted, or too many requests in a row have failed.
        """
        try:
            return self.ask(operation, items, options)
        except EncodeError as error:
            if len(items) == 1:
                return [error]
        results: list[Result | Failure] = []
        for item in items:
            results += self.ask_each(operation, [item], options)
        return results

    def ask(
        self, operation: Operation[Result], items: Sequence[object], options: Mapping[str, object] = _NO_OPTIONS
    ) -> list[Result]:
        """Ask about many items in one request.

        Raises:
            EncodeError: If the program reports an error instead of results; or if it fails, which ends it.
            TokverifyError: As for `ask_each`.
        """
        if not self._process.alive:
            self._restart()
        content = {operation.items: items, **options}
        read = partial(operation.read_all, count=len(items))
        try:
            results = self._read(self._exchange(self._process, operation.name, content, self._seconds), read)
        except FailedError as error:
            self._process.abort()
            self._count_failure(str(error))
            raise EncodeError(f"{self.hello.name} {error}") from error
        except EncodeError as error:
            raise EncodeError(f"{self.hello.name} {error}") from error
        except BaseException:
            # Interrupted: the response would be mistaken for that of the next request.
            self._process.abort()
            raise
        self._failures = 0
        return results

    def _count_failure(self, message: str) -> None:
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            raise TokverifyError(f"{self.command}: {MAX_FAILURES} requests in a row failed; the last one {message}")

    def _restart(self) -> None:
        self.close()
        self._process, hello = self._start()
        if hello != self.hello:
            raise TokverifyError(f"{self.command}: describes itself differently after a restart; it must not change")

    def _start(self) -> tuple[ChildProcess, Hello]:
        try:
            process = ChildProcess(self._arguments, self._environment)
        except (OSError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or summary(error)
            raise StartError(self.command, f"cannot be started ({reason})") from error
        try:
            hello = self._read(self._exchange(process, "hello", {"protocol": VERSION}, START_SECONDS), read_hello)
        except (FailedError, EncodeError) as error:
            process.abort()
            raise StartError(self.command, f"the program {error}") from error
        except BaseException:
            process.abort()
            raise
        return process, hello

    def _exchange(
        self, process: ChildProcess, operation: str, content: Mapping[str, object], seconds: float
    ) -> Mapping[str, Any]:
        self._number += 1
        request = {"id": self._number, "op": operation, **content}
        with process.limit_time(seconds):
            process.write(json.dumps(request).encode() + b"\n")
            line = process.stdout.readline(MAX_RESPONSE_BYTES + 1)
        if process.timed_out:
            raise FailedError(f"did not respond within {seconds:g} s")
        if not line.endswith(b"\n"):
            self._report_missing_end(process, line)
        return self._parse(line)

    def _report_missing_end(self, process: ChildProcess, line: bytes) -> None:
        if len(line) > MAX_RESPONSE_BYTES:
            raise FailedError(f"sent a response of more than {MAX_RESPONSE_BYTES >> 20} MiB, the limit")
        raise FailedError(f"ended without a response: {summary(ValueError(process.last_words()))}")

    def _parse(self, line: bytes) -> Mapping[str, Any]:
        try:
            response = parse_json(line, max_memory=_MAX_MEMORY)
        except JsonError as error:
            raise FailedError(f"sent a line that is not JSON ({error})") from error
        if not isinstance(response, dict):
            raise FailedError("sent a line that is not a JSON object")
        if response.get("id") != self._number:
            raise FailedError("sent a response whose `id` is not that of the request")
        if isinstance(message := response.get("error"), str):
            raise EncodeError(f"reports an error: {summary(ValueError(message))}")
        return response

    @staticmethod
    def _read(response: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Result]) -> Result:
        try:
            return read(response)
        except ResponseError as error:
            raise FailedError(f"sent an invalid response: {error}") from error
