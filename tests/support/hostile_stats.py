"""Statistics with every kind of content, in which names and texts are attacks."""

from dataclasses import replace

from support.fake_tokenizer import FakeTokenizer
from support.paths import ROOT
from tokverify.report.stats import Stats
from tokverify.stats.measure import measure
from tokverify.stats.subject import Subject

LETTERS = "abcdefghijklmnopqrstuvwxyz \n0123456789"
HOSTILE = "[red]\x1bone\u202e|`<script>"
_README = ROOT / "README.md"


def hostile_stats(hostile: str = HOSTILE) -> Stats:
    """Measure the samples, and add what is reported for files only."""
    full = FakeTokenizer(*dict.fromkeys(LETTERS + _README.read_text("utf-8")), hostile)
    subjects = [
        Subject(hostile, hostile, full, unknown=frozenset([0]), fingerprint="ab" * 32, versions={"x": hostile}),
        Subject("two", "two.gguf", FakeTokenizer(*LETTERS, special_ids={"bos": 0}), sha256="cd" * 32),
    ]
    stats = measure(subjects)
    first = stats.tokenizers[0]
    probe = replace(first.probe, long_number_tokens=1234, language_tokens={"English": 7, "Thai": 22})
    counted = replace(first, probe=probe, unused=3, unused_examples=first.longest, excluded={hostile: 1})
    return replace(stats, tokenizers=(counted, stats.tokenizers[1]), files=(hostile,), options={"model": hostile})
