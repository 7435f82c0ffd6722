"""What a chat template proves to be no end of a turn."""

from dataclasses import replace

import pytest

from support.rule_maker import CHATML
from support.selection import thinned
from support.spec_maker import CONTROL, bpe_spec
from tokverify.compare.inner_end import InnerEnd, find_inner_ends
from tokverify.engine.settings import resolve

LLAMA = (
    "{% for message in messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'"
    " + message['content'] | trim + '<|eot_id|>' %}{{ content }}{% endfor %}"
)
QWEN = CHATML + (
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- if x %}{{- '<think>\\n\\n</think>\\n\\n' }}"
)
HARMONY = "{{- '<|start|>assistant<|channel|>final<|inner|>' + message.content + '<|done|>' }}"
GLM = (
    "{% for m in messages %}{% if m.role == 'user' %}{{ '<|user|>' + m.content }}{% elif m.role == 'assistant' %}"
    "{{ '<|assistant|>' + m.content }}{% else %}<|observation|>{{ m.content }}{% endif %}{% endfor %}<|assistant|>"
)
IN_LINE = "{{ '<|user|>' if message.role == 'user' else '<|bot|>' }}{{ message.content }}"
SEPARATED = "<|sep|>{% endfor %}{% if add_generation_prompt %}<|sep|>assistant{% endif %}"
DEFAULT = "<|system|>You are a helpful assistant<|sep|>{{ message.content }}<|sep|>"


@pytest.mark.parametrize(
    ("text", "template", "expected"),
    [
        ("<|end_header_id|>", LLAMA, True),
        ("<|start_header_id|>", LLAMA, True),
        ("<|eot_id|>", LLAMA, False),
        ("<|im_start|>", CHATML, True),
        ("<think>", QWEN, True),
        ("</think>", QWEN, True),
        ("<|inner|>", HARMONY, True),
        ("<|channel|>", "", True),  # llama.cpp knows it as a part of an answer
        ("<|done|>", HARMONY, False),
        # These models end an answer with the marker of the next message.
        ("<|user|>", GLM, False),
        ("<|observation|>", GLM, False),
        ("<|assistant|>", GLM, True),
        ("<｜Assistant｜>", "{{ content + '<｜Assistant｜>' }}", True),
        ("<|assistant_end|>", "{{ '<|assistant|>' + content + '<|assistant_end|>' }}", False),
        ("<|user|>", IN_LINE, False),
        ("<|sep|>", DEFAULT, False),
        # Nothing is written between the content and the token.
        ("<|sep|>", f"{{{{ m.content }}}}{{% generation %}}{{% endgeneration %}}{SEPARATED}", False),
        ("<|sep|>", f"{{{{ m.content }}}}{{% if x %}}{{% set y = 1 %}}{{% endif %}}{SEPARATED}", False),
        ("<|sep|>", f"{{{{ m.content }}}}{{{{ 'x' }}}}{SEPARATED}", True),
        ("<|my_end|>", "{{ '<|im_start|>assistant<|my_end|>' }}", False),
        ("<|sep|>", "{{ '<|im_start|>assistant' }}{% else %}{{ '<|sep|>' }}", False),
        ("<|sep|>", "{{ '<|im_start|>assistant\\n<|im_end|>\\n<|sep|>' }}", False),
        ("<|sep|>", "{{ '<|sep|>", False),
        ("<think>", None, False),
    ],
)
@pytest.mark.parametrize("role", ["eot", "eom"])
def test_a_token_in_the_header_of_a_message_is_no_end(role: str, text: str, template: str | None, expected: bool):
    settings = resolve(bpe_spec((), {text: CONTROL}, special_ids={role: 256}))
    assert [(end.role, end.id) for end in find_inner_ends(settings, template)] == ([(role, 256)] if expected else [])


def test_a_token_at_which_the_reference_ends_a_generation_is_an_end():
    settings = resolve(bpe_spec((), {"<think>": CONTROL}, special_ids={"eot": 256}))
    assert find_inner_ends(settings, QWEN)
    assert find_inner_ends(settings, QWEN, frozenset({256})) == []


def test_a_token_that_also_ends_an_answer_before_a_role_is_an_end():
    settings = resolve(bpe_spec((), {"<|eou|>": CONTROL}, special_ids={"eot": 256}))
    users = "{% if m.role == 'user' %}user: {{ m.content }}<|eou|>assistant: {% else %}"
    assert find_inner_ends(settings, f"{users}{{{{ m.content }}}}<|eou|>{{% endif %}}") == []
    assert find_inner_ends(settings, f"{users}{{{{ m.content }}}}{{% endif %}}") == []


def test_the_end_of_the_turn_is_named_if_no_generation_ends_there():
    spec = bpe_spec((), {"<think>": CONTROL, "<|end_turn|>": CONTROL, "<|im_end|>": CONTROL}, special_ids={"eot": 256})
    template = "{{ '<|im_start|>assistant<think>' + message.content + '<|end_turn|>' }}"
    assert find_inner_ends(resolve(spec), template) == [InnerEnd("eot", 256, 257)]
    other_end = resolve(replace(spec, special_ids={"eot": 256, "eos": 257}))
    assert find_inner_ends(other_end, template) == [InnerEnd("eot", 256, None)]
    # llama.cpp ends a generation at <|im_end|> anyway.
    assert find_inner_ends(resolve(spec), QWEN) == [InnerEnd("eot", 256, None)]


@pytest.mark.parametrize(
    "part", ["{{'\\'", "{{", "{%", "'", '"\\', "[ '", "{{ role | ", "<think>x", "{{ ((", "{{ '\\\\' ~ "]
)
@pytest.mark.parametrize("count", thinned(2, [1_000, 50_000]))
def test_a_hostile_template_proves_nothing(part: str, count: int):
    settings = resolve(bpe_spec((), {"<think>": CONTROL}, special_ids={"eot": 256}))
    assert find_inner_ends(settings, part * count) == []
    assert find_inner_ends(settings, "{{ " + part * count) == []
