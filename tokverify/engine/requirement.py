"""What a file needs of llama.cpp that not every build has, and what a build reads of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tokverify.engine.build import builds, known_since, newest_build
from tokverify.engine.families import find_family
from tokverify.engine.family import Family
from tokverify.errors import UnsupportedError
from tokverify.spec import TokenizerSpec
from tokverify.text.visible import visible

_KEYS = {
    "lowercase": "tokenizer.ggml.normalizer.lowercase",
    "strip_accents": "tokenizer.ggml.normalizer.strip_accents",
    "nfc": "tokenizer.ggml.normalizer.nfc",
    "suppressed": "tokenizer.ggml.suppress_tokens",
}
"""The fields of a specification that not every build reads, and their keys."""

_IMITATED_SINCE = {"gemma4": 8739}
"""Model -> the first build that encodes it as later ones do, if earlier ones know it too."""


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
                yield _KEYS[name]
    if spec.suppressed:
        yield _KEYS["suppressed"]


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


def read_by(spec: TokenizerSpec, build: int) -> TokenizerSpec:
    """Return what a build reads of a file, without the keys that it ignores.

    Raises:
        UnsupportedError: If the build does not know a name, or it is not known what the build does.
    """
    known = builds()
    if not known[0] <= build <= known[-1]:
        raise UnsupportedError(
            f"llama.cpp b{build} is not between b{known[0]} and b{known[-1]}, the builds in the tables"
        )
    if build < _IMITATED_SINCE.get(spec.model, 0) and build >= known_since("models")[spec.model]:
        raise UnsupportedError(f"llama.cpp b{build} encodes the model {spec.model} in a way that is not imitated")
    fields = {key: name for name, key in _KEYS.items()}
    for each in requirements(spec):
        if each.since is not None and each.since <= build:
            continue
        before = max((other for other in known if each.since is None or other < each.since), default=0)
        if before < build:
            unknown = f"b{before} does not, and b{each.since} does" if each.since else "no build of the tables does"
            raise UnsupportedError(f"it is not known whether llama.cpp b{build} reads {each.what}: {unknown}")
        if each.what not in fields:
            raise UnsupportedError(f"llama.cpp b{build} does not load the file: it does not know the {each.what}")
        ignored: dict[str, Any] = {fields[each.what]: None}
        spec = replace(spec, **ignored)
    return spec
