"""`run` says that the chat template is not the reference's, which fails nothing by default."""

from dataclasses import replace

import pytest

from support.spec_maker import bpe_spec
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.engine.encoder import Encoder
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Aspect

PLAIN = bpe_spec(["a b"])
CASES = [Case(id="1", suite="s", text="ab")]


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        ("{{ messages }}", "{{  messages }}", None),
        ("{{ messages }}", "{{ message }}", 'first in line 1: "{{ messages }}", but'),
        (None, "{{ messages }}", "the reference has a chat template, but the file has none"),
        ("{{ messages }}", None, None),
    ],
)
def test_another_template_is_shown(ours: str | None, theirs: str | None, words: str | None):
    actual, expected = (Encoder(replace(PLAIN, chat_template=template)) for template in (ours, theirs))
    report = verify_tokenizers(actual, expected, CASES)
    found = [each for each in report.differences if each.aspect is Aspect.TEMPLATE]
    assert [each.severity for each in found] == ([WARNING] if words else [])
    assert not words or words in found[0].message
    assert report.exit_code == 0


@pytest.mark.parametrize(
    ("name", "theirs", "is_shown"),
    [
        ("tool_use", {"tool_use": "{{ tools }}"}, True),
        ("tool_use", {"tool_use": "{{ messages }}"}, False),
        ("tool_use", {}, False),
        # llama.cpp reads the unnamed one, but other programs look for a name.
        ("default", {}, True),
    ],
)
def test_another_named_template_is_shown(name: str, theirs: dict[str, str], is_shown: bool):
    common = replace(PLAIN, chat_template="{{ message }}")
    actual, expected = (
        Encoder(replace(common, named_chat_templates=named)) for named in ({name: "{{ messages }}"}, theirs)
    )
    assert actual.spec.templates["default"] == "{{ message }}"
    found = [each for each in verify_tokenizers(actual, expected, CASES).differences if each.aspect is Aspect.TEMPLATE]
    assert [each.keys for each in found] == ([(f"tokenizer.chat_template.{name}",)] if is_shown else [])
    assert all(each.message.startswith(f"tokenizer.chat_template.{name}: the chat template differs") for each in found)
