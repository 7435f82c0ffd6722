"""Exchange JSON Lines with a program, which may crash, hang, or answer anything; it is restarted when needed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence, Sized
from functools import partial
from typing import Any

from tokverify.errors import EncodeError, GoneError, TokverifyError
from tokverify.references.command_protocol import (
    SIZES,
    VERSION,
    Failure,
    Hello,
    Operation,
    ResponseError,
    Result,
    read_hello,
)
from tokverify.system.child_process import MAX_RESPONSE_BYTES, ChildProcess, FailedError, LateError
from tokverify.system.library_error import summary
from tokverify.text.sequence import split_batches

START_SECONDS = 120.0
"""The limit for starting a program, which may load a model."""
SECONDS = 60.0
"""The limit for each later response."""
MAX_FAILURES = 20
"""How many requests in a row may fail before the run ends."""
MAX_LOST_SECONDS = 300.0
"""How much time requests in a row may take to fail by taking too long before the run ends."""

TEXTS_PER_REQUEST = 256
"""How many texts, or lists of ids, a request contains at most."""
CHARACTERS_PER_REQUEST = 1 << 20
"""How many characters or ids they have together, unless a single one has more."""

_NO_OPTIONS: Mapping[str, object] = {}


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
        max_bytes: The limit for a response.
        may_crash: Whether it may crash on any text, so that only failures by taking too long are limited.
        sizes: How many tokens it may have.

    Raises:
        StartError: If the program cannot be started, or does not answer `hello` as the protocol requires.
    """

    def __init__(  # noqa: PLR0913 - the optional ones are keywords
        self,
        arguments: Sequence[str],
        *,
        seconds: float = SECONDS,
        environment: Mapping[str, str] | None = None,
        max_bytes: int = MAX_RESPONSE_BYTES,
        may_crash: bool = False,
        sizes: range = SIZES,
    ) -> None:
        self.command = shlex.join(arguments)
        self._arguments = arguments
        self._environment = environment
        self._max_bytes = max_bytes
        self._may_crash = may_crash
        self._sizes = sizes
        self._seconds = seconds
        self._failures = 0
        self._lost_seconds = 0.0
        self._process, self.hello = self._start()

    def close(self) -> None:
        """End the program; it is restarted when needed."""
        self._process.end()

    def ask_all(
        self,
        operation: Operation[Result | Failure],
        items: Sequence[Sized],
        problems: Sequence[Failure | None],
        options: Mapping[str, object] = _NO_OPTIONS,
    ) -> list[Result | Failure]:
        """Ask about the items that have no problem, many in one request; the result of the others is their problem.

        Raises:
            GoneError: As for `ask_each`.
        """
        asked = [item for item, problem in zip(items, problems, strict=True) if problem is None]
        results: list[Result | Failure] = []
        for batch in split_batches(asked, TEXTS_PER_REQUEST, CHARACTERS_PER_REQUEST):
            results += self.ask_each(operation, batch, options)
        rest = iter(results)
        return [next(rest) if problem is None else problem for problem in problems]

    def ask_each(
        self, operation: Operation[Result | Failure], items: Sequence[object], options: Mapping[str, object]
    ) -> list[Result | Failure]:
        """Ask about many items in one request; if that fails, ask again about each alone.

        The result for an item that fails is its error.

        Raises:
            GoneError: If the program cannot be restarted, or too many requests in a row have failed.
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
            GoneError: As for `ask_each`.
        """
        if not self._process.alive:
            self._restart()
        content = {operation.items: items, **options}
        read = partial(operation.read_all, count=len(items))
        try:
            results = self._read(self._exchange(self._process, operation.name, content, self._seconds), read)
        except FailedError as error:
            self._process.abort()
            self._count_failure(error)
            # At once, even if nothing follows: otherwise, a program that is gone looks like one that fails on a text.
            self._restart()
            raise EncodeError(f"{self.hello.name} {error}") from error
        except EncodeError as error:
            raise EncodeError(f"{self.hello.name} {error}") from error
        except BaseException:
            # Interrupted: the response would be mistaken for that of the next request.
            self._process.abort()
            raise
        self._failures, self._lost_seconds = 0, 0.0
        return results

    def _count_failure(self, error: FailedError) -> None:
        self._failures += 1
        self._lost_seconds += self._seconds if isinstance(error, LateError) else 0
        are_too_many = self._failures >= MAX_FAILURES and not self._may_crash
        if are_too_many or self._lost_seconds >= MAX_LOST_SECONDS:
            raise GoneError(f"{self.command}: {self._failures} requests in a row failed; the last one {error}")

    def _restart(self) -> None:
        self.close()
        try:
            self._process, hello = self._start()
        except StartError as error:
            raise GoneError(str(error)) from error
        if hello != self.hello:
            raise GoneError(f"{self.command}: describes itself differently after a restart; it must not change")

    def _start(self) -> tuple[ChildProcess, Hello]:
        try:
            process = ChildProcess(self._arguments, self._environment, self._max_bytes)
        except (OSError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or summary(error)
            raise StartError(self.command, f"cannot be started ({reason}); check its path") from error
        try:
            response = self._exchange(process, "hello", {"protocol": VERSION}, START_SECONDS)
            hello = self._read(response, partial(read_hello, sizes=self._sizes))
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
        response = process.ask(operation, content, seconds=seconds)
        if isinstance(message := response.get("error"), str):
            raise EncodeError(f"reports an error: {summary(ValueError(message))}")
        return response

    @staticmethod
    def _read(response: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Result]) -> Result:
        try:
            return read(response)
        except ResponseError as error:
            raise FailedError(f"sent an invalid response: {error}") from error
