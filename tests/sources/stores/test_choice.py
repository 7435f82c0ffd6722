import pytest

from tokverify.sources.stores.choice import has_quantization, is_later_part, model_name, without_part


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("gpt2", "gpt2"),
        ("gpt2-Q4_K_M", "gpt2"),
        ("gpt2-fp16", "gpt2"),
        ("gpt2.i1-Q4_K_M", "gpt2"),
        ("gpt2-q4_1-imatrix", "gpt2"),
        ("gpt2-Q2_K-XL", "gpt2"),
        ("gpt2-Q4_K_M-fixed", "gpt2"),
        ("gpt2-fixed", "gpt2"),
        ("gpt2.q8_0", "gpt2"),
        ("llama-3-8b-instruct-IQ2_XXS", "llama-3-8b-instruct"),
        ("gemma-3-4b-it-UD-Q4_K_XL", "gemma-3-4b-it"),
        ("gpt-oss-20b-mxfp4", "gpt-oss-20b"),
        ("bitnet_TQ2_0", "bitnet"),
        ("a-BF16-00001-of-00002", "a"),
        ("a-f16", "a"),
        ("phi-2", "phi-2"),
        ("Qwen3-8B", "Qwen3-8B"),
        ("modelQ4_0", "modelQ4_0"),
    ],
)
def test_the_name_of_a_model_has_no_quantization(stem, name):
    assert model_name(stem) == name


def test_parts_are_recognized():
    assert without_part("a-Q4_0-00002-of-00003") == "a-Q4_0"
    assert is_later_part("a-00002-of-00003")
    assert not is_later_part("a-00001-of-00003")
    assert not is_later_part("a-2-of-3")


def test_a_quantization_is_a_whole_word():
    assert has_quantization("a-Q4_K_M.gguf", "q4_k_m")
    assert has_quantization("BF16/a.gguf", "BF16")
    assert not has_quantization("a-Q4_K_M.gguf", "Q4_K")
    assert not has_quantization("a-IQ4_0.gguf", "Q4_0")
