"""Define the errors that tokverify raises; nothing here depends on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")
_Other = TypeVar("_Other")


class TokverifyError(Exception):
    """The command could not run as requested; the message says what happened, where, and what to do."""

    @property
    def complaints(self) -> tuple[str, ...]:
        """What is wrong, one sentence each; a value that a sentence quotes may contain line breaks."""
        return (str(self),)


class SeveralError(TokverifyError):
    """Several things are wrong; the arguments are the complaints."""

    def __str__(self) -> str:
        return "\n".join(self.complaints)

    @property
    def complaints(self) -> tuple[str, ...]:
        """What is wrong, one sentence each."""
        return self.args


class BrokenFileError(TokverifyError):
    """An input file is invalid: no reader could use it."""


class UnsupportedError(TokverifyError):
    """An input file is valid but uses a feature that tokverify lacks; the message names the key and its value."""


class MissingLibraryError(TokverifyError):
    """An optional library is not installed; the message names the command that installs it."""


class EncodeError(TokverifyError):
    """This tokenizer cannot encode one text; other texts are unaffected."""


class GoneError(TokverifyError):
    """A side has stopped answering, so that nothing more can be asked; the message names it and says why.

    It is about no text in particular, and never an EncodeError.
    """


class NotComparedError(Exception):
    """Something about two tokenizers cannot be compared; the message says what, and why."""


def answer_or(
    other: _Other, ask: Callable[_Arguments, _Answer], *args: _Arguments.args, **options: _Arguments.kwargs
) -> _Answer | _Other:
    """Return what a side answers, or something else if it fails at that, or does not know it.

    Raises:
        GoneError: If it has stopped answering.
    """
    try:
        return ask(*args, **options)
    except GoneError:
        raise
    except (NotComparedError, TokverifyError):
        return other


def or_raise(result: _Answer | EncodeError | UnsupportedError) -> _Answer:
    """Return one of the results of a call for many inputs; raise it if it is why there is none."""
    if isinstance(result, EncodeError | UnsupportedError):
        raise result
    return result


class EndedBySignalError(SystemExit):
    """The run is ended by SIGTERM or SIGHUP, and must not be mistaken for a library that calls `sys.exit`."""
