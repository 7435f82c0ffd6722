"""Write an inspection, or a list of tokens, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from tokverify.render.json import write

if TYPE_CHECKING:
    from tokverify.explain.inspection import Inspection
    from tokverify.explain.token_search import FoundToken

SCHEMA_VERSION = 1


def render(inspection: Inspection, source: str) -> str:
    """Write all of an inspection."""
    told = asdict(inspection)
    told["eog"] = [{"id": id, "piece": piece} for id, piece in inspection.eog]
    told["scores"] = list(inspection.scores) if inspection.scores else None
    for name in ("types", "special", "flags", "overrides"):
        told[name] = list(told[name])
    for summary in told["types"]:
        summary["runs"] = list(summary["runs"])
    return write({"schema_version": SCHEMA_VERSION, "source": source, **told})


def tokens_json(tokens: Sequence[FoundToken]) -> str:
    """Write tokens one a line."""
    listed = [
        {**asdict(token), "token_bytes": None if token.token_bytes is None else token.token_bytes.hex()}
        for token in tokens
    ]
    return write({"schema_version": SCHEMA_VERSION, "tokens": listed})
