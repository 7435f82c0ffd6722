"""What the two sides really do, for rules that would raise a false alarm by the text of a file alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from tokverify.audit.subject import NotEvaluatedError
from tokverify.engine.unicode_version import has_unassigned
from tokverify.errors import EncodeError

if TYPE_CHECKING:
    from tokverify.audit.subject import Subject

_LONGEST = 400
"""Characters; longer cases are about time, and cut like shorter ones."""


@cache
def probes() -> tuple[str, ...]:
    """Return the texts that rules try: those of the shipped cases, and those that tell pre-tokenizers apart.

    Texts with characters that llama.cpp's Unicode tables are too old to know are left out: they come out otherwise for
    every model.
    """
    from tokverify.cases.loading import load_cases
    from tokverify.engine.pre_search import PROBES

    texts = (case.text for case in load_cases() if 0 < len(case.text) <= _LONGEST and not has_unassigned(case.text))
    return tuple(dict.fromkeys([*PROBES, *texts]))


def encode_both(subject: Subject, text: str) -> tuple[list[int], list[int]]:
    """Return the actual and the expected ids; both empty where one side cannot encode the text."""
    parse_special = subject.expected.parses_special
    try:
        actual = subject.encoder.encode(text, parse_special=parse_special)
        return actual, subject.expected.encode(text, add_special=False, parse_special=parse_special)
    except EncodeError:
        return [], []


def differing(subject: Subject, texts: Iterable[str]) -> str | None:
    """Return the first text that the two sides encode otherwise, or None."""
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
    """Return the ids before and after a text on our side, and on the reference's.

    Raises:
        NotEvaluatedError: If one side does not tell.
    """
    if not subject.expected.adds_special:
        raise NotEvaluatedError(f"the reference ({subject.expected.name}) does not say which tokens go around a text")
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
    raise NotEvaluatedError("a text with special tokens around it is encoded otherwise than without")
