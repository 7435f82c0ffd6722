"""Find out whether added tokens can overlap in a text, in time proportional to their total length.

All tokens are in one prefix tree, and each node knows the node of its longest proper suffix that is in the tree, as in
the automaton of Aho and Corasick ("Efficient string matching", 1975). Following these links from the end of a token
visits every beginning of a token inside it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

MAX_TOTAL_CHARACTERS = 1 << 19
"""The limit for the total length of the tokens; longer ones are assumed to overlap, which is slower and never wrong."""

_ROOT = 0
_NONE = -1
_CODE_POINTS = 0x110000
_STEPS = 100_000
_STEPS_PER_CHARACTER = 8


def can_overlap(texts: tuple[str, ...]) -> bool:
    """Check whether a token can begin inside another one that is not longer, so that the two algorithms differ.

    An overlap for which an even longer token takes precedence anyway, as in runs of one character, does not count.
    """
    if sum(map(len, texts)) > MAX_TOTAL_CHARACTERS:
        return True
    tree = _Tree(texts)
    return any(tree.overlaps(index) for index in range(len(texts)))


class _Tree:
    """The prefix tree of distinct texts; lengths are in bytes."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._lengths = [len(text.encode("utf-8", "surrogateescape")) for text in texts]
        self._step: dict[int, int] = {}
        # By node: the first child, the next sibling, the character, and the length of the text that ends there.
        self._child = array("i", [_NONE])
        self._sibling = array("i", [_NONE])
        self._code = array("i", [_NONE])
        self._end_length = array("i", [0])
        # By node: the length of the longest text that begins like this.
        self._longest = array("i", [0])
        self._ends = [self._insert(text, length) for text, length in zip(texts, self._lengths, strict=True)]
        self._suffix = self._link_suffixes()
        # Beyond this, overlapping is assumed.
        self._steps_left = _STEPS + _STEPS_PER_CHARACTER * sum(map(len, texts))

    def _insert(self, text: str, length: int) -> int:
        node = _ROOT
        for code in map(ord, text):
            found = self._find(node, code)
            node = self._add_child(node, code) if found == _NONE else found
            self._longest[node] = max(self._longest[node], length)
        self._end_length[node] = length
        return node

    def _find(self, node: int, code: int) -> int:
        return self._step.get(node * _CODE_POINTS + code, _NONE)

    def _add_child(self, node: int, code: int) -> int:
        child = self._step[node * _CODE_POINTS + code] = len(self._child)
        self._sibling.append(self._child[node])
        self._child[node] = child
        self._child.append(_NONE)
        self._code.append(code)
        self._end_length.append(0)
        self._longest.append(0)
        return child

    def _children(self, node: int) -> Iterator[int]:
        child = self._child[node]
        while child != _NONE:
            yield child
            child = self._sibling[child]

    def _link_suffixes(self) -> array[int]:
        """Return by node the node of its longest proper suffix, breadth first."""
        suffix = array("i", bytes(4 * len(self._child)))
        nodes = list(self._children(_ROOT))
        for node in nodes:
            for child in self._children(node):
                suffix[child] = self._follow(suffix, suffix[node], self._code[child])
                nodes.append(child)
        return suffix

    def _follow(self, suffix: array[int], node: int, code: int) -> int:
        while (found := self._find(node, code)) == _NONE and node != _ROOT:
            node = suffix[node]
        return max(found, _ROOT)

    def overlaps(self, index: int) -> bool:
        """Check whether another text that is not shorter can begin inside a text."""
        node = self._suffix[self._ends[index]]
        while node != _ROOT:
            if self._longest[node] >= self._lengths[index] and self._has_rival(node, index):
                return True
            node = self._suffix[node]
        return False

    def _has_rival(self, node: int, index: int) -> bool:
        """Check whether another text that is not shorter begins like a node, and no even longer one takes precedence.

        One that does begins with this text and continues like the rival.
        """
        length, own_end = self._lengths[index], self._ends[index]
        pairs = [(node, own_end)]
        while pairs:
            at, twin = pairs.pop()
            if self._steps_left < 0:
                return True
            if at != own_end and self._end_length[at] >= length:
                return True
            for child in self._children(at):
                self._steps_left -= 1
                if self._longest[child] < length:
                    continue
                next_twin = _NONE if twin == _NONE else self._find(twin, self._code[child])
                if next_twin == _NONE or not self._end_length[next_twin]:
                    pairs.append((child, next_twin))
        return False
