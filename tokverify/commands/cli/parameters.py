"""Parameters of commands, declared once: each field of an options class is an option or an argument of its command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, field, fields
from functools import partial, wraps
from inspect import get_annotations
from typing import Any, TypeAlias, TypeVar

import click

Declared: TypeAlias = Any
"""A field whose value is a parameter; anything for type checkers, since the class says the type of the value."""

_Command = TypeVar("_Command", bound="Callable[..., object]")
_Options = TypeVar("_Options")
_Result = TypeVar("_Result")

_DECLARE = "declare"
_RECORDED = "recorded"


class _Argument(click.Argument):
    """An argument, which a command's own text explains; click 8.5.1 would list it as an option."""

    def get_help_record(self, ctx: click.Context) -> None:  # type: ignore[override] # as in earlier versions
        """Describe nothing."""


def option(*names: str, recorded: bool = True, **settings: Any) -> Declared:  # noqa: ANN401 - click's
    """Declare a field that an option of these names fills; `settings` are those of `click.option`.

    Reports record its value unless it is not `recorded`: it does not change the result, or the report has it elsewhere.
    """
    return _declare(partial(click.option, *names, **settings), recorded=recorded)


def argument(*, recorded: bool = True, **settings: Any) -> Declared:  # noqa: ANN401 - click's
    """Declare a field that an argument fills; `settings` are those of `click.argument`."""
    return _declare(partial(click.argument, cls=_Argument, **settings), recorded=recorded)


def either(*declared: Declared) -> Declared:
    """Declare a field that any of several options fills."""
    declare = (each for one in declared for each in one.metadata[_DECLARE])
    return _declare(*declare, recorded=all(map(is_recorded, declared)))


def _declare(*declare: Callable[[str], object], recorded: bool) -> Declared:
    return field(metadata={_DECLARE: declare, _RECORDED: recorded})


def is_recorded(declared: Field[Any]) -> bool:
    """Whether reports record the value of a field."""
    return bool(declared.metadata.get(_RECORDED, True))


def named(**declared: Declared) -> Callable[[_Command], _Command]:
    """Add parameters with these names to a function that becomes a command; help lists them in this order."""

    def decorate(perform: _Command) -> _Command:
        for name, each in reversed(declared.items()):
            for declare in reversed(each.metadata.get(_DECLARE, ())):
                perform = declare(name)(perform)
        return perform

    return decorate


def takes(kind: type[_Options]) -> Callable[[Callable[[_Options], _Result]], Callable[..., _Result]]:
    """Let a command take the parameters that the fields of a dataclass declare, as one object of that class.

    Help lists them in the order of the fields, inherited ones last, and before those of decorators below this one.
    """
    all_fields = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    ordered = dict.fromkeys(name for base in kind.__mro__ for name in get_annotations(base) if name in all_fields)
    add_parameters = named(**{name: all_fields[name] for name in ordered})

    def decorate(perform: Callable[[_Options], _Result]) -> Callable[..., _Result]:
        @wraps(perform)
        def call(**values: Any) -> _Result:  # noqa: ANN401 - the values of the fields
            return perform(kind(**values))

        return add_parameters(call)

    return decorate


def narrow(kind: type[_Options], values: Mapping[str, object]) -> _Options:
    """Return an object of an options class whose fields have the values of these names, of which there may be more."""
    return kind(**{each.name: values[each.name] for each in fields(kind)})  # type: ignore[arg-type]
