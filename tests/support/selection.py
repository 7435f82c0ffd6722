"""Choose which of many similar tests run by default; the others run with `-m slow`."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def slow_if(is_slow: Callable[..., bool], rows: Iterable[Any]) -> list[Any]:
    """Return rows for `parametrize`; those for whose values `is_slow` is true are marked as slow."""
    return [pytest.param(*row, marks=[pytest.mark.slow] * is_slow(*row)) for row in map(_values, rows)]


def thinned(step: int, rows: Iterable[Any]) -> list[Any]:
    """Return rows for `parametrize`; all but each `step`-th are marked as slow."""
    return [pytest.param(*_values(row), marks=[pytest.mark.slow] * (at % step > 0)) for at, row in enumerate(rows)]


def _values(row: Any) -> tuple[Any, ...]:
    return row if isinstance(row, tuple) else (row,)
