"""Convert any exception raised by a library to one of our errors, on one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from tokverify.system.stderr import capture_stderr

if TYPE_CHECKING:
    from tokverify.errors import TokverifyError


_MAX_LENGTH = 300
# How Rust's serde quotes the values of a document, which may be any file.
_VALUE = re.compile(
    r'\b(string|character|integer|floating point|boolean|variant|field) (?:"(?:[^"\\]|\\.)*"|`[^`]*`)(?=,| at )'
)


@contextmanager
def raised_as(error_class: type[TokverifyError], message: str, *, quietly: bool = False) -> Iterator[None]:
    """Re-raise any exception in the block as `error_class`, with `message` before the library's own message.

    This is for libraries that raise bare `Exception`s and, if written in Rust, panic. Rust reports a panic on stderr at
    length; `quietly` suppresses that. Other output to stderr is still shown, but only after the block.
    """
    with capture_stderr() if quietly else nullcontext() as captured:
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:
            raise error_class(f"{message} ({summary(error)})") from error
        except BaseException as error:
            if not _is_panic(error):
                raise
            if captured:
                captured.drop()
            raise error_class(f"{message} (the library panicked: {summary(error)})") from error


def _is_panic(error: BaseException) -> bool:
    # subtle: a Rust panic derives from BaseException, and its class cannot be imported.
    return type(error).__name__ == "PanicException"


def summary(error: BaseException) -> str:
    """Return the first line of an exception's message, escaped, or the exception's type if there is no message."""
    lines = _VALUE.sub(r"\1", str(error)).strip().splitlines()
    line = lines[0].rstrip(".")[:_MAX_LENGTH] if lines else type(error).__name__
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in line)
