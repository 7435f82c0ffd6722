"""The manual of the limits: complete, and the source of docs/limits-of-gguf.md."""

from pathlib import Path

from support.paths import ROOT
from tokverify.compare.limits import LIMITS
from tokverify.compare.limits.limit import SECTIONS
from tokverify.compare.limits.manual import write_manual
from tokverify.report.finding import ERROR
from tokverify.report.tokenizer_difference import Origin

DOCS: Path = ROOT / "docs" / "limits-of-gguf.md"


def test_every_limit_has_a_complete_manual():
    for limit in LIMITS.values():
        assert limit.summary.endswith(".")
        assert tuple(limit.manual) == SECTIONS
        assert all(limit.manual.values())


def test_no_limit_is_an_error_and_each_has_a_proven_origin():
    assert all(limit.severity < ERROR for limit in LIMITS.values())
    assert {limit.origin for limit in LIMITS.values()} == {Origin.RUNTIME, Origin.CONVENTION}


def test_the_codes_are_in_order():
    assert list(LIMITS) == [f"TL{number:03}" for number in range(1, len(LIMITS) + 1)]


def test_the_page_is_up_to_date():
    """If this fails: `python -m tokverify.compare.limits.manual > docs/limits-of-gguf.md`."""
    assert DOCS.read_text("utf-8") == write_manual()
