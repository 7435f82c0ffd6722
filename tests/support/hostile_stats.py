"""Statistics with every kind of content, in which names and texts are attacks."""

from dataclasses import replace
from functools import cache

from support.fake_tokenizer import FakeTokenizer
from support.paths import ROOT
from tokverify.explain.stats.measure import StatsSubject, measure
from tokverify.report.stats import StatsReport

LETTERS = "abcdefghijklmnopqrstuvwxyz \n0123456789"
HOSTILE = "[red]\x1bone\u202e|`<script>"
_README = ROOT / "README.md"


@cache
def hostile_stats(hostile: str = HOSTILE) -> StatsReport:
    """Measure the samples, and add the results that only files have."""
    full = FakeTokenizer(*dict.fromkeys(LETTERS + _README.read_text("utf-8")), hostile)
    subjects = [
        StatsSubject(hostile, hostile, full, unknown=frozenset([0]), fingerprint="ab" * 32, versions={"x": hostile}),
        StatsSubject("two", "two.gguf", FakeTokenizer(*LETTERS, special_ids={"bos": 0}), sha256="cd" * 32),
    ]
    stats = measure(subjects)
    first = stats.tokenizers[0]
    probe = replace(
        first.probe,
        tokens_per_long_number=1.5,
        language_tokens={"English": 7, "Thai": 22},
        against_english={"Thai": 22 / 7},
        mean_against_english=22 / 7,
    )
    counted = replace(first, probe=probe, unused=3, unused_examples=first.longest, excluded={hostile: 1})
    return replace(
        stats,
        tokenizers=(counted, stats.tokenizers[1]),
        files=(hostile,),
        remarks=(hostile, *stats.remarks),
        options={"model": hostile},
    )
