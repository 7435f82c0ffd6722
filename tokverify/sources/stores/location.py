"""Find the files of models, whichever way they are named, and suggest what is meant by what names none.

A new store needs one module with `find` and `expand`, and one line in `STORES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from glob import has_magic, iglob
from itertools import islice
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.location import Location, Typed
from tokverify.sources.location import file_and_rest, find_existing
from tokverify.sources.stores.choice import model_in, tokenizer_files
from tokverify.sources.stores.model_file import ModelFile

MAX_MODELS = 1000
"""The limit for the models that one pattern or directory stands for."""


@dataclass(frozen=True, slots=True)
class Store:
    """A place where models are found by name."""

    find: Callable[[str], ModelFile]
    """Finds one model."""
    expand: Callable[[str], list[str]]
    """Returns the locations of all models that a pattern with `*` matches."""


def _hub() -> Store:
    from tokverify.sources.stores import hub

    return Store(hub.find, hub.expand)


def _ollama() -> Store:
    from tokverify.sources.stores import ollama

    return Store(ollama.find, ollama.expand)


def _local(name: str) -> Store:
    from tokverify.sources.stores import local_repositories

    return Store(partial(local_repositories.find, name), partial(local_repositories.expand, name))


STORES: Mapping[str, Callable[[], Store]] = {
    "hf": _hub,
    "ollama": _ollama,
    "lmstudio": partial(_local, "lmstudio"),
    "llamacpp": partial(_local, "llamacpp"),
}
"""The prefix of a name -> the store."""

_LOCAL = ("ollama:", "lmstudio:", "llamacpp:")

_ADDRESS = re.compile(r"(https?):/+([^/].*\.gguf(?:\?.*)?)", re.IGNORECASE | re.DOTALL)

_REPOSITORY = r"(\w[\w.-]*/\w[\w.-]*)"
_PAGE = re.compile(
    rf"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/{_REPOSITORY}(?:/tree/(\w[\w.-]*))?/?(:\w[\w.-]*)?", re.ASCII
)
_ON_HUB = re.compile(rf"(?:(?:hub|huggingface|hf\.co):)?({_REPOSITORY}(?::[\w.-]+)?(?:@[\w./-]+)?)", re.ASCII)
# `expect` is the name of a reference, and a single letter that of a drive.
_IN_OLLAMA = re.compile(r"(?!expect:)\w[\w.-]+:\w[\w.-]*", re.ASCII)
_FILE_NAME = re.compile(r"\.(gguf|json|model|tiktoken|txt)(:|$)", re.IGNORECASE)


def is_stored(location: str | Path) -> bool:
    """Whether a location names a model in a store or behind an address, and not a file."""
    text = str(location)
    is_name = text.partition(":")[0] in STORES and ":" in text
    return (is_name or _ADDRESS.fullmatch(text) is not None) and find_existing(text) is None


def to_location(model: str | Path) -> str:
    """Return a location as the user wrote it: a Path has only one of the two slashes of an address."""
    match = _ADDRESS.fullmatch(str(model))
    return f"{match[1].lower()}://{match[2]}" if match and is_stored(model) else str(model)


def locate(written: str | Path | Location) -> Location:
    """Return a location; text is what the user typed, or wrote in Python code. Called in `commands/` only."""
    return written if isinstance(written, Location) else Typed(to_location(written))


def is_remote(location: str | Path) -> bool:
    """Whether a location names a model on the hub or behind an address, and not one on this machine."""
    return is_stored(location) and not str(location).startswith(_LOCAL)


def find_model(location: Location | Path | ModelFile) -> ModelFile:
    """Find the file of a model.

    Args:
        location: Names a file, which need not exist, or a directory with a model;
            `hf:org/name[:quantization or file][@revision]`; `https://.../model.gguf`; `ollama:name[:tag]`; `lmstudio:`
            or `llamacpp:owner/name[:quantization or file]`. A path is a file that the program has found, and a
            `ModelFile` is returned unchanged.

    Raises:
        TokverifyError: If the store has no such model or cannot be reached, a name in a store seems to be meant, or a
            file names the location that may not lead there.
    """
    if isinstance(location, ModelFile):
        return location
    if isinstance(location, Path) or not is_stored(location.text):
        path = Path(location)
        _require_no_other_name(str(path))
        named = None if isinstance(location, Path) else location
        if (existing := find_existing(str(path))) and existing.is_dir():
            path = model_in(path)
        return ModelFile(path=path, name=path.stem, location=str(path), named=named)
    text = to_location(location.text)
    if not is_remote(text):
        location.require_anywhere()
    if _ADDRESS.fullmatch(text):
        from tokverify.sources.stores import address

        return address.find(text)
    prefix, _, name = text.partition(":")
    return STORES[prefix]().find(name)


def _require_no_other_name(location: str) -> None:
    """Reject what is no file, but nearly the name of a model in a store."""
    name = suggest_model(location)
    if name and find_existing(location) is None and file_and_rest(location) is None:
        raise TokverifyError(f"{location}: no such file; did you mean `{name}`?")


def find_models(locations: Iterable[Location]) -> dict[str, Location]:
    """Return the locations of all models that are meant, by names that tell them apart in a report.

    Args:
        locations: As for `find_model`, or a directory, or a pattern such as `models/*.gguf` or `hf:org/*`. Any other
            location stands for itself.

    Raises:
        TokverifyError: If a directory or a pattern stands for no model, or for too many.
    """
    models = list(dict.fromkeys(location.at(text) for location in locations for text in _expand(location.text)))
    names = [model.text if _is_name(model.text) else Path(model).stem for model in models]
    return {name if names.count(name) == 1 else model.text: model for name, model in zip(names, models, strict=True)}


def _is_name(text: str) -> bool:
    """Whether a location is the name of a tokenizer, and no file."""
    return is_stored(text) or (":" in text and find_existing(text) is None and file_and_rest(text) is None)


def _expand(location: str) -> Sequence[str]:
    text = to_location(location)
    prefix, _, name = text.partition(":")
    if is_stored(text):
        return STORES[prefix]().expand(name) if "*" in name and prefix in STORES else [text]
    path = find_existing(text)
    if path and path.is_dir():
        return _list_models(map(str, path.rglob("*.gguf")), text) or [str(model_in(path))]
    # A colon separates a drive from a path, or a kind of tokenizer from what may contain any characters.
    if path is None and has_magic(text) and ":" not in text[2:]:
        if not (models := _list_models(iglob(text, recursive=True), text)):  # noqa: PTH207 - may be absolute
            raise TokverifyError(f"{location}: no GGUF file matches; check the path")
        return models
    return [location]


def _list_models(paths: Iterable[str], location: str) -> list[str]:
    found = list(islice((path for path in paths if Path(path).is_file()), MAX_MODELS + 1))
    if len(found) > MAX_MODELS:
        raise TokverifyError(f"{location}: stands for more than {MAX_MODELS:,} files, the limit; name fewer")
    return [str(Path(model)) for model in tokenizer_files(found)]


def name_of_page(address: str) -> str | None:
    """Return the name of the models in the repository whose page on the hub has an address; None for any other."""
    match = _PAGE.fullmatch(address)
    if match is None:
        return None
    repository, revision, quantization = match.groups()
    return f"hf:{repository}{quantization or ''}{f'@{revision}' if revision else ''}"


def suggest_model(location: str) -> str | None:
    """Return the name that may be meant by a location that is no file; None if it looks like the name of a file."""
    if page := name_of_page(location):
        return page
    if _FILE_NAME.search(location):
        return None
    if match := _ON_HUB.fullmatch(location):
        return None if Path(match[2]).parent.is_dir() else f"hf:{match[1]}"
    return f"ollama:{location}" if _IN_OLLAMA.fullmatch(location) else None
