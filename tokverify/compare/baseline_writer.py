"""Write a baseline as YAML or JSON that reads back unchanged (docs/baseline.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tokverify.compare.baseline import Baseline
from tokverify.report.known_difference import KnownDifference

Fields = dict[str, Any]

# subtle: the reader parses JSON as YAML, which requires these to be escaped. Plain and single-quoted YAML would fold
# U+2028 and U+2029 like line feeds. `\ud83e\udd99` would be read as two surrogates.
_ESCAPED_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_WIDTH = 120


def render_baseline(baseline: Baseline, suffix: str) -> str:
    """Write a baseline in the format of a file with this suffix: JSON for `.json`, YAML for all others.

    Cases whose entries say the same are written as one entry.
    """
    groups: dict[object, tuple[Fields, dict[str, str]]] = {}
    key: object
    for index, entry in enumerate(baseline.entries):
        key = (entry.model, entry.about, entry.reason, entry.expires) if entry.case else index
        # A case with two entries fails in one of two ways.
        while entry.case in groups.get(key, ({}, {}))[1]:
            key = (key, "again")
        fields, cases = groups.setdefault(key, (_fields(entry), {}))
        if entry.case:
            fields["cases"] = cases
            cases[entry.case] = entry.difference
    return _WRITERS.get(suffix.lower(), _yaml)(
        [{**fields, "reason": fields.pop("reason")} for fields, _ in groups.values()]
    )


def _fields(entry: KnownDifference) -> Fields:
    fields = {
        "code": entry.code,
        "model": entry.model,
        "fingerprint": entry.fingerprint,
        "difference": "" if entry.case else entry.difference,
        "ids": entry.ids and [f"{first}-{last}" for first, last in entry.ids],
        "message": entry.message,
        "about": entry.about,
        "reason": entry.reason,
        "expires": entry.expires and entry.expires.isoformat(),
    }
    return {name: value for name, value in fields.items() if value}


def _json(entries: list[Fields]) -> str:
    text = json.dumps(entries, indent=2, ensure_ascii=False)
    return _ESCAPED_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _yaml(entries: list[Fields]) -> str:
    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Writes texts that need escapes in double quotes."""

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, '"' if _ESCAPED_IN_YAML.search(text) else None)

    Dumper.add_representer(str, represent)
    return str(yaml.dump(entries, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH))


_WRITERS: Mapping[str, Callable[[list[Fields]], str]] = {".json": _json}
