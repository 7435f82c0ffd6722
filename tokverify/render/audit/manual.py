"""Write the manuals of rules as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.report.audit import RuleManual

_WIDTH = 120
_INTRODUCTION = """\
# The static rules

Generated from the docstrings of the rules by `tokverify run --explain all > docs/rules.md`; edit those instead.

Rules from TV100 on need only the GGUF file; rules from TV200 on also need its reference. The severity is the highest
that a rule reports. An error means that some texts are encoded incorrectly or that the file cannot be loaded; a warning
means that this may happen; INFO is for your information. In command lines, MODEL is the file and FIXED the name of the
repaired copy.

List findings that are known and accepted in a file for `--waivers`, each with a reason. A condition that a waiver omits
is always met. Waivers that no longer accept anything are reported.

```yaml
- code: TV103
  reason: an HTML tag in this vocabulary, never written by the model
  model: gemma-3*              # the file's name without directory and suffix, or its general.name
  fingerprint: "adc2dee6"      # or its beginning, as `tokverify inspect` shows it
  ids: [212, 300-310]          # must contain all ids of the finding
  message: "*declared USER_DEFINED*"
```

| code | name | severity | |
|---|---|---|---|
"""


def write_rule(rule: RuleManual) -> str:
    """Write the manual of one rule."""
    text = f"## {rule.code} {rule.name} ({rule.severity.name})\n\n{rule.summary}\n"
    for section in rule.sections:
        text += f"\n{_wrap(f'**{section.heading}.** {section.text}')}\n"
    return text


def _wrap(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def write_manual(rules: Sequence[RuleManual]) -> str:
    """Write the manual of all rules, with a table of contents."""
    rows = "".join(
        f"| [{rule.code}](#{rule.code.lower()}-{rule.name}-{rule.severity.name.lower()}) | {rule.name} "
        f"| {rule.severity.name} | {first_line(rule)} |\n"
        for rule in rules
    )
    return _INTRODUCTION + rows + "".join(f"\n{write_rule(rule)}" for rule in rules)


def first_line(rule: RuleManual) -> str:
    """Return the first line of a rule's summary."""
    return rule.summary.partition("\n")[0]
