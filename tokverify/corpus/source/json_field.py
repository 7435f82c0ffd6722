"""Find the texts and the ids in a JSON object by the path of a field, and list the fields that there are."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tokverify.corpus.source.source import Column


class UnfitError(Exception):
    """An object lacks a field, or has another type of value there."""

    is_null = False
    """Whether it is null, or in something that is null."""


class NullError(UnfitError):
    """A field, or something around it, is null."""

    is_null = True


def texts_at(fields: dict[str, Any], path: str) -> list[str]:
    """Return the text at a path; if lists are on the way, each text in them, without null and missing fields.

    Raises:
        UnfitError: If there is no such field, or something else is there.
    """
    values = list(_values(fields, path, path))
    for value in values:
        if not isinstance(value, str):
            raise UnfitError(f"{path!r} is not text")
    return values


def _values(value: Any, rest: str, path: str, *, in_list: bool = False) -> Iterator[Any]:  # noqa: ANN401 - any JSON
    """Yield what is at the `rest` of a path."""
    if isinstance(value, list):
        for item in value:
            yield from _values(item, rest, path, in_list=True)
    elif value is None:
        if not in_list:
            raise NullError(f"{path!r} is null")
    elif not rest:
        yield value
    elif found := _enter(value, rest):
        yield from _values(*found, path, in_list=in_list)
    elif not in_list or not isinstance(value, dict):
        raise _missing(path)


def _enter(value: Any, rest: str) -> tuple[Any, str] | None:  # noqa: ANN401 - any JSON
    """Go into the field that begins a path, and return what is left of it; a name that contains dots is found, too."""
    if not isinstance(value, dict):
        return None
    if rest in value:
        return value[rest], ""
    first, _, others = rest.partition(".")
    return (value[first], others) if others and first in value else None


def _missing(path: str) -> UnfitError:
    return UnfitError(f"there is no field {path!r}")


def ids_at(fields: dict[str, Any], path: str) -> array[int]:
    """Return the ids at a path.

    Raises:
        UnfitError: If there is no such field, or something else is there.
    """
    value: Any = fields
    rest = path
    while rest:
        found = _enter(value, rest)
        if found is None:
            raise _missing(path)
        value, rest = found
        if value is None:
            raise NullError(f"{path!r} is null")
    if isinstance(value, list):
        with suppress(TypeError, OverflowError):
            return array("I", value)
    raise UnfitError(f"{path!r} is not a list of ids")


def list_fields(fields: dict[str, Any]) -> Iterator[Column]:
    """Yield the fields of an object, at any depth; the same one for each item of a list."""
    for name, value in fields.items():
        yield from _columns(value, name, in_lists=False)


def _columns(value: Any, path: str, *, in_lists: bool) -> Iterator[Column]:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _columns(inner, f"{path}.{name}", in_lists=in_lists)
    elif not isinstance(value, list):
        yield Column(path, type(value).__name__, isinstance(value, str), has_ids=False, in_lists=in_lists)
    elif any(isinstance(item, (dict, list)) for item in value):
        for item in value:
            yield from _columns(item, path, in_lists=True)
    else:
        has_text = any(isinstance(item, str) for item in value)
        has_ids = not in_lists and all(type(item) is int for item in value)
        yield Column(path, "list", has_text, has_ids, in_lists=True)
