"""The manual: complete for every rule, and docs/rules.md made of it."""

import pytest

from support.paths import ROOT
from tokverify.audit.rules import RULES
from tokverify.render.audit.manual import SECTIONS, explain, explain_all

DOCS = ROOT / "docs" / "rules.md"


@pytest.mark.parametrize("code", RULES)
def test_every_rule_has_all_sections(code):
    text = explain(RULES[code])
    for section in SECTIONS:
        assert text.count(f"\n**{section}.** ") == 1
    assert text.startswith(f"## {code} ")


def test_threads_are_repositories_with_numbers():
    import re

    for rule in RULES.values():
        threads = explain(rule).partition("**Threads.** ")[2].split(",")
        assert all(re.fullmatch(r"\s*[\w.-]+/[\w.-]+#[0-9]+\s*", thread) for thread in threads), rule.code


def test_document_is_up_to_date():
    """If this fails: `tokverify audit --explain all > docs/rules.md`."""
    assert DOCS.read_text("utf-8") == explain_all(RULES.values())
