import pytest

from tokverify.errors import BrokenFileError, EncodeError
from tokverify.references.library_error import raised_as, summary


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


def test_an_interrupt_is_left_alone():
    with pytest.raises(KeyboardInterrupt), raised_as(BrokenFileError, "no luck"):
        raise KeyboardInterrupt


def test_a_summary_holds_nothing_that_a_terminal_would_obey():
    assert summary(ValueError("token `\x1b[31m` at fault")) == "token `\\x1b[31m` at fault"
