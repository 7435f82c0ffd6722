"""Read the configuration of a repository from its file, strictly.

The format is described in docs/configuration.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tokverify.case import SHIPPED, SuiteSource, is_shipped
from tokverify.commands.project.configuration import ACCEPTED, Configuration, ConfiguredModel
from tokverify.commands.project.configuration_file import (
    OPTION,
    PROJECT,
    find_file,
    parse_document,
    project_table,
    repository_of,
)
from tokverify.engine.build import parse_build
from tokverify.errors import TokverifyError
from tokverify.location import FromFile, Origin
from tokverify.references import is_location
from tokverify.report.tokenizer_difference import parse_fail_on
from tokverify.sources.location import find_existing
from tokverify.sources.stores.location import is_remote, is_stored
from tokverify.system.input_file import relative_path
from tokverify.text.wording import suggest_name

_TABLE = "tool.tokverify"
# Names of models become part of file names.
_UNFIT = re.compile(r"[^\w.+-]+")


def find_configuration(directory: Path, *, allow_outside: bool = False) -> Configuration | None:
    """Read the configuration of a directory or its nearest parent, up to the root of the repository.

    Raises:
        TokverifyError: As for `read_configuration`.
    """
    file = find_file(directory)
    return None if file is None else read_configuration(file, allow_outside=allow_outside)


def read_configuration(path: Path, *, allow_outside: bool = False) -> Configuration:
    """Read a tokverify.toml, or the table `tool.tokverify` of a pyproject.toml.

    With `allow_outside`, it may name files outside of its repository.

    Raises:
        TokverifyError: If it is not valid; the message names the file and the key.
    """
    document = parse_document(path)
    root = None if allow_outside else repository_of(path)
    if path.name == PROJECT:
        return _Reader(path, f"{_TABLE}.", root).configuration(project_table(document) or {})
    return _Reader(path, "", root).configuration(document)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the tables of one file."""

    path: Path
    """The file, for error messages."""
    prefix: str
    """The beginning of all keys in error messages."""
    root: Path | None
    """The directory that all files must be in; None if they can be anywhere."""
    names: set[str] = field(default_factory=set)
    """The names of the models read so far."""

    def configuration(self, document: object) -> Configuration:
        values = self._table(document, "", _CONFIGURATION)
        if not values.get("models"):
            raise self._error("models", "is missing; add at least one `[[models]]` with a `model`")
        default = values.get("fail_on")
        models = [replace(model, fail_on=default) if model.fail_on is None else model for model in values["models"]]
        models = [replace(model, strict=model.strict or values.get("strict", False)) for model in models]
        return Configuration(
            source=self.path,
            models=tuple(models),
            reports=values.get("reports", ()),
            jobs=values.get("jobs", 1),
            llama_cpp=values.get("llama_cpp", ""),
        )

    def models(self, value: object, key: str) -> tuple[ConfiguredModel, ...]:
        if not isinstance(value, list):
            raise self._error(key, f"must be a list of tables, written `[[{self.prefix}{key}]]`")
        return tuple(self._model(item, f"{key}[{number}]") for number, item in enumerate(value))

    def _model(self, value: object, key: str) -> ConfiguredModel:
        values = self._table(value, key, _MODEL)
        if "model" not in values:
            raise self._error(f"{key}.model", "is missing; name a GGUF file")
        values.setdefault("name", _UNFIT.sub("-", Path(values["model"]).stem) or "model")
        if values["name"] in self.names:
            raise self._error(f"{key}.name", f"is {values['name']!r} again; give each model a different name")
        self.names.add(values["name"])
        if "baseline" not in values and (self.path.parent / ACCEPTED).is_file():
            values["baseline"] = self.file(ACCEPTED, f"{key}.baseline")
        return ConfiguredModel(**values)

    def _table(self, value: object, key: str, readers: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._error(key, "must be a table")
        for name in value:
            if name not in readers:
                raise self._error(f"{key}.{name}".lstrip("."), f"is unknown; {suggest_name(name, readers)}")
        return {name: readers[name](self, item, f"{key}.{name}".lstrip(".")) for name, item in value.items()}

    def string(self, value: object, key: str) -> str:
        if not isinstance(value, str) or not value:
            raise self._error(key, "must be a non-empty string")
        if "\0" in value:
            raise self._error(key, "contains U+0000, which no file name can contain")
        return value

    def strings(self, value: object, key: str) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self._error(key, "must be a list of strings")
        return tuple(self.string(item, f"{key}[{number}]") for number, item in enumerate(value))

    def name(self, value: object, key: str) -> str:
        name = self.string(value, key)
        if _UNFIT.search(name):
            raise self._error(
                key,
                f"is {name!r}; use only letters, digits, `.`, `_`, `+` and `-`, because it becomes part of file names",
            )
        return name

    def model(self, value: object, key: str) -> FromFile:
        text = self.string(value, key)
        if is_location(text) and not is_stored(text):
            return self.reference(value, key)
        if not is_stored(text):
            text = relative_path(self.path.parent / text)
        location = FromFile(text, self._origin(key))
        if not is_stored(text):
            location.require_reachable()
        elif not is_remote(text):
            location.require_anywhere()
        return location

    def file(self, value: object, key: str) -> Path:
        path = self.path.parent / self.string(value, key)
        return Path(FromFile(relative_path(path), self._origin(key)))

    def suites(self, value: object, key: str) -> tuple[SuiteSource, ...]:
        return tuple(self._suite(item, f"{key}[{number}]") for number, item in enumerate(self.strings(value, key)))

    def _suite(self, name: str, key: str) -> SuiteSource:
        try:
            return SHIPPED if is_shipped(name, self.path.parent) else self.file(name, key)
        except TokverifyError as error:
            raise self._error(key, f"is ambiguous: {error}") from None

    def reference(self, value: object, key: str) -> FromFile:
        text = self.string(value, key)
        path = self.path.parent / text
        location = FromFile(relative_path(path) if path.exists() else text, self._origin(key))
        # What is opened is checked again; here, a mistake is found before any work is done.
        for part in (location.text, location.text.partition(":")[2]):
            if is_stored(part) and not is_remote(part):
                location.at(part).require_anywhere()
            elif find_existing(part):
                location.at(part).require_reachable()
        return location

    def count(self, value: object, key: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self._error(key, "must be a positive integer")
        return value

    def build(self, value: object, key: str) -> str:
        try:
            return f"b{parse_build(self.string(value, key))}"
        except TokverifyError as error:
            raise self._error(key, f"is invalid: {error}") from None

    def flag(self, value: object, key: str) -> bool:
        if not isinstance(value, bool):
            raise self._error(key, "must be true or false")
        return value

    def fail_on(self, value: object, key: str) -> tuple[str, ...]:
        names = self.strings(value, key)
        try:
            return parse_fail_on(names)
        except TokverifyError as error:
            raise self._error(key, f"is wrong: {error}") from None

    def codes(self, value: object, key: str) -> tuple[str, ...]:
        from tokverify.compare.checks import RULES

        codes = tuple(code.upper() for code in self.strings(value, key))
        for code in codes:
            if not any(known.startswith(code) for known in RULES):
                raise self._error(key, f"contains {code!r}, with which no rule's code begins; see docs/rules.md")
        return codes

    def _origin(self, key: str) -> Origin:
        return Origin(self.path, self.prefix + key, self.root, OPTION)

    def _error(self, key: str, problem: str) -> TokverifyError:
        return TokverifyError(f"{self.path}: {(self.prefix + key).rstrip('.')} {problem}")


_MODEL: Mapping[str, Callable[..., Any]] = {
    "name": _Reader.name,
    "model": _Reader.model,
    "reference": _Reader.reference,
    "cases": _Reader.suites,
    "suites": _Reader.strings,
    "tags": _Reader.strings,
    "patterns": _Reader.strings,
    "baseline": _Reader.file,
    "fail_on": _Reader.fail_on,
    "strict": _Reader.flag,
    "select": _Reader.codes,
    "ignore": _Reader.codes,
    "waivers": _Reader.file,
    "conversations": _Reader.file,
}
_CONFIGURATION: Mapping[str, Callable[..., Any]] = {
    "models": _Reader.models,
    "reports": _Reader.strings,
    "fail_on": _Reader.fail_on,
    "strict": _Reader.flag,
    "jobs": _Reader.count,
    "llama_cpp": _Reader.build,
}
