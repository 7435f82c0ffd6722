"""TV105: arrays and tensors for different numbers of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.report.finding import ERROR, INFO, WARNING, Finding
from tokverify.sources.gguf.keys import SCORES, TYPES, VOCAB_SIZE
from tokverify.text.wording import list_tokens, plural
from tokverify.texts.token_text import PADDING


@rule(code="TV105", name="size-mismatch", severity=ERROR)
def size_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require the same number of tokens everywhere in the file.

    What it does:
        Compares the number of tokens with the lengths of scores and types, with the rows of the token embedding (tensor
        `token_embd.weight`, if the file contains tensors), and with the model's own `vocab_size`. Counts the padding at
        the end of the vocabulary.

    Why it is bad:
        Beyond the end of an array, every token has the wrong score or type. An embedding of a different size does not
        load.

    Example:
        A fine-tune added tokens to the tokenizer and did not resize the model, or vice versa.

    How to repair:
        Convert again from a tokenizer and a model that belong together; the converter pads the vocabulary if the model
        is larger.

    Threads:
        ggml-org/llama.cpp#4958, paiml/aprender#1706, b4rtaz/distributed-llama#282, unslothai/unsloth#418,
        ggml-org/llama.cpp#8379
    """
    count = len(subject.spec.tokens)
    for key, values in ((SCORES, subject.spec.scores), (TYPES, subject.spec.types)):
        if values is not None and len(values) != count:
            yield Finding(ERROR, f"{key} has {plural(len(values), 'element')} for {count:,} tokens", keys=(key,))
    rows, size = subject.spec.embedding_rows, subject.declaration.vocab_size
    if rows not in {None, count}:
        yield Finding(ERROR, f"token_embd.weight has {plural(rows or 0, 'row')} for {count:,} tokens")
    if size not in {None, count}:
        yield Finding(WARNING, f"the model's {VOCAB_SIZE} is {size:,}, but there are {count:,} tokens")
    if padding := _padding(subject.spec.tokens):
        verb = "is" if len(padding) == 1 else "are"
        listed = list_tokens(padding, subject.spec.tokens)
        message = f"{plural(len(padding), 'token')} at the end {verb} padding: {listed}"
        yield Finding(INFO, message, ids=padding)


def _padding(pieces: Sequence[str]) -> tuple[int, ...]:
    count = sum(1 for _ in takewhile(PADDING.fullmatch, reversed(pieces)))
    return tuple(range(len(pieces) - count, len(pieces)))
