"""Which texts llama.cpp's converter types CONTROL."""

import pytest

from tokverify.engine.special_text import is_converted_control


@pytest.mark.parametrize("text", ["<|im_end|>", "<｜User｜>", "<unused0>", "<unusedX>", "<pad>", "<mask>", "[@BOS@]"])
def test_the_converter_types_what_looks_special(text: str):
    assert is_converted_control(text)


@pytest.mark.parametrize("text", ["<|half>", "<half|>", "<think>", "</s>", "[PAD]", "<start_of_turn>", "a<|b|>", ""])
def test_the_converter_leaves_other_texts(text: str):
    assert not is_converted_control(text)
