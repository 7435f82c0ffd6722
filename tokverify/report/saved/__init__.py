"""Saved reports: JSON reports (docs/report.md) read back into the data they were written of, one kind a module."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.report.saved.json_node import JsonNode
from tokverify.system.input_file import require_fetched
from tokverify.text.wording import quoted

SCHEMA_VERSIONS: Mapping[str, int] = {"run": 3, "fuzz": 5, "diff": 3, "audit": 1, "chat": 5, "stats": 5}
"""The kinds of reports, named as the commands that write them -> the `schema_version` that is written and read."""

_MAX_BYTES = 1 << 30


def open_saved(path: Path | str, kinds: Collection[str]) -> JsonNode:
    """Open a saved report, and check that it is of one of these kinds and of a version that can be read.

    Raises:
        TokverifyError: If it cannot be read, or is no report.
        UnsupportedError: If another version of tokverify or another command wrote it.
    """
    path = Path(path)
    root = JsonNode(str(path), _parse(path))
    check_kind(root, kinds)
    return root


def check_kind(node: JsonNode, kinds: Collection[str]) -> None:
    """Check that a report, or one that another holds, is of one of these kinds and of a version that can be read.

    Raises:
        TokverifyError: If it is no report.
        UnsupportedError: If another version of tokverify or another command wrote it.
    """
    kind = node.get("kind").string()
    place = ": ".join(filter(None, (node.file, node.path)))
    if kind not in SCHEMA_VERSIONS:
        raise UnsupportedError(f"{place}: is of the kind {quoted(kind)}, which this tokverify does not know; update it")
    if kind not in kinds:
        known = " or ".join(f"`tokverify {known}`" for known in kinds)
        raise UnsupportedError(f"{place}: is a report of `tokverify {kind}`; give one of {known}")
    version = node.get("schema_version").integer()
    if version != SCHEMA_VERSIONS[kind]:
        older = version < SCHEMA_VERSIONS[kind]
        age, remedy = ("an older", "write it again") if older else ("a newer", "update tokverify")
        raise UnsupportedError(
            f"{place}: has schema_version {version}, of {age} tokverify, and this one reads {SCHEMA_VERSIONS[kind]};"
            f" {remedy}"
        )


def _parse(path: Path) -> object:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise TokverifyError(f"{path}: larger than {_MAX_BYTES >> 30} GiB, too large for a report")
        data = path.read_bytes()
        require_fetched(path, data)
        return json.loads(data)
    except OSError as error:
        raise TokverifyError(f"{path}: cannot read the report: {error.strerror}; check the path") from error
    except RecursionError as error:
        raise TokverifyError(f"{path}: not a JSON report: nested too deep; write one with -f json") from error
    except ValueError as error:
        raise TokverifyError(f"{path}: not a JSON report: {error}; write one with -f json") from error
