"""The one-line summary of statistics."""

from __future__ import annotations

from tokverify.report.stats import StatsReport, comparable_texts, tokens_per_byte
from tokverify.text.wording import plural


def verdict(stats: StatsReport) -> str:
    """Summarize, such as `18 texts, 10,374 bytes: 0.476 tokens per byte with gpt-2, 0.269 with gemma-3`."""
    texts = comparable_texts(stats)
    size = sum(text.bytes for text in texts)
    parts = [
        f"{plural(len(texts), 'text')}, {plural(size, 'byte')}:"
        f" {', '.join(_describe_rates(stats)) or 'no text that all tokenizers can encode'}"
    ]
    parts += [
        f"{measured.name} cannot encode {plural(len(measured.failures), 'text')}"
        for measured in stats.tokenizers
        if measured.failures
    ]
    return "; ".join(parts)


def _describe_rates(stats: StatsReport) -> list[str]:
    rates = []
    for index, measured in enumerate(stats.tokenizers):
        rate = tokens_per_byte(stats, index)
        if rate is not None:
            rates.append(f"{rate:.3f} {'' if index else 'tokens per byte '}with {measured.name}")
    return rates
