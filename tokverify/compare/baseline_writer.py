"""Write a baseline as YAML or JSON that reads back unchanged (docs/baseline.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tokverify.report.run import KnownDifference

if TYPE_CHECKING:
    from tokverify.compare.baseline import Baseline

# subtle: the reader parses JSON as YAML, which requires these to be escaped. Plain and single-quoted YAML would fold
# U+2028 and U+2029 like line feeds. `\ud83e\udd99` would be read as two surrogates.
_ESCAPED_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_WIDTH = 120


def render_baseline(baseline: Baseline, suffix: str) -> str:
    """Write a baseline in the format of a file with this suffix: JSON for `.json`, YAML for all others."""
    entries = list(map(_fields, baseline.entries))
    return _WRITERS.get(suffix.lower(), _yaml)(entries)


def _fields(entry: KnownDifference) -> dict[str, str]:
    fields = {
        "case": entry.case,
        "aspect": entry.aspect,
        "model": entry.model,
        "difference": entry.difference,
        "about": entry.about,
        "reason": entry.reason,
        "expires": entry.expires and entry.expires.isoformat(),
    }
    return {name: value for name, value in fields.items() if value}


def _json(entries: list[dict[str, str]]) -> str:
    text = json.dumps(entries, indent=2, ensure_ascii=False)
    return _ESCAPED_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _yaml(entries: list[dict[str, str]]) -> str:
    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Writes texts that need escapes in double quotes."""

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, '"' if _ESCAPED_IN_YAML.search(text) else None)

    Dumper.add_representer(str, represent)
    return str(yaml.dump(entries, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH))


_WRITERS: Mapping[str, Callable[[list[dict[str, str]]], str]] = {".json": _json}
