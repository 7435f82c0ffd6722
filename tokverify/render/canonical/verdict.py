"""The one-line summary of `tokverify canonical`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.text.wording import percentage, plural

if TYPE_CHECKING:
    from tokverify.report.canonical import CanonicalReport


def verdict(checked: CanonicalReport) -> str:
    """Sum up a report, such as `1,200 sequences: 36 deviate (3.00%), 0.40% of the tokens`."""
    if not checked.tokens:
        return f"{plural(checked.sequences, 'sequence')}: no ids were compared"
    count = plural(checked.sequences, "sequence")
    if not checked.deviating:
        return f"{count}, {plural(checked.tokens, 'token')}: all are the encoding of their own text"
    verb = "deviates" if checked.deviating == 1 else "deviate"
    share = percentage(checked.deviating, checked.sequences)
    tokens = percentage(checked.deviating_tokens, checked.tokens)
    return f"{count}: {checked.deviating:,} {verb} ({share}), with {tokens} of {plural(checked.tokens, 'token')}"
