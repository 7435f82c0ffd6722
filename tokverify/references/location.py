"""Recognize what kind of reference a location names: a kind by name, an address, a file, or a repository on the hub."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.location import Location
from tokverify.sources.location import VOCABULARIES, file_and_rest, files_in, find_existing, kind_of
from tokverify.sources.stores.choice import file_in
from tokverify.sources.stores.location import is_stored
from tokverify.system.http_address import lacks_scheme, scheme_advice

EXPECT = "expect"
"""The location that means the ids that cases themselves expect."""

_CONFIGURATION = "tokenizer_config.json"
"""What transformers loads a directory by; its content alone does not tell what the tokenizer is."""

LLAMA_CPP_OF_BUILD = "llama.cpp@"
"""How a location begins that names a build of llama.cpp, a library, or a program."""

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", re.ASCII)
_HUB_URL = re.compile(r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/([\w.-]+/[\w.-]+)", re.ASCII)
_SERVER = re.compile(r"(?:[\w.-]+\+)?https?://", re.ASCII)
_SIMILAR = 0.7
"""How similar a word must be to the name of a kind to be taken for it, from 0 to 1."""
_NOT_MODELS = ("datasets/", "spaces/", "docs/", "blog/", "papers/", "collections/")


def identify(named: Location, is_kind: Callable[[str], bool], known: Iterable[str] = ()) -> tuple[str, Location]:
    """Return the kind of a reference, and the location to pass to its loader.

    Any kind can be selected explicitly, as in `rebuilt` or `hub:gpt2`. If none is, an existing path takes precedence
    over a hub id.

    Args:
        named: What was written.
        is_kind: Whether a word is the name of a kind.
        known: The names of kinds to suggest if nothing fits.

    Raises:
        TokverifyError: If the location is none of these, or a file that may not lead there names it.
        BrokenFileError: If it is a file or a directory without a tokenizer.
        UnsupportedError: If it is a kind of tokenizer that cannot be a reference.
    """
    location = named.text
    if location == EXPECT:
        raise TokverifyError("`expect`, the ids in the cases, works only with `tokverify run`; name a reference")
    kind, _, rest = location.partition(":")
    if location.startswith(LLAMA_CPP_OF_BUILD):
        kind, rest = "llama.cpp", location.removeprefix("llama.cpp")
    if is_kind(kind):
        return kind, named.at(rest)
    if is_stored(location):
        return "gguf", named
    if _SERVER.match(location) and not _HUB_URL.match(location):
        return "server", named
    if path := find_existing(location):
        kind, found = _identify_file(Path(named.at(str(path))))
        return kind, named.at(str(found))
    if hub_id := repository(location):
        return "hub", named.at(hub_id)
    if (split := file_and_rest(location)) and kind_of(Path(named.at(str(split[0])))) == "tiktoken":
        return "tiktoken", named
    if lacks_scheme(location):
        raise TokverifyError(f"{location!r}: no such file; {scheme_advice(location)}")
    raise TokverifyError(
        f"{location!r}: no such file or directory, and not a hub id such as org/name or org/name@revision"
        f"{_suggest(location, known)}"
    )


def _identify_file(path: Path) -> tuple[str, Path]:
    """Recognize a file, or the preferred one in a directory: by its content, or by a name that libraries agree on."""
    names = (*VOCABULARIES, _CONFIGURATION) if path.is_dir() and not files_in(path) else ()
    named = next((path / name for name in names if (path / name).is_file()), path)
    if named.name == _CONFIGURATION and named.is_file():
        return "transformers", named.parent
    file = file_in(named) if named.is_dir() else named
    return kind_of(file), file


def _suggest(location: str, known: Iterable[str]) -> str:
    """Ask whether a kind was mistyped, or say how a server is named."""
    from tokverify.references.servers import SERVERS

    if (server := location.lower()) in SERVERS:
        return f"; a server is named by its address, as in {server}+http://127.0.0.1:8000"
    kind, colon, rest = location.partition(":")
    similar = get_close_matches(kind.lower(), [*known, EXPECT], n=1, cutoff=_SIMILAR)
    return f"; did you mean `{similar[0]}{colon}{rest}`?" if similar else ""


def repository(location: str) -> str | None:
    """Return the hub id that a location or a huggingface.co address names, or None."""
    if _HUB_URL.match(location):
        return repository_of_url(location)
    looks_like_path = location.startswith((".", "~")) or location.endswith((".json", ".model", ".gguf"))
    return location if _HUB_ID.fullmatch(location) and not looks_like_path else None


def repository_of_url(url: str) -> str | None:
    """Return the hub id of the model that a huggingface.co address belongs to, or None."""
    match = _HUB_URL.match(url)
    return match[1].removesuffix(".git") if match and not match[1].startswith(_NOT_MODELS) else None
