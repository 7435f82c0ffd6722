"""Write a baseline as YAML or JSON that reads back unchanged (docs/baseline.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tokverify.report.run import KnownDifference

if TYPE_CHECKING:
    from tokverify.compare.baseline import Baseline
    from tokverify.report.audit import Waiver

# subtle: the reader parses JSON as YAML, which requires these to be escaped. Plain and single-quoted YAML would fold
# U+2028 and U+2029 like line feeds. `\ud83e\udd99` would be read as two surrogates.
_ESCAPED_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_WIDTH = 120
_KINDS = ("aspects", "cases")
Fields = dict[str, Any]
"""The fields of an entry."""


class Folded(dict[str, str]):
    """A mapping that YAML shows as few long lines."""


def render_baseline(baseline: Baseline, suffix: str) -> str:
    """Write a baseline in the format of a file with this suffix: JSON for `.json`, YAML for all others."""
    entries = [*_group(baseline.entries), *map(_waiver, baseline.waivers)]
    return _WRITERS.get(suffix.lower(), _yaml)(entries)


def _group(known: Iterable[KnownDifference]) -> list[Fields]:
    """Combine what has the same cause, reason and end into one entry; a case that fails in two ways needs two."""
    entries: dict[tuple[object, ...], Fields] = {}
    for each in known:
        kind, subject = ("cases", each.case) if each.case else ("aspects", each.aspect)
        number = 0
        while subject in entries.get(key := (each.model, each.about, each.reason, each.expires, number), {}).get(
            kind, {}
        ):
            number += 1
        entry = entries.setdefault(key, _shared(each))
        entry.setdefault(kind, Folded())[subject] = each.difference
    return [{**entry, **{kind: entry.pop(kind) for kind in _KINDS if kind in entry}} for entry in entries.values()]


def _shared(entry: KnownDifference) -> Fields:
    expires = entry.expires and entry.expires.isoformat()
    fields = {"about": entry.about, "model": entry.model, "reason": entry.reason, "expires": expires}
    return {name: value for name, value in fields.items() if value}


def _waiver(waiver: Waiver) -> Fields:
    ids = [first if first == last else f"{first}-{last}" for first, last in waiver.ids or ()]
    fields = {
        "code": waiver.code,
        "model": waiver.model,
        "fingerprint": waiver.fingerprint,
        "ids": ids,
        "message": waiver.message,
        "reason": waiver.reason,
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

    def represent_folded(dumper: yaml.SafeDumper, folded: Folded) -> yaml.MappingNode:
        return dumper.represent_mapping("tag:yaml.org,2002:map", folded, flow_style=True)

    Dumper.add_representer(str, represent)
    Dumper.add_representer(Folded, represent_folded)
    return str(yaml.dump(entries, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH))


_WRITERS: Mapping[str, Callable[[list[Fields]], str]] = {".json": _json}
