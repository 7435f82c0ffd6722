"""Generate the JSON Schema of all kinds of reports: `python -m tokverify.report.schema > docs/report.schema.json`."""

from __future__ import annotations

import json
from inspect import cleandoc
from typing import Any

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
    for definition in definitions.values():
        # A file always has every key, also those that a caller may leave out.
        if "description" in definition:
            definition["description"] = cleandoc(definition["description"])
        if "properties" in definition:
            definition["required"] = list(definition["properties"])
        for name in definition.get("properties", ()):
            # msgspec 0.23 writes the default of a `dict` that is made anew for each report; earlier versions do not.
            if definition["properties"][name].get("default") == {}:
                del definition["properties"][name]["default"]
    branches = [_branch(name, reference["$ref"]) for name, reference in zip(KINDS, references, strict=True)]
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


def _branch(name: str, reference: str) -> dict[str, Any]:
    return {"if": {"properties": {"kind": {"const": name}}}, "then": {"$ref": reference}}


def _describe_custom(wanted: type) -> dict[str, Any]:
    if wanted is HexBytes:
        return {"type": "string", "pattern": "^([0-9a-f]{2})*$"}
    return {"description": "Any JSON value."}


if __name__ == "__main__":
    print(write_schema(), end="")  # noqa: T201 - this is a script
