"""Turn whatever a foreign library raises into one of our errors, as one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from tokverify.system.stderr import held

if TYPE_CHECKING:
    from tokverify.errors import TokverifyError


@contextmanager
def raised_as(error_class: type[TokverifyError], message: str, *, quietly: bool = False) -> Iterator[None]:
    """Re-raise any exception of the enclosed calls as `error_class`, `message` before the library's own words.

    For use around calls into libraries that raise bare `Exception`s and, from Rust, panics. Of these Rust itself tells
    on stderr, at length; with `quietly` that is not shown. What else is written there is, but only after the calls.
    """
    with held() if quietly else nullcontext() as told:
        try:
            yield
        except Exception as error:
            raise error_class(f"{message} ({summary(error)})") from error
        except BaseException as error:
            if not _is_panic(error):
                raise
            if told:
                told.drop()
            raise error_class(f"{message} (the library panicked: {summary(error)})") from error


def _is_panic(error: BaseException) -> bool:
    # subtle: a Rust panic derives from BaseException, and its class cannot be imported.
    return type(error).__name__ == "PanicException"


def summary(error: BaseException) -> str:
    """Return the first line of an exception's message, fit to be shown, or its type where it has none."""
    lines = str(error).strip().splitlines()
    line = lines[0].rstrip(".") if lines else type(error).__name__
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in line)
