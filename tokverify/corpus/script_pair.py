"""Find pairs of different scripts whose letters are neighbors in a text, in order, such as `Latin Han`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from tokverify.engine.engine_choice import usable_native_module
from tokverify.stats.script import script_of_line

_CHARACTERS = 0x110000
_UNKNOWN = 255
"""The class of characters that have not occurred; 0 is that of characters without a script."""


def find_script_pairs(text: str) -> set[str]:
    """Return the pairs in a text."""
    if text.isascii():
        return set()
    scripts = {(_script(left), _script(right)) for left, right in set(pairwise(text))}
    return {f"{left} {right}" for left, right in scripts if left and right and left != right}


@cache
def _script(character: str) -> str | None:
    return script_of_line(character)


class ScriptPairs:
    """Collects the pairs in texts."""

    def __init__(self) -> None:
        # subtle: a module that was compiled before this function was written lacks it, and is fine otherwise.
        self._mark = getattr(usable_native_module(), "mark_pairs", None)
        self._found: set[str] = set()
        self._scripts: list[str | None] = [None]
        """The script of each class."""
        self._classes = bytearray([_UNKNOWN]) * _CHARACTERS
        """The class of each character."""
        self._is_irrelevant = np.eye(_UNKNOWN + 1, dtype=np.uint8)
        self._is_irrelevant[0] = self._is_irrelevant[:, 0] = 1
        self._pairs = self._is_irrelevant.copy()
        """Whether a pair of classes occurred, or is not one of two scripts."""

    def add(self, texts: Sequence[str]) -> bool:
        """Collect the pairs in texts; return whether any of them is new."""
        if self._mark is None:
            count = len(self._found)
            self._found.update(*map(find_script_pairs, texts))
            return len(self._found) > count
        is_new, unknown = self._mark(tuple(texts), self._classes, self._pairs.reshape(-1))
        if not unknown:
            return bool(is_new)
        for character in unknown:
            self._classes[character] = self._class_of(_script(chr(character)))
        return self.add(texts) or bool(is_new)

    def _class_of(self, script: str | None) -> int:
        if script not in self._scripts:
            self._scripts.append(script)
        return self._scripts.index(script)

    def pairs(self) -> set[str]:
        """Return the pairs collected so far."""
        marked = np.argwhere(self._pairs > self._is_irrelevant).tolist()
        return self._found | {f"{self._scripts[left]} {self._scripts[right]}" for left, right in marked}
