"""Split a text into lines as editors and diff tools do."""

from __future__ import annotations

import re

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def split_lines(text: str) -> list[str]:
    """Split a text after each line feed.

    Unlike `str.splitlines`, this does not split at form feeds, U+2028 and other separators.
    """
    return _LINE.findall(text)
