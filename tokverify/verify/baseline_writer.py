"""Write a baseline, as YAML or JSON, so that it reads back as it was (docs/baseline.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.report.run import KnownDifference
    from tokverify.verify.baseline import Baseline

# subtle: the reader takes JSON for YAML, which wants these escaped, and reads `\ud83e\udd99` as two halves of nothing.
_ESCAPED_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_WIDTH = 120


def render_baseline(baseline: Baseline, suffix: str) -> str:
    """Write a baseline as a file whose name ends in `suffix` is: `.json`, or else YAML."""
    entries = list(map(_fields, baseline.entries))
    return _WRITERS.get(suffix.lower(), _yaml)(entries)


def _fields(entry: KnownDifference) -> dict[str, str]:
    fields = {
        "case": entry.case,
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

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(entries, Dumper=dumper, sort_keys=False, allow_unicode=True, width=_WIDTH))


_WRITERS: Mapping[str, Callable[[list[dict[str, str]]], str]] = {".json": _json}
