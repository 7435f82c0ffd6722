"""Find pairs of different scripts whose letters are neighbors in a text, in order, such as `Latin Han`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from tokverify.engine.engine_choice import usable_native_module
from tokverify.explain.stats.script import learn_scripts, script_of_letter

_CHARACTERS = 0x110000
_UNKNOWN = 255
"""The class of characters that have not occurred; 0 is that of characters without a script."""


def find_script_pairs(text: str) -> set[str]:
    """Return the pairs in a text."""
    if text.isascii():
        return set()
    scripts = {(script_of_letter(left), script_of_letter(right)) for left, right in set(pairwise(text))}
    return {f"{left} {right}" for left, right in scripts if left and right and left != right}


class _Classes:
    """Numbers the scripts, and knows those of the characters that have occurred."""

    def __init__(self) -> None:
        self.of_characters = bytearray([_UNKNOWN]) * _CHARACTERS
        self.scripts: list[str | None] = [None]
        self._numbers: dict[str | None, int] = {None: 0}

    def learn(self, characters: Sequence[int]) -> None:
        """Find the classes of characters."""
        distinct = set(characters)
        learn_scripts(map(chr, distinct))
        for character in distinct:
            script = script_of_letter(chr(character))
            if script not in self._numbers:
                self._numbers[script] = len(self.scripts)
                self.scripts.append(script)
            self.of_characters[character] = self._numbers[script]


@cache
def _classes() -> _Classes:
    """Return the classes, which a process needs only once."""
    return _Classes()


class ScriptPairs:
    """Collects the pairs in texts."""

    def __init__(self) -> None:
        # subtle: a module that was compiled before this function was written lacks it, and is fine otherwise.
        self._mark = getattr(usable_native_module(), "mark_class_pairs", None)
        self._found: set[str] = set()
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
        is_new, unknown, incomplete = self._mark(tuple(texts), _classes().of_characters, self._pairs.reshape(-1))
        if not unknown:
            return bool(is_new)
        _classes().learn(unknown)
        return self.add([texts[index] for index in incomplete]) or bool(is_new)

    def pairs(self) -> set[str]:
        """Return the pairs collected so far."""
        scripts = _classes().scripts
        marked = np.argwhere(self._pairs > self._is_irrelevant).tolist()
        return self._found | {f"{scripts[left]} {scripts[right]}" for left, right in marked}
