"""Builds of llama.cpp: which of them knows a name, a key or a text, from the table `builds.json`.

`releases.json` says which build the releases of other programs contain, and where that is documented.

`benchmarks/builds.py` makes the table from real builds. It says since which of them something is known, so between that
one and the build before it, nobody knows.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tokverify.errors import TokverifyError

VARIABLE = "TOKVERIFY_LLAMA_CPP"
"""The environment variable that selects the build; the option `--llama-cpp` sets it, also for child processes."""
TABLE = Path(__file__).with_name("builds.json")
RELEASES = Path(__file__).with_name("releases.json")


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def builds() -> list[int]:
    """Return the builds that the table was made from, in ascending order."""
    return list(_table()["builds"])


def newest_build() -> int:
    """Return the newest build, which the encoder equals by default."""
    return builds()[-1]


def selected_build() -> int | None:
    """Return the build that the user selects; None if the encoder is to equal the newest one.

    Raises:
        TokverifyError: If the variable has another form than `b9190`.
    """
    written = os.environ.get(VARIABLE, "")
    return parse_build(written) if written else None


def parse_build(written: str) -> int:
    """Return the number of a build such as `b9190`, or of the one in a release such as `ollama-0.32.8`.

    Raises:
        TokverifyError: If it has another form, or the release is not known.
    """
    if re.fullmatch(r"b?[1-9][0-9]{0,8}", written, re.ASCII):
        return int(written.removeprefix("b"))
    if (build := build_of_release(written)) is not None:
        return build
    raise TokverifyError(
        f"{written!r} is not a build of llama.cpp; write one like b9190, or a release like ollama-0.32.8 that "
        "docs/builds.md lists"
    )


@cache
def _releases() -> Mapping[str, Mapping[str, int]]:
    table: Mapping[str, Any] = json.loads(RELEASES.read_text(encoding="utf-8"))
    return {program: each["builds"] for program, each in table.items()}


def build_of_release(name: str) -> int | None:
    """Return the build in a release such as `ollama-0.32.8`; None if that is not known."""
    program, _, version = name.lower().rpartition("-")
    return _releases().get(program, {}).get(version.removeprefix("v"))


def first_releases(build: int) -> list[str]:
    """Return the first known release of each program that contains this build or a newer one."""
    found = (
        (program, next((version for version, each in versions.items() if build <= each), None))
        for program, versions in _releases().items()
    )
    return [f"{program}-{version}" for program, version in found if version]


def known_since(section: str) -> Mapping[str, int]:
    """Return what is known as `models`, `pre_tokenizers`, `architectures` or `keys`, and since which build.

    A name that all builds of the table know has the build 0.
    """
    since: Mapping[str, int] = _table()[section]
    return since


@cache
def meanings() -> Mapping[str, Sequence[tuple[int, int]]]:
    """Map texts of tokens typed NORMAL to what builds make of them: since which build, and the attribute."""
    return {text: [(since, value[0]) for since, value in each] for text, each in _table()["texts"].items()}


@cache
def values_of(section: str, build: int) -> Mapping[str, Any]:
    """Return what a build makes of a token's text (`texts`), or of a pre-tokenizer's name (`flags`).

    Between two builds of the table, it is what the earlier one makes of it.
    """
    changes = _table()[section].items()
    return {name: [value for since, value in each if since <= build][-1] for name, each in changes}
