"""Record how a normalizer rewrites a text, and which bytes of the result come from which bytes of the source."""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int]
"""Byte offsets of a start and an end."""


@dataclass(frozen=True, slots=True)
class Change:
    """One replacement: the bytes at `span` of the source became `after`."""

    span: Span
    before: bytes
    after: bytes


class Rewriting:
    """A text that is rewritten from left to right."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._spans: list[Span] = []
        self._end = 0
        self.changes: list[Change] = []

    @property
    def result(self) -> bytes:
        """The rewritten text."""
        return b"".join(self._parts)

    @property
    def size(self) -> int:
        """The length of the result in bytes."""
        return len(self._spans)

    def keep(self, text: str | bytes) -> None:
        """Append bytes of the source unchanged."""
        data = _bytes(text)
        self._parts.append(data)
        self._spans += [(start, start + 1) for start in range(self._end, self._end + len(data))]
        self._end += len(data)

    def replace(self, before: str | bytes, after: str | bytes, *, noted: bool = True) -> None:
        """Append `after` in place of `before`, either of which may be empty; record a change only if `noted`."""
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

    def extend(self, following: Rewriting) -> None:
        """Append the rewriting of what follows in the source."""
        self._parts += following._parts
        self._spans += [(start + self._end, end + self._end) for start, end in following._spans]
        for change in following.changes:
            start, end = change.span
            self.changes.append(Change((start + self._end, end + self._end), change.before, change.after))
        self._end += following._end

    def source_span(self, start: int, end: int) -> Span:
        """Return the bytes of the source that the bytes from `start` to `end` of the result come from."""
        if start < end:
            return self._spans[start][0], max(self._spans[start][0], self._spans[end - 1][1])
        place = self._spans[start][0] if start < len(self._spans) else self._end
        return place, place

    def then(self, following: Rewriting) -> Rewriting:
        """Compose two rewritings; `following` has rewritten the result of this one."""
        both = Rewriting()
        both._parts = following._parts
        both._spans = [self.source_span(*span) for span in following._spans]
        both._end = self._end
        later = [Change(self.source_span(*change.span), change.before, change.after) for change in following.changes]
        both.changes = [*self.changes, *later]
        return both


def unchanged(text: str | bytes) -> Rewriting:
    """Return the rewriting that does not change a text."""
    kept = Rewriting()
    kept.keep(text)
    return kept


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
