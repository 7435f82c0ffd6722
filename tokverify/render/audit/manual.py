"""The manual of the rules, as Markdown made of their docstrings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.audit.rule import Rule

SECTIONS = ("What it does", "Why it is bad", "Example", "How to repair", "Threads")
"""What every rule's docstring tells, after its first line."""

_WIDTH = 120
_HEADING = re.compile(rf"^({'|'.join(SECTIONS)}):\n", re.MULTILINE)
_INTRODUCTION = """\
# The rules of `tokverify audit`

Made from the docstrings of the rules by `tokverify audit --explain all > docs/rules.md`; change those, not this file.

Codes from TV100 on need only the GGUF file, codes from TV200 on its reference too. The severity is the worst that a
rule gives. An error makes some texts come out wrong or keeps the file from loading, a warning may, and a hint (INFO) is
good to know. In command lines, MODEL is the file and FIXED the name of the repaired copy.

A finding that is known and accepted goes into a file for `--waivers`, with a reason. What a waiver leaves out accepts
anything; one that accepts nothing any more is reported.

```yaml
- code: TV103
  reason: an HTML tag in this vocabulary, and never written by the model
  model: gemma-3*              # the file's name without directory and suffix, or its general.name
  fingerprint: "adc2dee6"      # or its beginning, as `tokverify inspect` shows it
  ids: [212, 300-310]          # all ids of the finding must be among these
  message: "*declared USER_DEFINED*"
```

| code | name | severity | |
|---|---|---|---|
"""


def explain(rule: Rule) -> str:
    """Write the manual of one rule."""
    summary, parts = manual_parts(rule)
    text = f"## {rule.code} {rule.name} ({rule.severity.name})\n\n{summary}\n"
    for heading, body in parts:
        text += f"\n{_paragraph(f'**{heading}.** {body}')}\n"
    return text


def manual_parts(rule: Rule) -> tuple[str, list[tuple[str, str]]]:
    """Return the summary of a rule, and what follows under each heading, with code between backticks."""
    summary, *parts = _HEADING.split(rule.manual)
    bodies = (" ".join(body.split()) for body in parts[1::2])
    return summary.strip(), list(zip(parts[::2], bodies, strict=True))


def _paragraph(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), _WIDTH, break_long_words=False, break_on_hyphens=False)


def explain_all(rules: Iterable[Rule]) -> str:
    """Write the manual of all rules, with a table of them."""
    rules = list(rules)
    rows = "".join(
        f"| [{rule.code}](#{rule.code.lower()}-{rule.name}-{rule.severity.name.lower()}) | {rule.name} "
        f"| {rule.severity.name} | {rule.manual.partition(chr(10))[0]} |\n"
        for rule in rules
    )
    return _INTRODUCTION + rows + "".join(f"\n{explain(rule)}" for rule in rules)
