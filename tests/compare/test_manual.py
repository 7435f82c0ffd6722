"""The manual: complete for every rule, and the source of docs/rules.md."""

import pytest

from support.paths import ROOT
from tokverify.compare.checks import RULES
from tokverify.compare.rule import SECTIONS
from tokverify.render.audit import write_manual, write_rule

DOCS = ROOT / "docs" / "rules.md"


@pytest.mark.parametrize("code", RULES)
def test_every_rule_has_all_sections(code):
    text = write_rule(RULES[code].manual)
    for section in SECTIONS:
        assert text.count(f"\n**{section}.** ") == 1
    assert text.startswith(f"## {code} ")


def test_threads_are_repositories_with_numbers():
    import re

    for rule in RULES.values():
        threads = write_rule(rule.manual).partition("**Threads.** ")[2].split(",")
        assert all(re.fullmatch(r"\s*[\w.-]+/[\w.-]+#[0-9]+\s*", thread) for thread in threads), rule.code


def test_the_page_is_up_to_date():
    """If this fails: `tokverify audit --explain all > docs/rules.md`."""
    assert DOCS.read_text("utf-8") == write_manual([rule.manual for rule in RULES.values()])
