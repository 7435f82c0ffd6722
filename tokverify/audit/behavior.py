"""Encode texts on both sides, for rules that would raise false alarms if they only compared data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tokverify.audit.subject import NotEvaluatedError
from tokverify.errors import EncodeError

if TYPE_CHECKING:
    from tokverify.audit.subject import Subject


def encode_both(subject: Subject, text: str) -> tuple[list[int], list[int]]:
    """Return the actual and the expected ids; both are empty if one side cannot encode the text."""
    parse_special = subject.expected.parses_special
    try:
        actual = subject.encoder.encode(text, parse_special=parse_special)
        return actual, subject.expected.encode(text, add_special=False, parse_special=parse_special)
    except EncodeError:
        return [], []


def find_differing(subject: Subject, texts: Iterable[str]) -> str | None:
    """Return the first text that the two sides encode differently, or None."""
    for text in texts:
        actual, expected = encode_both(subject, text)
        if actual != expected:
            return text
    return None


def require_parsing(subject: Subject) -> None:
    """Require a reference that can recognize special tokens in a text.

    Raises:
        NotEvaluatedError: If it cannot.
    """
    if not subject.expected.parses_special:
        raise NotEvaluatedError(f"{subject.expected.name} does not recognize special tokens in a text")


def ids_around(subject: Subject) -> tuple[tuple[list[int], list[int]], tuple[list[int], list[int]]]:
    """Return the ids that each side adds before and after a text: ours first, then the reference's.

    Raises:
        NotEvaluatedError: If the ids that one side adds cannot be observed.
    """
    if not subject.expected.adds_special:
        raise NotEvaluatedError(f"the reference ({subject.expected.name}) does not know which tokens to add to a text")
    sides = (subject.encoder.encode, subject.expected.encode)
    try:
        actual, expected = (
            _around(
                encode("a", add_special=True, parse_special=True), encode("a", add_special=False, parse_special=True)
            )
            for encode in sides
        )
    except EncodeError as error:
        raise NotEvaluatedError(f"a text cannot be encoded with special tokens around it: {error}") from error
    return actual, expected


def _around(whole: list[int], inner: list[int]) -> tuple[list[int], list[int]]:
    for start in range(len(whole) - len(inner) + 1):
        if whole[start : start + len(inner)] == inner:
            return whole[:start], whole[start + len(inner) :]
    raise NotEvaluatedError("a text is encoded differently with special tokens around it than without")
