"""Configuration: which tokenizers a repository verifies, read from tokverify.toml or pyproject.toml, strictly.

The format is described in docs/configuration.md.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokverify.cases.case import SHIPPED, is_shipped
from tokverify.errors import TokverifyError
from tokverify.system.input_file import read_text
from tokverify.text.wording import suggest_name

if TYPE_CHECKING:
    from tokverify.cases.case import SuiteSource

FILE = "tokverify.toml"
PROJECT = "pyproject.toml"
_TABLE = "tool.tokverify"
_MAX_BYTES = 1 << 20
# Files are named after models.
_UNFIT = re.compile(r"[^\w.+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredModel:
    """One tokenizer to verify, as `tokverify run` takes it; paths are relative to the working directory."""

    name: str
    model: Path
    reference: str | None = None
    cases: tuple[SuiteSource, ...] = ()
    suites: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    baseline: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What a repository wants: its models, and the reports as `FORMAT=FILE`; `{name}` stands for a model's name."""

    source: Path
    models: tuple[ConfiguredModel, ...]
    reports: tuple[str, ...] = ()
    jobs: int = 1


def find_configuration(directory: Path) -> Configuration | None:
    """Read the configuration of a directory, or of the nearest one above it, up to the root of the repository.

    Raises:
        TokverifyError: If it is there and something is wrong with it.
    """
    file = find_file(directory)
    return None if file is None else read_configuration(file)


def find_file(directory: Path) -> Path | None:
    """Find the configuration of a directory, or the nearest one above it, up to the root of the repository.

    Raises:
        TokverifyError: If a pyproject.toml on the way cannot be read.
    """
    directory = directory.resolve()
    for place in (directory, *directory.parents):
        if file := file_in(place):
            return file
        if (place / ".git").exists():
            return None
    return None


def file_in(directory: Path) -> Path | None:
    """Return the file in a directory that configures tokverify: its tokverify.toml, or a pyproject.toml with the table.

    Raises:
        TokverifyError: If there is a pyproject.toml that cannot be read.
    """
    if (directory / FILE).is_file():
        return directory / FILE
    project = directory / PROJECT
    return project if project.is_file() and _of_project(_parse(project)) is not None else None


def read_configuration(path: Path) -> Configuration:
    """Read a tokverify.toml, or the table `tool.tokverify` of a pyproject.toml.

    Raises:
        TokverifyError: If something is wrong with it, which names the file and the key.
    """
    document = _parse(path)
    if path.name == PROJECT:
        return _Reader(path, f"{_TABLE}.").configuration(_of_project(document) or {})
    return _Reader(path, "").configuration(document)


def _of_project(document: dict[str, Any]) -> object:
    """Return the table of a pyproject.toml; None if there is none."""
    tools = document.get("tool")
    return tools.get("tokverify") if isinstance(tools, dict) else None


def _parse(path: Path) -> dict[str, Any]:
    text = read_text(path, "configuration", _MAX_BYTES)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise TokverifyError(f"{path}: not valid TOML: {error}") from error


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the tables of one file; `prefix` goes before the keys that complaints name."""

    path: Path
    prefix: str
    names: set[str] = field(default_factory=set)

    def configuration(self, document: object) -> Configuration:
        values = self._table(document, "", _CONFIGURATION)
        if not values.get("models"):
            raise self._wrong("models", "is missing; add at least one `[[models]]` with a `model`")
        jobs = values.get("jobs", 1)
        return Configuration(source=self.path, models=values["models"], reports=values.get("reports", ()), jobs=jobs)

    def models(self, value: object, key: str) -> tuple[ConfiguredModel, ...]:
        if not isinstance(value, list):
            raise self._wrong(key, f"must be a list of tables, written `[[{self.prefix}{key}]]`")
        return tuple(self._model(item, f"{key}[{number}]") for number, item in enumerate(value))

    def _model(self, value: object, key: str) -> ConfiguredModel:
        values = self._table(value, key, _MODEL)
        if "model" not in values:
            raise self._wrong(f"{key}.model", "is missing; name a GGUF file")
        values.setdefault("name", _UNFIT.sub("-", values["model"].stem) or "model")
        if values["name"] in self.names:
            raise self._wrong(f"{key}.name", f"is {values['name']!r} again; give each model a name of its own")
        self.names.add(values["name"])
        return ConfiguredModel(**values)

    def _table(self, value: object, key: str, readers: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(key, "must be a table")
        for name in value:
            if name not in readers:
                raise self._wrong(f"{key}.{name}".lstrip("."), f"is unknown; {suggest_name(name, readers)}")
        return {name: readers[name](self, item, f"{key}.{name}".lstrip(".")) for name, item in value.items()}

    def string(self, value: object, key: str) -> str:
        if not isinstance(value, str) or not value:
            raise self._wrong(key, "must be a string, and not empty")
        if "\0" in value:
            raise self._wrong(key, "holds U+0000, which no name of a file does")
        return value

    def strings(self, value: object, key: str) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self._wrong(key, "must be a list of strings")
        return tuple(self.string(item, f"{key}[{number}]") for number, item in enumerate(value))

    def name(self, value: object, key: str) -> str:
        name = self.string(value, key)
        if _UNFIT.search(name):
            raise self._wrong(key, f"is {name!r}; use letters, digits and `.`, `_`, `+`, `-`, since files are named so")
        return name

    def file(self, value: object, key: str) -> Path:
        return Path(os.path.relpath(self.path.parent / self.string(value, key)))

    def suites(self, value: object, key: str) -> tuple[SuiteSource, ...]:
        return tuple(self._suite(item, f"{key}[{number}]") for number, item in enumerate(self.strings(value, key)))

    def _suite(self, name: str, key: str) -> SuiteSource:
        try:
            return SHIPPED if is_shipped(name, self.path.parent) else self.file(name, key)
        except TokverifyError as error:
            raise self._wrong(key, f"is ambiguous: {error}") from None

    def reference(self, value: object, key: str) -> str:
        location = self.string(value, key)
        path = self.path.parent / location
        return os.path.relpath(path) if path.exists() else location

    def count(self, value: object, key: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self._wrong(key, "must be a whole number from 1 on")
        return value

    def _wrong(self, key: str, problem: str) -> TokverifyError:
        return TokverifyError(f"{self.path}: {(self.prefix + key).rstrip('.')} {problem}")


_MODEL: Mapping[str, Callable[..., Any]] = {
    "name": _Reader.name,
    "model": _Reader.file,
    "reference": _Reader.reference,
    "cases": _Reader.suites,
    "suites": _Reader.strings,
    "tags": _Reader.strings,
    "patterns": _Reader.strings,
    "baseline": _Reader.file,
}
_CONFIGURATION: Mapping[str, Callable[..., Any]] = {
    "models": _Reader.models,
    "reports": _Reader.strings,
    "jobs": _Reader.count,
}
