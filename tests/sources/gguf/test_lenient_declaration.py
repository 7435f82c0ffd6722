"""What an audit reads from a file: even a contradictory tokenizer, and facts about the model."""

import pytest

from support.gguf_maker import make_gguf, make_tensor, numbers, string, strings, uint32
from tokverify.errors import BrokenFileError
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.declaration import read_declaration, read_spec

FIELDS = {
    "general.architecture": string("bert"),
    "tokenizer.ggml.model": string("llama"),
    "tokenizer.ggml.tokens": strings(["a", "b", "c"]),
}
CONTRADICTIONS = [
    {"tokenizer.ggml.scores": numbers(ValueType.FLOAT32, [1.0])},
    {"tokenizer.ggml.scores": numbers(ValueType.FLOAT32, [1.0, float("nan"), 2.0])},
    {"tokenizer.ggml.token_type": numbers(ValueType.INT32, [1] * 4)},
    {"tokenizer.ggml.model": string("gpt2")},
    {"tokenizer.ggml.add_bos_token": string("yes")},
    {"tokenizer.ggml.token_type": numbers(ValueType.FLOAT32, [1.0, 1.0, 1.0])},
]


@pytest.mark.parametrize("changed", CONTRADICTIONS)
def test_a_contradiction_is_kept_and_reported(tmp_path, changed):
    path = tmp_path / "model.gguf"
    path.write_bytes(make_gguf(FIELDS | changed))
    with pytest.raises(BrokenFileError) as raised:
        read_spec(path)
    declaration = read_declaration(path)
    assert str(declaration.refusal) == str(raised.value)
    assert declaration.spec.tokens == ["a", "b", "c"]


def test_values_equal_the_declared_ones(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(make_gguf(FIELDS | CONTRADICTIONS[0] | {"tokenizer.ggml.eos_token_id": uint32(3)}))
    spec = read_declaration(path).spec
    assert list(spec.scores) == [1.0]
    assert spec.special_ids == {"eos": 3}


def test_facts_of_the_model(tmp_path):
    path = tmp_path / "model.gguf"
    facts = {"bert.vocab_size": uint32(5), "bert.pooling_type": uint32(2), "other.vocab_size": uint32(9)}
    tensors = [make_tensor("token_embd.weight", shape=(1, 4))]
    path.write_bytes(make_gguf(FIELDS | facts, tensors=tensors) + bytes(64))
    declaration = read_declaration(path)
    assert (declaration.vocab_size, declaration.spec.embedding_rows, declaration.pooling) == (5, 4, True)
    assert declaration.refusal is None
    path.write_bytes(make_gguf(FIELDS))
    declaration = read_declaration(path)
    assert (declaration.vocab_size, declaration.spec.embedding_rows, declaration.pooling) == (None, None, False)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tokenizer.ggml.tokens": strings([])}, "tokens: is empty"),
        ({"tokenizer.ggml.tokens": string("a b c")}, "tokens: is STRING, must be ARRAY of STRING"),
        ({"tokenizer.ggml.model": uint32(1)}, "model: is UINT32, must be STRING"),
    ],
)
def test_unusable_files_remain_an_error(tmp_path, changed, message):
    path = tmp_path / "model.gguf"
    path.write_bytes(make_gguf(FIELDS | changed))
    with pytest.raises(BrokenFileError, match=message):
        read_declaration(path)
