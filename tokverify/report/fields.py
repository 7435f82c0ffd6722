"""Types of report fields that are narrower than Python's own; the codec enforces them when it reads a file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self, TypeAlias

import msgspec


class MeaningEnum(StrEnum):
    """The values of a field, each with a clause that says what it means."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:
        """Make a member that equals its value, whatever it means."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member


Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
"""A number of things, 0 or more."""

Digest: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]*$")]
"""A hash in lower-case hexadecimal."""

RuleCode: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[A-Z]+[0-9]+$")]
"""The code of a rule, such as `TV101`."""

RuleName: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
"""The name of a rule, such as `byte-token`."""
