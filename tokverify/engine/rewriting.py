"""Rewriting: what a normalizer made of a text, and which bytes of the one come from which of the other."""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int]
"""Byte offsets: where something begins, and where it ends."""


@dataclass(frozen=True, slots=True)
class Change:
    """One replacement: the bytes at `span` of the source became `after`."""

    span: Span
    before: bytes
    after: bytes


class Rewriting:
    """A text that is rewritten from left to right; `result` is what it has become."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._spans: list[Span] = []
        self._end = 0
        self.changes: list[Change] = []

    @property
    def result(self) -> bytes:
        """The text as rewritten."""
        return b"".join(self._parts)

    def keep(self, text: str | bytes) -> None:
        """Go on with bytes that stay as they are."""
        data = _bytes(text)
        self._parts.append(data)
        self._spans += [(start, start + 1) for start in range(self._end, self._end + len(data))]
        self._end += len(data)

    def replace(self, before: str | bytes, after: str | bytes, *, noted: bool = True) -> None:
        """Go on with bytes that become others; either may be empty. What is not `noted` is no change to speak of."""
        old, new = _bytes(before), _bytes(after)
        if old == new:
            self.keep(old)
            return
        span = self._end, self._end + len(old)
        self._parts.append(new)
        self._spans += [span] * len(new)
        self._end = span[1]
        if noted:
            self.changes.append(Change(span, old, new))

    def source_span(self, start: int, end: int) -> Span:
        """Return which bytes of the source the bytes from `start` to `end` of the result come from."""
        if start < end:
            return self._spans[start][0], max(self._spans[start][0], self._spans[end - 1][1])
        place = self._spans[start][0] if start < len(self._spans) else self._end
        return place, place

    def then(self, following: Rewriting) -> Rewriting:
        """Return both in one: `following` has rewritten the result of this one."""
        both = Rewriting()
        both._parts = following._parts
        both._spans = [self.source_span(*span) for span in following._spans]
        both._end = self._end
        later = [Change(self.source_span(*change.span), change.before, change.after) for change in following.changes]
        both.changes = [*self.changes, *later]
        return both


def unchanged(text: str | bytes) -> Rewriting:
    """Return the rewriting that leaves a text as it is."""
    kept = Rewriting()
    kept.keep(text)
    return kept


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
