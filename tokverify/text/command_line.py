"""Commands to paste into a shell: name the files in them and quote their arguments."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath

from tokverify.text.visible import visible_message

REPAIRED = "-fixed"
"""What is appended to the name of a file, without its suffix, to name its repaired copy."""
_FIXED = f"{REPAIRED}.gguf"
# On most systems.
_MAX_NAME_BYTES = 255
# A word of a command as `shlex.join` writes it: spaces within quotes separate no words.
_WORD = re.compile(r"(?:[^\s']|'[^']*'|')+")


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
    words = {
        "MODEL": quote_argument(model, "MODEL"),
        "FIXED": quote_argument(fixed, "FIXED.gguf"),
        "REFERENCE": quote_argument(reference, "REFERENCE"),
    }
    return tuple(words.get(word, word) for word in _WORD.findall(command))


def quote_argument(value: object, placeholder: str) -> str:
    """Quote an argument for the shell; return the placeholder if it contains characters that must be escaped."""
    if not isinstance(value, str) or visible_message(value) != value:
        return placeholder
    # An argument that begins with a dash would be parsed as an option.
    return shlex.quote(f"./{value}" if value.startswith("-") else value)
