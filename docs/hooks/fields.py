"""Generate the page `fields.md` from the JSON Schema of all reports while the site is built."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

PAGE = "fields.md"
SCHEMA = Path(__file__).parents[1] / "report.schema.json"

_INTRODUCTION = """\
# Fields of every report

This page is generated from [report.schema.json](report.schema.json). The same names are the attributes of what the
[Python API](api.md) returns. [The JSON report](report.md) describes what all reports have in common.

| kind | report |
|---|---|"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page to those that MkDocs found."""
    files.append(File.generated(config, PAGE, content=page(json.loads(SCHEMA.read_text("utf-8")))))
    return files


def page(schema: dict[str, Any]) -> str:
    """Return all reports and what they consist of, as Markdown."""
    kinds = {each["if"]["properties"]["kind"]["const"]: each["then"] for each in schema["allOf"]}
    rows = [f"| `{kind}` | {_describe_type(report)} |" for kind, report in kinds.items()]
    return "\n".join([_INTRODUCTION, *rows, *_describe_definitions(schema["$defs"])]) + "\n"


def _describe_definitions(definitions: dict[str, Any]) -> Iterator[str]:
    for name, definition in definitions.items():
        yield f"\n## {_name(name)}\n\n{_to_markdown(definition.get('description', ''))}\n"
        if "properties" in definition:
            yield "| field | value | meaning |\n|---|---|---|"
        for field, value in definition.get("properties", {}).items():
            meaning = " ".join(_to_markdown(value.get("description", "")).split())
            yield f"| `{field}` | {_describe_type(value)} | {meaning} |"
        if "enum" in definition:
            yield ", ".join(f"`{value}`" for value in definition["enum"])


def _describe_type(value: dict[str, Any]) -> str:
    match value:
        case {"$ref": reference}:
            name = reference.rpartition("/")[2]
            text = f"[{_name(name)}](#{_anchor(name)})"
        case {"anyOf": choices}:
            text = " or ".join(map(_describe_type, choices))
        case {"prefixItems": items}:
            text = f"[{', '.join(map(_describe_type, items))}]"
        case {"items": dict(items)}:
            text = f"list of {_describe_type(items)}"
        case {"additionalProperties": dict(values)}:
            text = f"mapping to {_describe_type(values)}"
        case {"enum": names}:
            text = ", ".join(f"`{name}`" for name in names)
        case _:
            text = value.get("type", "any")
    return text


def _name(definition: str) -> str:
    """Return the heading of a definition: its class, and where several have the same name, also its module."""
    module, _, name = definition.rpartition(".")
    return f"{name} ({module.rpartition('.')[2]})" if module else name


def _anchor(definition: str) -> str:
    """Return the anchor that MkDocs gives to the heading."""
    return re.sub(r"[^a-z0-9_]+", "-", _name(definition).lower()).strip("-")


def _to_markdown(text: str) -> str:
    """Escape what is not code, and write the values of Python as JSON does."""
    parts = text.replace("|", "\\|").split("`")
    return "`".join(part if index % 2 else _escape(part) for index, part in enumerate(parts))


def _escape(text: str) -> str:
    return re.sub(r"\bNone\b", "null", text.replace("<", "&lt;").replace("*", "\\*"))
