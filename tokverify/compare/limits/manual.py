"""Write the manuals of all limits as Markdown: `python -m tokverify.compare.limits.manual > docs/limits-of-gguf.md`."""

from __future__ import annotations

import sys
import textwrap

from tokverify.compare.limits import LIMITS
from tokverify.compare.limits.limit import Limit

_WIDTH = 120
_INTRODUCTION = """\
# Limits of GGUF and llama.cpp

Generated from the docstrings of the limits by `python -m tokverify.compare.limits.manual > docs/limits-of-gguf.md`;
edit those instead.

A correct GGUF file can encode texts differently from the tokenizer that it was made from, because llama.cpp overrides,
lacks or cannot express something (origin `runtime`), or because its converter writes something on purpose (origin
`convention`). `tokverify run` names the limit that explains such a case. It does so only if an encoder that
deviates from llama.cpp in exactly this way, and otherwise uses the file under test, gives exactly the ids of the
reference. A case may need several limits; each that is named is necessary.

If limits explain all cases that differ, the verdict is `faithful`, and the exit code is 0; with `--strict` (or
`strict = true` in the configuration), or if the severity of a limit reaches `--fail-on`, it is 1. A case that expects
certain ids itself is never explained.

| code | name | origin | severity | |
|---|---|---|---|---|
"""


def write_manual() -> str:
    """Write the page."""
    rows = "".join(
        f"| [{limit.code}](#{limit.code.lower()}-{limit.name}) | {limit.name} | {limit.origin} | {limit.severity.name} "
        f"| {limit.summary} |\n"
        for limit in LIMITS.values()
    )
    return _INTRODUCTION + rows + "".join(map(_write_limit, LIMITS.values()))


def _write_limit(limit: Limit) -> str:
    sections = "".join(f"\n{_wrap(f'**{heading}.** {text}')}\n" for heading, text in limit.manual.items())
    return f"\n## {limit.code} {limit.name}\n\n{_wrap(limit.summary)}\n{sections}"


def _wrap(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    sys.stdout.write(write_manual())
