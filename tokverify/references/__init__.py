"""Adapters for the reference tokenizers that a GGUF file's tokenizer is compared with.

A new built-in kind is one module with a loader and one entry in `REFERENCES`. Other packages register kinds as entry
points of the group `tokverify.references`: the name is the kind, the object a loader as in `REFERENCES`. Adapters are
imported only when they are used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.errors import TokverifyError
from tokverify.location import Location
from tokverify.references.file import FILE_REFERENCES, load_file
from tokverify.references.location import LLAMA_CPP_OF_BUILD, identify
from tokverify.references.reference import FoundReference, Request
from tokverify.sources.location import find_existing
from tokverify.sources.stores.location import locate
from tokverify.spec import TokenizerSpec
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from tokverify.engine.family import Settings

__all__ = [
    "ENTRY_POINTS",
    "REFERENCES",
    "FoundReference",
    "Request",
    "is_kind",
    "is_location",
    "load_reference",
    "open_location",
    "open_reference",
]

ENTRY_POINTS = "tokverify.references"
"""The entry-point group in which other packages register kinds of references."""

_NAME = re.compile(r"[\w-]+")
"""What the name of a kind looks like; the installed packages are not searched for anything else, which takes long."""


def _hub(request: Request) -> FoundReference:
    from tokverify.references import hub

    return hub.load(request)


def _rebuilt(request: Request) -> FoundReference:
    from tokverify.references import rebuilt

    return rebuilt.load(request)


def _llama_cpp(request: Request) -> FoundReference:
    from tokverify.references import llama_cpp

    return llama_cpp.load(request)


def _server(request: Request) -> FoundReference:
    from tokverify.references import servers

    return servers.load(request)


def _command(request: Request) -> FoundReference:
    from tokverify.references import command

    return command.load(request)


def _transformers(request: Request) -> FoundReference:
    from tokverify.references import transformers

    return transformers.load(request)


def _transformers_gguf(request: Request) -> FoundReference:
    from tokverify.references import transformers

    return transformers.load_gguf(request)


def _environment(request: Request) -> FoundReference:
    from tokverify.references import environment

    return environment.load(request)


Loader = Callable[[Request], FoundReference]


def _of_file(kind: str) -> Loader:
    return lambda request: load_file(kind, request.location, request.spec)


REFERENCES: Mapping[str, Loader] = {
    **{kind: _of_file(kind) for kind in FILE_REFERENCES},
    "hub": _hub,
    "rebuilt": _rebuilt,
    "llama.cpp": _llama_cpp,
    "server": _server,
    "command": _command,
    "transformers": _transformers,
    "transformers-gguf": _transformers_gguf,
    "env": _environment,
}
"""The built-in kinds of references."""


def load_reference(
    location: str | Path | Location,
    *,
    spec: TokenizerSpec | None = None,
    settings: Settings | None = None,
    model: Path | None = None,
) -> Tokenizer:
    """Load a reference tokenizer; see `open_reference`."""
    return open_reference(location, spec=spec, settings=settings, model=model).tokenizer


def open_reference(
    location: str | Path | Location,
    *,
    spec: TokenizerSpec | None = None,
    settings: Settings | None = None,
    model: Path | None = None,
) -> FoundReference:
    """Open what Python code or the loader of another package names; see `open_location`."""
    return open_location(locate(location), spec=spec, settings=settings, model=model)


def open_location(
    location: Location,
    *,
    spec: TokenizerSpec | None = None,
    settings: Settings | None = None,
    model: Path | None = None,
) -> FoundReference:
    """Load a reference tokenizer together with its provenance.

    Args:
        location: A tokenizer.json, a sentencepiece .model, a tiktoken or tekken file, a directory with one of the
            first two, another GGUF file, a hub id `org/name` or `org/name@revision`, the address of a server,
            `rebuilt`, `llama.cpp`, `command:PROGRAM ARGUMENTS`, or `tiktoken:NAME`. `KIND:LOCATION` selects any kind
            explicitly, as in `hub:gpt2`, including kinds that other packages register.
        spec: The GGUF file's tokenizer, from which `rebuilt` is made.
        settings: Its effective settings, if already known.
        model: The GGUF file itself, which `llama.cpp` loads.

    Raises:
        TokverifyError: If there is no such reference; a subclass if it is broken or of an unsupported kind.
    """
    kind, rest = identify(location, is_kind, REFERENCES)
    request = Request(rest, spec, settings, model)
    return REFERENCES[kind](request) if kind in REFERENCES else _open_registered(kind, request)


def is_kind(name: str) -> bool:
    """Whether `name` is a kind of references, built in or registered by another package."""
    return name in REFERENCES or (_NAME.fullmatch(name) is not None and bool(_find_entry_points(name)))


def is_location(text: str) -> bool:
    """Whether a text names a tokenizer that is not a file, by an address or `KIND:LOCATION`; a file has precedence."""
    kind, colon, rest = text.partition(":")
    if text.startswith(LLAMA_CPP_OF_BUILD):
        return True
    return (rest.startswith("//") or (bool(colon) and is_kind(kind))) and find_existing(text) is None


def _open_registered(kind: str, request: Request) -> FoundReference:
    from tokverify.references.registered import guard, own_errors

    request.location.require_typed(f"{kind}:{request.location.text}", "use a reference of another package")
    entry_point = next(iter(_find_entry_points(kind)))
    with own_errors(TokverifyError, f"{kind}: {entry_point.value} cannot be imported"):
        loader: Loader = entry_point.load()
    with own_errors(TokverifyError, f"{kind}: {entry_point.value} failed"):
        found = loader(request)
    return guard(kind, found)


def _find_entry_points(name: str) -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=ENTRY_POINTS, name=name)) if name else ()
