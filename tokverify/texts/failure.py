"""Failure: how a comparison treats a text that one side cannot encode.

If one side cannot, that is an error. A text that neither can encode shows no difference, and a side that does not
support a text proves nothing about it: such a text is skipped with the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence

from tokverify.errors import EncodeError, UnsupportedError

FAILURES = (EncodeError, UnsupportedError)
"""What a tokenizer may raise for one text."""

Failure = EncodeError | UnsupportedError


def name_side(side: str, failure: Failure) -> Failure:
    """Return a failure whose message begins with the side."""
    return type(failure)(f"{side}: {failure}")


def combine(failures: Sequence[Failure]) -> Failure:
    """Combine the failures of one or both sides; the text is skipped if the result is an UnsupportedError."""
    if len(failures) == 1:
        return failures[0]
    return UnsupportedError(f"neither side can encode this text: {'; '.join(map(str, failures))}")


class NotComparedError(Exception):
    """Something about two tokenizers cannot be compared; the message says what, and why."""
