"""Find the texts and the ids in a JSON object by the path of a field, and list the fields that there are."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

from tokverify.corpus.source.source import Column


class UnfitError(Exception):
    """An object lacks a field, or has another type of value there."""


def texts_at(fields: dict[str, Any], path: str) -> list[str]:
    """Return the text at a path; if lists are on the way, each text in them, without null and missing fields.

    Raises:
        UnfitError: If there is no such field, or something else is there.
    """
    values = list(_values(fields, path, path))
    for value in values:
        if not isinstance(value, str):
            raise UnfitError(f"{path!r} is null" if value is None else f"{path!r} is not text")
    return values


def _values(value: Any, rest: str, path: str, *, in_list: bool = False) -> Iterator[Any]:  # noqa: ANN401 - any JSON
    """Yield what is at the `rest` of a path; a name that contains dots itself is found too."""
    if isinstance(value, list):
        for item in value:
            yield from _values(item, rest, path, in_list=True)
    elif value is None and in_list:
        return
    elif not rest:
        yield value
    elif not isinstance(value, dict):
        raise _missing(path)
    elif rest in value:
        yield from _values(value[rest], "", path, in_list=in_list)
    else:
        first, _, others = rest.partition(".")
        if others and first in value:
            yield from _values(value[first], others, path, in_list=in_list)
        elif not in_list:
            raise _missing(path)


def _missing(path: str) -> UnfitError:
    return UnfitError(f"there is no field {path!r}")


def ids_at(fields: dict[str, Any], path: str) -> array[int]:
    """Return the ids at a path.

    Raises:
        UnfitError: If there is no such field, or something else is there.
    """
    value = _value(fields, path, path)
    try:
        return array("I", value if isinstance(value, list) else [None])
    except (TypeError, OverflowError):
        raise UnfitError(f"{path!r} is not a list of ids") from None


def _value(fields: Any, rest: str, path: str) -> Any:  # noqa: ANN401 - any JSON
    if not isinstance(fields, dict):
        raise _missing(path)
    if rest in fields:
        return fields[rest]
    first, _, others = rest.partition(".")
    if not others or first not in fields:
        raise _missing(path)
    return _value(fields[first], others, path)


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
