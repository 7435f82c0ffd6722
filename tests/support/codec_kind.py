"""Check that a kind of report is read back unchanged, and that damage is rejected."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.saved_file import ONE_LINE, damaged, saved, strict
from tokverify.errors import TokverifyError
from tokverify.render.kinds import present
from tokverify.render.options import RenderOptions
from tokverify.report.codec import decode, read_any
from tokverify.report.schema import generate_schema


@dataclass(frozen=True, kw_only=True)
class CodecKind:
    """A kind of report: how it is written, and read back."""

    name: str
    formats: Mapping[str, Callable[..., str]]
    exit_code: Callable[[Any], int]
    schema: Mapping[str, Any] = field(default_factory=cache(generate_schema))

    def written(self, report: Any) -> Any:
        """Return the output of the `json` format, as data."""
        return json.loads(self.formats["json"](report, RenderOptions()))

    def restored(self, tmp_path: Path, content: object) -> Any:
        return read_any(saved(tmp_path, content), [self.name]).report

    def assert_comes_back(self, tmp_path: Path, report: Any) -> None:
        again = self.restored(tmp_path, self.written(report))
        assert again == report
        # What is equal may be of another type, as a name and a member of an enumeration.
        assert repr(again) == repr(report)
        assert self.exit_code(again) == self.exit_code(report)
        self.assert_renders_the_same(again, report)

    def assert_renders_the_same(self, again: Any, report: Any) -> None:
        """Check that every format writes what was read back as the report."""
        for name, render in present(self.name, again).formats.items():
            assert render(RenderOptions()) == self.formats[name](report, RenderOptions()), name

    def assert_wrong(self, tmp_path: Path, report: Any, change: Callable[[Any], object], message: str = "") -> None:
        """Check that an error caused by a change is reported in one line, with its location."""
        content = self.written(report)
        change(content)
        with pytest.raises(TokverifyError, match=ONE_LINE) as raised:
            self.restored(tmp_path, content)
        assert message in str(raised.value)
        assert str(raised.value).isprintable()

    def assert_in_schema(self, report: Any) -> None:
        jsonschema.Draft202012Validator(strict_root(self.schema)).validate(self.written(report))

    def assert_wrong_by_schema(self, tmp_path: Path, report: Any, change: Callable[[Any], object]) -> None:
        content = self.written(report)
        change(content)
        with pytest.raises(jsonschema.ValidationError):
            # One test checks the schema itself, which takes longer than all the rest.
            jsonschema.Draft202012Validator(self.schema).validate(content)
        self.assert_wrong(tmp_path, report, change)

    def assert_damage_rejected(
        self, tmp_path: Path, content: Any, place: Any, damage: Any, *, may_pass: bool = False
    ) -> None:
        """Check damage without writing a file, which would dominate the time."""
        hurt = damaged(content, place, damage)
        if may_pass:
            with suppress(TokverifyError):
                decode(hurt, [self.name])
            return
        with pytest.raises(TokverifyError, match=ONE_LINE):
            decode(hurt, [self.name])


def strict_root(schema: Mapping[str, Any]) -> object:
    """Reject keys that the schema does not name, except the three keys of the envelope at the root."""
    envelope = schema["properties"]
    made = dict(schema)
    made["$defs"] = {name: strict(definition) for name, definition in schema["$defs"].items()}
    for branch in schema["allOf"]:
        root = made["$defs"][branch["then"]["$ref"].rpartition("/")[2]]
        root["properties"] = root["properties"] | envelope
    return made
