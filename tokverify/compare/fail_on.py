"""Parse what makes a run fail besides failing cases: `--fail-on`, or `fail_on` in a configuration."""

from __future__ import annotations

from collections.abc import Iterable

from tokverify.errors import TokverifyError
from tokverify.report.tokenizer_difference import FAIL_ON_NAMES
from tokverify.text.wording import suggest_name


def parse_fail_on(values: Iterable[str]) -> tuple[str, ...]:
    """Return the names in comma-separated lists, without duplicates; `none` alone stands for no name.

    Raises:
        TokverifyError: If a name is unknown, or `none` is not the only one.
    """
    names = list(dict.fromkeys(name.strip().lower() for value in values for name in value.split(",") if name.strip()))
    for name in names:
        if name not in FAIL_ON_NAMES:
            raise TokverifyError(f"{name!r} is neither a severity nor an aspect; {suggest_name(name, FAIL_ON_NAMES)}")
    if "none" not in names:
        return tuple(names)
    if len(names) > 1:
        raise TokverifyError("`none` must be the only name; remove it or the others")
    return ()
