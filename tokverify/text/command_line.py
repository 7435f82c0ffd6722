"""Commands to paste into a shell: name the files in them and quote their arguments."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import PurePath

from tokverify.text.visible import visible_message

REPAIRED = "-fixed"
"""What is appended to the name of a file, without its suffix, to name its repaired copy."""
_FIXED = f"{REPAIRED}.gguf"
# On most systems.
_MAX_NAME_BYTES = 255
# A word of a command as `shlex.join` writes it: spaces within quotes separate no words.
_WORD = re.compile(r"(?:[^\s']|'[^']*'|')+")
_PLACEHOLDER = re.compile(r"\b(?:MODEL|FIXED|REFERENCE)\b")

_KIND = re.compile(r"[\w-]+")
_READING = frozenset({
    "gguf", "hf", "hub", "http", "https", "llama.cpp", "llamacpp", "lmstudio", "ollama", "rwkv", "sentencepiece",
    "server", "tekken", "tiktoken", "tokenizers", "transformers", "vocab",
})  # fmt: skip
"""The kinds of locations whose text, however it goes on, runs no code but that of tokverify and its libraries."""


def fixed_name(model: str | None) -> str | None:
    """Name the repaired copy of a model, which is written to the current directory."""
    if not model:
        return None
    room = _MAX_NAME_BYTES - len(_FIXED)
    # A colon is part of names such as `hf:org/name:file.gguf`, but not of the names of files on all systems.
    stem = PurePath(model).stem.replace(":", "-")[:room]
    while len(stem.encode(errors="surrogatepass")) > room:
        stem = stem[:-1]
    return stem + _FIXED


def fill_in(command: str, model: str | None, fixed: str | None, reference: object = None) -> tuple[str, ...]:
    """Replace MODEL, FIXED and REFERENCE in a command with the files they represent, if these are known."""
    # subtle: word by word, because a file may itself be called FIXED.
    words = _files(model, fixed, reference)
    return tuple(words.get(word, word) for word in _WORD.findall(command))


def name_files(sentence: str, model: str | None, fixed: str | None, reference: object = None) -> str:
    """Replace MODEL, FIXED and REFERENCE in a sentence with commands as `fill_in` does in a command."""
    files = _files(model, fixed, reference)
    return _PLACEHOLDER.sub(lambda found: files[found[0]], sentence)


def _files(model: str | None, fixed: str | None, reference: object) -> Mapping[str, str]:
    return {
        "MODEL": quote_argument(model, "MODEL"),
        "FIXED": quote_argument(fixed, "FIXED.gguf"),
        "REFERENCE": quote_reference(reference),
    }


def quote_reference(location: object) -> str:
    """Quote the location of a reference; return the placeholder if it runs code, so that nobody pastes that unread."""
    return quote_argument(location if isinstance(location, str) and only_reads(location) else None, "REFERENCE")


def only_reads(location: str) -> bool:
    """Whether a reference is opened by reading data, so that it runs no program and no code of another package."""
    kind, colon, _ = location.partition(":")
    is_unknown_kind = bool(colon) and len(kind) > 1 and _KIND.fullmatch(kind) is not None and kind not in _READING
    return not (is_unknown_kind or location.startswith("llama.cpp@") or "trust_remote_code" in location)


def quote_argument(value: object, placeholder: str) -> str:
    """Quote an argument for the shell; return the placeholder if it contains characters that must be escaped."""
    if not isinstance(value, str) or visible_message(value) != value:
        return placeholder
    # An argument that begins with a dash would be parsed as an option.
    return shlex.quote(f"./{value}" if value.startswith("-") else value)
