"""Types of report fields that are narrower than Python's own; the codec enforces them when it reads a file."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
"""A number of things, 0 or more."""

Digest: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]*$")]
"""A hash in lower-case hexadecimal."""

RuleCode: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[A-Z]+[0-9]+$")]
"""The code of a rule, such as `TV101`."""

RuleName: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
"""The name of a rule, such as `byte-token`."""
