"""Wrap messages at the width of a terminal, between words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len

# What a line begins with, up to where its text begins: spaces, and a label such as `error: `.
_MARGIN = re.compile(r" *(?:[\w-]+: +|[\w-]+ {2,}|- )?")
_COMMAND = "$ "


def wrap(text: str, width: int) -> str:
    """Break the lines of a text that are wider than `width`, and align what continues a line with its beginning.

    A word that is too long is never broken, as it may be a path, nor is a line that begins with `$ `, a command.
    """
    return "\n".join(part for line in text.split("\n") for part in _wrap_line(line, width))


def _wrap_line(line: str, width: int) -> Iterator[str]:
    if cell_len(line) <= width or line.startswith(_COMMAND):
        yield line
        return
    match = _MARGIN.match(line)
    margin = " " * len(match[0] if match else "")
    lead, *words = line[len(margin) :].split(" ")
    part = line[: len(margin)] + lead
    for word in words:
        if cell_len(f"{part} {word}") <= width:
            part = f"{part} {word}"
        else:
            yield part
            part = margin + word
    yield part
