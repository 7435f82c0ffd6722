"""What looks like a special token, and what of it a template writes."""

import pytest

from tokverify.compare.marker import read_template
from tokverify.texts.token_text import is_marker


@pytest.mark.parametrize(
    "text",
    ["<|im_start|>", "<start_of_turn>", "<｜User｜>", "<|turn>", "<turn|>", "[CLS]", "</s>", "<extra_id_5>", "[e~["],
)
def test_markers(text):
    assert is_marker(text)


@pytest.mark.parametrize("text", ["<div>", "[x]", "[INST]", "<tools>", "a<|b|>", "", "<||>", "<|a b|>", "</table>"])
def test_plain_texts(text):
    assert not is_marker(text)


def test_template():
    found = read_template("{# <|no|> #}{{ '<|im_start|>user' }}[INST]<tools>{{ x }}<|im_end|>{{ '<|im_start|>' }}</s>")
    assert found.strong == ("<|im_start|>", "<|im_end|>", "</s>")
    assert found.weak == ("[INST]", "<tools>")
    assert found.turn_ends == ("<|im_end|>", "</s>")


@pytest.mark.parametrize(
    ("template", "begins"),
    [
        ("{{ bos_token }}{{ x }}", True),
        ("{{- bos_token + x }}", True),
        ("{% set a = 1 %}\n {%- if b -%}{{ '<s>' + x }}", True),
        ('{{ "<s>[INST]" }}', True),
        ("<s>{{ x }}", True),
        ("{{ x }}{{ bos_token }}", False),
        ("{{ bos_tokens }}", False),
        ("", False),
    ],
)
def test_the_ids_begin_with_bos(template, begins):
    assert read_template(template).count_leading("<s>") == int(begins)


@pytest.mark.parametrize("template", ["{%" * 50_000, "<|" * 50_000, "{#" * 50_000, "<" * 100_000, "{{ '" * 50_000])
def test_hostile_templates_take_no_time(template):
    assert read_template(template).count_leading("<s>") == 0
