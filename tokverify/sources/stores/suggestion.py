"""Suggest which model is meant by what is neither a file nor a name in a store, such as the address of a page."""

from __future__ import annotations

import re
from pathlib import Path

_REPOSITORY = r"(\w[\w.-]*/\w[\w.-]*)"
_PAGE = re.compile(
    rf"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/{_REPOSITORY}(?:/tree/(\w[\w.-]*))?/?(:\w[\w.-]*)?", re.ASCII
)
_ON_HUB = re.compile(rf"(?:(?:hub|huggingface|hf\.co):)?({_REPOSITORY}(?::[\w.-]+)?(?:@[\w./-]+)?)", re.ASCII)
# `expect` is the name of a reference, and a single letter that of a drive.
_IN_OLLAMA = re.compile(r"(?!expect:)\w[\w.-]+:\w[\w.-]*", re.ASCII)
_FILE_NAME = re.compile(r"\.(gguf|json|model|tiktoken|txt)(:|$)", re.IGNORECASE)


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
