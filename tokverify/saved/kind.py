"""The kinds of JSON reports that can be read back, named as the commands that write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSIONS: Mapping[str, int] = {"run": 2, "fuzz": 3, "diff": 2, "audit": 1, "chat": 2, "stats": 2}
"""Kind -> the `schema_version` that is written and read."""
