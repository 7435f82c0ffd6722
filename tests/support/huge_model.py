"""Build a model as large as real ones: a real header, and a hole instead of tensors."""

from pathlib import Path

from support.gguf_maker import Value, make_gguf, make_tensor, string, strings

HUGE = 20 * 10**9


def write_huge(path: Path, tokens: int, *, size: int = HUGE, more: dict[str, Value] | None = None) -> int:
    """Write a model with a vocabulary of `tokens` words, and return the size of its metadata in bytes."""
    words = [f"word{id:08}" for id in range(tokens)]
    fields = {
        "general.architecture": string("llama"),
        "tokenizer.ggml.model": string("gpt2"),
        "tokenizer.ggml.pre": string("gpt-2"),
        "tokenizer.ggml.tokens": strings(words),
        "tokenizer.ggml.merges": strings([]),
        **(more or {}),
    }
    tensors = [make_tensor("token_embd.weight", shape=(8, tokens), offset=0)]
    data = make_gguf(fields, tensors=tensors)
    with path.open("wb") as file:
        file.write(data)
        file.truncate(size)
    return len(data)
