"""A call in another thread returns its result, or raises its error, to whoever waits for it."""

from threading import Event, get_ident

import pytest

from tokverify.errors import BrokenFileError
from tokverify.system.beside import Beside


def test_a_call_runs_in_another_thread():
    assert Beside(get_ident).result() != get_ident()


def test_a_call_runs_while_its_caller_goes_on():
    event = Event()
    beside = Beside(lambda: event.wait(60))
    event.set()
    assert beside.result() is True


def test_a_result_can_be_asked_for_again():
    beside = Beside(lambda: None)
    assert (beside.result(), beside.result()) == (None, None)


def test_an_error_is_raised_where_the_result_is_asked_for():
    def fail() -> None:
        raise BrokenFileError("a.json: not a tokenizer.json")

    with pytest.raises(BrokenFileError, match="not a tokenizer"):
        Beside(fail).result()


def test_a_call_is_not_waited_for_any_longer_than_asked():
    event = Event()
    beside = Beside(event.wait)
    with pytest.raises(TimeoutError):
        beside.result(0.01)
    event.set()
    assert beside.result() is True
