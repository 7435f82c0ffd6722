"""What a file needs of llama.cpp that not every build has, and what a build reads of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from tokverify.engine.attribute import Attribute
from tokverify.engine.build import builds, first_releases, known_since, meanings, newest_build
from tokverify.engine.families import find_family
from tokverify.engine.family import DROPS_MARKS_SINCE, PRE_WITHOUT_MERGES, TILDE_IS_SYMBOL_SINCE, Family, Settings
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer, splitter, without_tilde
from tokverify.errors import UnsupportedError
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.visible import visible
from tokverify.text.wording import list_items

_KEYS = {
    "lowercase": "tokenizer.ggml.normalizer.lowercase",
    "strip_accents": "tokenizer.ggml.normalizer.strip_accents",
    "nfc": "tokenizer.ggml.normalizer.nfc",
    "suppressed": "tokenizer.ggml.suppress_tokens",
}
"""The fields of a specification that not every build reads, and their keys."""

_MERGES_OPTIONAL_SINCE = 8095
"""The build since which `PRE_WITHOUT_MERGES` needs no merges (b7836 is the last before)."""
_IMITATED_SINCE = {"gemma4": 8739}
"""Model -> the first build that encodes it as later ones do, if earlier ones know it too."""


_TILDES = ("~", "a~b", " ~a", "~~ ", "!~", "~!", "~\n", "1~2", "+~", "~+")
"""Texts with `~` beside each kind of character that patterns distinguish."""
_KINDS = {TokenType.CONTROL.value: "a control token", TokenType.USER_DEFINED.value: "a user-defined token"}


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
    if spec.merges is None and family and family.uses_pre_tokenizer and spec.pre == PRE_WITHOUT_MERGES:
        found.append(Requirement(f"pre-tokenizer {PRE_WITHOUT_MERGES} without merges", _MERGES_OPTIONAL_SINCE))
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
    releases = first_releases(first)
    enough = f"; new enough: {', '.join(releases)}" if releases else ""
    return f"llama.cpp b{first} or newer ({reasons}); b{before} is too old{enough}"


def describe_changes(spec: TokenizerSpec, settings: Settings) -> str:
    """Say which builds that load a file give other ids than the newest, and why.

    Empty if none of the tables does, or the settings are those of another build than the newest.
    """
    if settings.build != newest_build():
        return ""
    needed = max((each.since or 0 for each in requirements(spec)), default=0)
    changes = _changes_by_build(spec, settings, max(needed, builds()[0]), settings.build)
    return list_items([f"before b{build} ({'; '.join(before)})" for build, before in changes])


def describe_changes_between(spec: TokenizerSpec, settings: Settings, build: int) -> str:
    """Say why a build gives other ids of a file than the one whose settings these are; empty if no table tells."""
    first, last = sorted((settings.build, build))
    reasons = [
        f"{list_items(before)} before b{since}" for since, before in _changes_by_build(spec, settings, first, last)
    ]
    return f"b{first} can give other ids than b{last}, because {list_items(reasons)}" if reasons else ""


def _changes_by_build(
    spec: TokenizerSpec, settings: Settings, first: int, last: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield each build after `first`, up to `last`, since which ids are different, and what was different before."""
    found = sorted(each for each in _changes(spec, settings) if first < each[0] <= last)
    for build, group in groupby(found, itemgetter(0)):
        yield build, [before for _, before in group]


def _changes(spec: TokenizerSpec, settings: Settings) -> Iterator[tuple[int, str]]:
    """Yield the build since which ids are what they are now, and what was different before."""
    family = settings.family
    for key in _keys_that_matter(spec, family):
        yield known_since("keys")[key], f"{key} was not read"
    if since := _IMITATED_SINCE.get(spec.model):
        yield since, f"the model {spec.model} was read otherwise"
    if family.strips_accents_if_lowercase and settings.strip_accents:
        yield DROPS_MARKS_SINCE, "combining marks stayed where accents are stripped"
    if family.uses_pre_tokenizer and _splits_tilde_otherwise(PRE_TOKENIZERS[settings.pre]):
        yield TILDE_IS_SYMBOL_SINCE, "`~` was no symbol for the pre-tokenizer"
    for text, history in meanings().items():
        id = settings.ids.get(text)
        if id is None:
            continue
        declared = spec.types[id] if spec.types else TokenType.NORMAL.value
        for (_, before), (since, now) in pairwise(history):
            was = _effective(before, declared)
            if was != _effective(now, declared):
                yield since, f"{visible(text)} was {_KINDS.get(was, 'an ordinary token')}"


def _effective(attribute: int, declared: int) -> int:
    """Return the effective type of a token, given what a build makes of it if it is typed NORMAL."""
    if attribute & Attribute.USER_DEFINED:
        return TokenType.USER_DEFINED.value
    return TokenType.CONTROL.value if attribute & Attribute.CONTROL else declared


@cache
def _splits_tilde_otherwise(pre_tokenizer: PreTokenizer) -> bool:
    earlier = without_tilde(pre_tokenizer)
    if earlier == pre_tokenizer:
        return False
    split, split_earlier = splitter(pre_tokenizer), splitter(earlier)
    return any(split(text) != split_earlier(text) for text in _TILDES)


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
    for each in requirements(spec):
        if each.since is not None and each.since <= build:
            continue
        before = max((other for other in known if each.since is None or other < each.since), default=0)
        if before < build:
            unknown = f"b{before} does not, and b{each.since} does" if each.since else "no build of the tables does"
            raise UnsupportedError(f"it is not known whether llama.cpp b{build} reads {each.what}: {unknown}")
        if each.what not in _KEYS.values():
            raise UnsupportedError(f"llama.cpp b{build} does not load the file: it does not know the {each.what}")
    _require_known_texts(spec, build)
    # Not only the keys that matter to the newest build: without one, another can have an effect.
    ignored: dict[str, Any] = {name: None for name, key in _KEYS.items() if build < known_since("keys")[key]}
    return replace(spec, **ignored) if ignored else spec


def _require_known_texts(spec: TokenizerSpec, build: int) -> None:
    """Raise an UnsupportedError if a token's text has another meaning in the builds before and after this one."""
    for text, history in meanings().items():
        for (_, before), (since, now) in pairwise(history):
            last = max(each for each in builds() if each < since)
            if not last < build < since or text not in spec.tokens:
                continue
            declared = spec.types[spec.tokens.index(text)] if spec.types else TokenType.NORMAL.value
            if _effective(before, declared) != _effective(now, declared):
                raise UnsupportedError(
                    f"it is not known what llama.cpp b{build} makes of {visible(text)}: in b{last}, it is "
                    f"{_KINDS.get(_effective(before, declared), 'an ordinary token')}, and b{since} has changed that"
                )
