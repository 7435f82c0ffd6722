"""What the tests of reading reports back share: files, the strict schema, every place of a report, and damage to it."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.paths import ROOT
from tokverify.errors import TokverifyError
from tokverify.render import RenderOptions
from tokverify.render.presentation import Presentation
from tokverify.report.saved import open_saved
from tokverify.report.saved.json_node import JsonNode

SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text())
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


@dataclass(frozen=True, kw_only=True)
class SavedKind:
    """A kind of report: how it is written, and read back."""

    name: str
    formats: Mapping[str, Callable[..., str]]
    present: Callable[[Any], Presentation]
    restore: Callable[[JsonNode], Any]

    def written(self, report: Any) -> Any:
        """Return what the `json` format writes, as data."""
        return json.loads(self.formats["json"](report, RenderOptions()))

    def restored(self, tmp_path: Path, content: object) -> Any:
        return self.restore(open_saved(saved(tmp_path, content), [self.name]))

    def assert_comes_back(self, tmp_path: Path, report: Any) -> None:
        """Check that nothing of a report is lost, and that every format writes what was read back as the report."""
        again = self.restored(tmp_path, self.written(report))
        assert again == report
        assert again.exit_code == report.exit_code
        self.assert_renders_the_same(again, report)

    def assert_renders_the_same(self, again: Any, report: Any) -> None:
        """Check that every format writes what was read back as the report."""
        for options in (RenderOptions(), RenderOptions(verbose=True), RenderOptions(quiet=True)):
            for name, render in self.present(again).formats.items():
                assert render(options) == self.formats[name](report, options), name

    def assert_in_schema(self, report: Any) -> None:
        """Check that the schema names every key."""
        jsonschema.Draft202012Validator(strict(SCHEMA)).validate(self.written(report))

    def assert_wrong(self, tmp_path: Path, report: Any, change: Callable[[Any], object], told: str = "") -> None:
        """Check that what is wrong after a change is told in one line, with its place."""
        content = self.written(report)
        change(content)
        with pytest.raises(TokverifyError, match=ONE_LINE) as raised:
            self.restored(tmp_path, content)
        assert told in str(raised.value)
        assert str(raised.value).isprintable()

    def assert_wrong_by_schema(self, tmp_path: Path, report: Any, change: Callable[[Any], object]) -> None:
        """Check that the schema and the reader agree on what is wrong after a change."""
        content = self.written(report)
        change(content)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(content, SCHEMA)
        self.assert_wrong(tmp_path, report, change)

    def assert_damage_told(
        self, tmp_path: Path, content: Any, place: Place, damage: Damage, *, may_pass: bool = False
    ) -> None:
        """Check that damage is told in one line; where it `may_pass`, only that nothing worse comes of it."""
        with suppress(TokverifyError) if may_pass else pytest.raises(TokverifyError, match=ONE_LINE):
            self.restored(tmp_path, damaged(content, place, damage))


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
