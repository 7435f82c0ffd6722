"""For tests that read reports back: files, the strict schema, all locations in a report, and damage to them."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

FREE = {("options",), ("actual", "settings"), ("expected", "settings")}

Place = tuple[object, ...]
Damage = Callable[[Any, Any], None]
ONE_LINE = r"^[^\n]*$"


def saved(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(content))
    return path


def strict(schema: object) -> object:
    """Allow no key that the schema does not name."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    # At the root only the kind is named, which says where all keys are.
    if schema.get("required") and "properties" in schema and "$schema" not in schema:
        made["additionalProperties"] = False
    return made


def places_in(value: object, at: Place = ()) -> Iterator[Place]:
    """Yield the place of every value, of a list's items only the first."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, item in items:
        yield (*at, key)
        if (*at, key) not in FREE:
            yield from places_in(item, (*at, key))


def damaged(content: Any, place: Place, damage: Damage) -> Any:
    """Return a copy in which `damage` was done to the owner of a place, and its key there."""
    copy = owner = deepcopy(content)
    for key in place[:-1]:
        owner = owner[key]
    damage(owner, place[-1])
    return copy


def remove(owner: Any, key: Any) -> None:
    del owner[key]


def set_to(value: object) -> Damage:
    def damage(owner: Any, key: Any) -> None:
        owner[key] = value

    return damage


def is_derived(place: tuple[object, ...]) -> bool:
    """Whether the reader works it out itself, or can do without: an item of a list, or of an object with any keys."""
    before, last = ("", *place)[-2:]
    return (
        isinstance(last, int)
        or place[0] == "summary"
        or place == ("vocabulary", "equal")
        or last in {"difference", "decoded", "before"}
        or (last == "text" and "decoded" in place)
        or (before, last) in {("first", "actual"), ("first", "expected")}
        or before in {"versions", "special_ids", "expectations"}
    )
