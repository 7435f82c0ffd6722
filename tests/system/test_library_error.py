import os
import subprocess
import sys
from typing import NoReturn

import pytest

from tokverify.errors import BrokenFileError, EncodeError
from tokverify.system.library_error import raised_as, summary


class PanicException(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad token.\nmore"), "no luck (bad token)"),
        (RuntimeError(), "no luck (RuntimeError)"),
        (PanicException("index out of range"), "no luck (the library panicked: index out of range)"),
    ],
)
def test_any_failure_of_a_library_becomes_one_line(error, message):
    with pytest.raises(EncodeError) as caught, raised_as(EncodeError, "no luck"):
        raise error
    assert str(caught.value) == message
    assert caught.value.__cause__ is error


def test_an_interrupt_is_not_converted():
    with pytest.raises(KeyboardInterrupt), raised_as(BrokenFileError, "no luck"):
        raise KeyboardInterrupt


def test_a_summary_contains_nothing_that_a_terminal_interprets():
    assert summary(ValueError("token `\x1b[31m` at fault")) == "token `\\x1b[31m` at fault"


def panic(words: bytes) -> NoReturn:
    os.write(2, words)
    raise PanicException("index out of range")


def fail(words: bytes) -> NoReturn:
    os.write(2, words)
    raise ValueError("bad token")


@pytest.mark.parametrize(("quietly", "shown"), [(True, ""), (False, "thread panicked\n")])
def test_the_direct_output_of_a_panic_is_dropped_on_request(capfd, quietly: bool, shown: str):
    with pytest.raises(EncodeError), raised_as(EncodeError, "no luck", quietly=quietly):
        panic(b"thread panicked\n")
    assert capfd.readouterr().err == shown


def test_other_output_is_shown(capfd):
    with raised_as(EncodeError, "no luck", quietly=True):
        sys.stderr.write("ours\n")
        os.write(2, b"a warning\n")
    with pytest.raises(EncodeError), raised_as(EncodeError, "no luck", quietly=True):
        fail(b"another\n")
    sys.stderr.write("after\n")
    assert capfd.readouterr().err == "ours\na warning\nanother\nafter\n"


def test_a_closed_stderr_does_no_harm():
    code = (
        "import os; os.close(2)\n"
        "from tokverify.errors import EncodeError; from tokverify.system.library_error import raised_as\n"
        "with raised_as(EncodeError, '', quietly=True): print('done')"
    )
    ended = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, text=True)
    assert ended.stdout == "done\n"


def test_calls_can_be_nested(capfd):
    with raised_as(EncodeError, "outer", quietly=True):
        os.write(2, b"before\n")
        with raised_as(EncodeError, "inner", quietly=True):
            os.write(2, b"inside\n")
        os.write(2, b"after\n")
    assert capfd.readouterr().err == "before\ninside\nafter\n"
