"""Attributes of tokens, checked in the settings of a whole tokenizer."""

from dataclasses import replace

import pytest

from support.spec_maker import BYTE, CONTROL, bpe_spec
from tokverify.engine.attribute import Attribute
from tokverify.engine.family import Settings
from tokverify.engine.settings import resolve
from tokverify.engine.special_text import ALWAYS_SHOWN_TEXTS, EOG_TEXTS, FIM_TEXTS
from tokverify.errors import BrokenFileError
from tokverify.spec import TokenizerSpec

NORMAL = 1


def resolve_texts(*texts: str, type: int = NORMAL, **fields: object) -> Settings:
    """The settings of a byte-level tokenizer that has these tokens, all of one type."""
    return resolve(bpe_spec([], dict.fromkeys(texts, type), **fields))


def attribute(settings: Settings, text: str) -> Attribute:
    return Attribute(settings.attributes[settings.ids[text]])


def test_types_become_attributes():
    tokens = [f"t{type}" for type in range(9)]
    spec = TokenizerSpec(model="llama", tokens=tokens, types=range(9), special_ids={})
    names = "UNDEFINED NORMAL UNKNOWN CONTROL USER_DEFINED UNUSED BYTE UNDEFINED UNDEFINED"
    spec = replace(spec, tokens=[*tokens[:6], "<0x00>", *tokens[7:]])
    assert [Attribute(attribute).name or "UNDEFINED" for attribute in resolve(spec).attributes] == names.split()


def test_without_types_all_tokens_are_normal():
    settings = resolve(TokenizerSpec(model="llama", tokens=["<unk>", "<s>", "a"]))
    assert list(settings.attributes) == [Attribute.NORMAL] * 3
    assert settings.added_tokens == ()


@pytest.mark.parametrize("text", EOG_TEXTS)
def test_an_end_of_generation_text_is_always_a_control_token(text: str):
    settings = resolve_texts(text)
    assert attribute(settings, text) == Attribute.NORMAL | Attribute.CONTROL
    assert settings.ids[text] in settings.eog_ids
    assert [(token.text, token.special) for token in settings.added_tokens] == [(text, True)]
    (found,) = [override for override in settings.overrides if "type of" in override.setting]
    assert (found.declared, found.effective) == ("NORMAL", "NORMAL|CONTROL")


def test_a_control_token_is_not_changed():
    settings = resolve_texts("<|im_end|>", type=CONTROL)
    assert attribute(settings, "<|im_end|>") == Attribute.CONTROL
    assert not [override for override in settings.overrides if "type of" in override.setting]


@pytest.mark.parametrize("text", ALWAYS_SHOWN_TEXTS)
@pytest.mark.parametrize("type", [NORMAL, CONTROL])
def test_some_texts_are_always_user_defined(text: str, type: int):
    settings = resolve_texts(text, type=type)
    assert attribute(settings, text) == Attribute.USER_DEFINED
    assert [token.special for token in settings.added_tokens] == [False]


@pytest.mark.parametrize(("role", "texts"), FIM_TEXTS.items())
def test_roles_are_found_by_text(role: str, texts: tuple[str, ...]):
    for text in texts:
        settings = resolve_texts(text)
        assert settings.special_ids[role] == settings.ids[text]
        assert attribute(settings, text) & Attribute.CONTROL
        assert (settings.ids[text] in settings.eog_ids) == (role in {"fim_pad", "fim_rep", "fim_sep"})


def test_a_declared_role_does_not_affect_look_alikes():
    settings = resolve_texts("<PRE>", special_ids={"fim_pre": 3})
    assert settings.special_ids["fim_pre"] == 3
    assert attribute(settings, "<PRE>") == Attribute.NORMAL


def test_the_first_of_two_look_alikes_has_the_role():
    for first, second in (("<fim_prefix>", "<PRE>"), ("<PRE>", "<fim_prefix>")):
        settings = resolve_texts(first, second)
        assert settings.special_ids["fim_pre"] == settings.ids[first]
        assert attribute(settings, second) == Attribute.NORMAL


def test_the_declared_eos_ends_a_generation_whatever_its_text():
    assert resolve(bpe_spec([], special_ids={"eos": 7, "bos": 3, "eot": 8, "eom": 9})).eog_ids == {7, 8, 9}


@pytest.mark.parametrize(
    "texts",
    [("<|return|>", "<|call|>"), ("<|return|>", "<|calls|>"), ("<|flush|>", "<|call|>"), ("<|flush|>", "<|calls|>")],
)
def test_the_end_of_a_message_ends_no_generation_beside_such_tokens(texts: tuple[str, ...]):
    settings = resolve_texts("<|end|>", *texts, special_ids={"eos": 0})
    assert attribute(settings, "<|end|>") == Attribute.USER_DEFINED
    assert settings.eog_ids == {0, *(settings.ids[text] for text in texts)}


@pytest.mark.parametrize("texts", [("<|return|>", "<|flush|>"), ("<|call|>", "<|calls|>"), ("<|return|>",), ()])
def test_the_end_of_a_message_ends_a_generation_beside_other_tokens(texts: tuple[str, ...]):
    settings = resolve_texts("<|end|>", *texts)
    assert settings.ids["<|end|>"] in settings.eog_ids
    assert attribute(settings, "<|end|>") & Attribute.CONTROL


def test_a_closing_s_is_ordinary_in_presence_of_a_tool_response():
    settings = resolve_texts("</s>", "<|tool_response>", type=CONTROL)
    assert attribute(settings, "</s>") == Attribute.NORMAL
    assert settings.ids["</s>"] not in settings.eog_ids
    assert [token.text for token in settings.added_tokens] == ["<|tool_response>"]


def test_a_closing_s_is_ordinary_in_plamo_where_eos_is_another_token():
    texts = ("</s>", "<|plamo:eos|>")
    declared = resolve_texts(*texts, special_ids={"eos": 257})
    assert declared.pieces[257] == "<|plamo:eos|>"
    assert attribute(declared, "</s>") == Attribute.NORMAL
    assert attribute(resolve_texts(*texts), "</s>") & Attribute.CONTROL


def test_a_byte_token_too_short_for_a_number_is_refused():
    with pytest.raises(BrokenFileError, match="token 2 'ab' is typed BYTE"):
        resolve(TokenizerSpec(model="llama", tokens=["a", "abc", "ab"], types=[1, BYTE, BYTE]))
    assert resolve(TokenizerSpec(model="llama", tokens=["▁"], types=[BYTE])).attributes == bytes([Attribute.BYTE])
