"""Builds of llama.cpp: which of them knows a name, a key or a text, from the table `builds.json`.

`benchmarks/builds.py` makes the table from real builds. It says since which of them something is known, so between that
one and the build before it, nobody knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tokverify.engine.families import find_family
from tokverify.engine.family import Family
from tokverify.spec import TokenizerSpec
from tokverify.text.visible import visible

TABLE = Path(__file__).with_name("builds.json")


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def builds() -> list[int]:
    """Return the builds that the table was made from, in ascending order."""
    return list(_table()["builds"])


def newest_build() -> int:
    """Return the newest build, which the encoder equals."""
    return builds()[-1]


def known_since(section: str) -> Mapping[str, int]:
    """Return what is known as `models`, `pre_tokenizers`, `architectures` or `keys`, and since which build.

    A name that all builds of the table know has the build 0.
    """
    since: Mapping[str, int] = _table()[section]
    return since


def newest_values(section: str) -> Mapping[str, Any]:
    """Return what the newest build makes of a token's text (`texts`), or of a pre-tokenizer's name (`flags`)."""
    return {name: changes[-1][1] for name, changes in _table()[section].items()}


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something in a file that not every known build of llama.cpp reads."""

    what: str
    """What it is, such as `pre-tokenizer minicpm5`."""
    since: int | None
    """The first known build that reads it; None if no known build does."""


def requirements(spec: TokenizerSpec) -> list[Requirement]:
    """Return what a file needs that not every known build has, the newest first: names, and keys that change ids."""
    family = find_family(spec.model)
    named = [("models", "model", spec.model), ("architectures", "architecture", spec.general.get("architecture"))]
    if family and family.uses_pre_tokenizer and family.pre is None:
        named.append(("pre_tokenizers", "pre-tokenizer", spec.pre))
    found = [
        Requirement(f"{kind} {visible(name)}", known_since(section).get(name))
        for section, kind, name in named
        if name is not None
    ]
    since = known_since("keys")
    found += [Requirement(key, since[key]) for key in _keys_that_matter(spec, family)]
    newest = newest_build() + 1
    return sorted((each for each in found if each.since != 0), key=lambda each: -(each.since or newest))


def _keys_that_matter(spec: TokenizerSpec, family: Family | None) -> Iterator[str]:
    if family:
        # Builds that do not read a key do what those that read it do by default.
        lowercase = family.lowercase if spec.lowercase is None else spec.lowercase
        strips = family.strips_accents_if_lowercase and lowercase
        for name, default in (("lowercase", family.lowercase), ("strip_accents", strips), ("nfc", False)):
            if name in family.flags and getattr(spec, name) not in {None, default}:
                yield f"tokenizer.ggml.normalizer.{name}"
    if spec.suppressed:
        yield "tokenizer.ggml.suppress_tokens"


def describe_needs(spec: TokenizerSpec) -> str:
    """Say which build a file needs, and why; empty if every known build reads it."""
    needed = requirements(spec)
    if not needed:
        return ""
    first = needed[0].since
    reasons = ", ".join(each.what for each in needed if each.since == first)
    if first is None:
        return f"a newer llama.cpp than b{newest_build()}, if there is one ({reasons})"
    before = max(build for build in builds() if build < first)
    return f"llama.cpp b{first} or newer ({reasons}); b{before} is too old"
