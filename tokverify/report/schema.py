"""Generate the JSON Schema of all kinds of reports: `python -m tokverify.report.schema > docs/report.schema.json`."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from inspect import cleandoc
from itertools import pairwise
from types import ModuleType
from typing import Any, get_args, get_type_hints

import msgspec

from tokverify.report.codec import KINDS, SCHEMA_VERSION
from tokverify.tokenizer import HexBytes

_REFERENCE = "#/$defs/{name}"


def write_schema() -> str:
    """Write the schema as the file that is published."""
    return json.dumps(generate_schema(), indent=2) + "\n"


def generate_schema() -> dict[str, Any]:
    """Return the schema of a report of any kind; `kind` selects the definition that applies."""
    types = [kind.type for kind in KINDS.values()]
    references, definitions = msgspec.json.schema_components(
        types, schema_hook=_describe_custom, ref_template=_REFERENCE
    )
    found: set[type] = set()
    for kind in types:
        _find_dataclasses(kind, found)
    # msgspec puts the module before the names that several classes have.
    classes = {name: each for each in found for name in (each.__name__, f"{each.__module__}.{each.__name__}")}
    for title, definition in definitions.items():
        # A file always has every key, also those that a caller may leave out.
        if "description" in definition:
            definition["description"] = cleandoc(definition["description"])
        if "properties" in definition:
            definition["required"] = list(definition["properties"])
        for name in definition.get("properties", ()):
            # msgspec 0.23 writes the default of a `dict` that is made anew for each report; earlier versions do not.
            if definition["properties"][name].get("default") == {}:
                del definition["properties"][name]["default"]
            if text := _descriptions(classes[title]).get(name):
                definition["properties"][name]["description"] = text
    branches = [
        {"if": {"properties": {"kind": {"const": name}}}, "then": {"$ref": reference["$ref"]}}
        for name, reference in zip(KINDS, references, strict=True)
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A JSON report of tokverify",
        "type": "object",
        "properties": {
            "schema_version": {"const": SCHEMA_VERSION},
            "kind": {"enum": list(KINDS)},
            "summary": {"type": "object", "properties": {"exit_code": {"type": "integer"}}, "required": ["exit_code"]},
        },
        "required": ["schema_version", "kind", "summary"],
        "allOf": branches,
        "$defs": definitions,
    }


def _find_dataclasses(kind: object, found: set[type]) -> None:
    """Add the dataclasses that a type consists of to those found."""
    if kind in found:
        return
    parts = get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        found.add(kind)
        parts = tuple(get_type_hints(kind).values())
    for each in parts:
        _find_dataclasses(each, found)


def _descriptions(definition: type) -> dict[str, str]:
    """Return the strings below the fields of a dataclass, by field."""
    return _classes_of(sys.modules[definition.__module__])[definition.__name__]


@cache
def _classes_of(module: ModuleType) -> dict[str, dict[str, str]]:
    tree = ast.parse(inspect.getsource(module))
    return {node.name: dict(_strings_below_fields(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _strings_below_fields(definition: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for node, below in pairwise(definition.body):
        match node, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, cleandoc(text)


def _describe_custom(wanted: type) -> dict[str, Any]:
    if wanted is HexBytes:
        return {"type": "string", "pattern": "^([0-9a-f]{2})*$"}
    return {"description": "Any JSON value."}


if __name__ == "__main__":
    print(write_schema(), end="")  # noqa: T201 - this is a script
