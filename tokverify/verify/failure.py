"""Failure: what it means that a side of a comparison cannot encode a text.

If one side cannot, that is an error. What neither can encode shows no difference between them, and a side that is not
made for a text has nothing to say of it: such a text is skipped, and the reasons are told.
"""

from __future__ import annotations

from collections.abc import Sequence

from tokverify.errors import EncodeError, UnsupportedError

FAILURES = (EncodeError, UnsupportedError)
"""What a tokenizer may raise over one text."""

Failure = EncodeError | UnsupportedError


def blame(role: str, name: str, failure: Failure) -> Failure:
    """Put the side that failed in front of the message."""
    return type(failure)(f"{role} ({name}): {failure}")


def joined(failures: Sequence[Failure]) -> Failure:
    """Return the failure that those of one or both sides come to: an EncodeError, or an UnsupportedError to skip."""
    if len(failures) == 1:
        return failures[0]
    return UnsupportedError(f"neither side can encode this text: {'; '.join(map(str, failures))}")
