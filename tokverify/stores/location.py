"""Find the file of a model, whichever way it is named.

A new store needs one module with `find` and, if it has patterns, `expand`, and one line in the tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tokverify.files.location import find_existing
from tokverify.stores.model_file import ModelFile


def _hub(name: str) -> ModelFile:
    from tokverify.stores import hub

    return hub.find(name)


def _ollama(name: str) -> ModelFile:
    from tokverify.stores import ollama

    return ollama.find(name)


STORES: Mapping[str, Callable[[str], ModelFile]] = {"hf": _hub, "ollama": _ollama}
"""The prefix of a name -> what finds the model."""

# subtle: a Path has only one of the two slashes of an address.
_ADDRESS = re.compile(r"(https?):/+([^/].*\.gguf(?:\?.*)?)", re.IGNORECASE | re.DOTALL)


def is_stored(location: str | Path) -> bool:
    """Whether a location names a model in a store or behind an address, and not a file."""
    text = str(location)
    prefix, colon, _ = text.partition(":")
    is_name = (bool(colon) and prefix in STORES) or _ADDRESS.fullmatch(text) is not None
    return is_name and find_existing(text) is None


def find_model(location: str | Path | ModelFile) -> ModelFile:
    """Find the file of a model.

    Args:
        location: A path, which need not exist; `hf:org/name[:quantization or file][@revision]`;
            `https://.../model.gguf`; or `ollama:name[:tag]`. A file that has been found is returned unchanged.

    Raises:
        TokverifyError: If the store has no such model, or cannot be reached.
    """
    if isinstance(location, ModelFile):
        return location
    text = str(location)
    if not is_stored(location):
        path = Path(location)
        return ModelFile(path=path, name=path.stem, location=str(path))
    if match := _ADDRESS.fullmatch(text):
        from tokverify.stores import address

        return address.find(f"{match[1].lower()}://{match[2]}")
    prefix, _, name = text.partition(":")
    return STORES[prefix](name)
