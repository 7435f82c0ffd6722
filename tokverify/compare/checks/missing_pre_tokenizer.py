"""TV101: byte-level BPE without the name of a pre-tokenizer."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.behavior import find_differing
from tokverify.compare.pre_tokenization import find_split_differences
from tokverify.compare.repair import set_pre_tokenizer
from tokverify.compare.rule import rule
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.engine.families import find_family
from tokverify.report.finding import ERROR, WARNING, Finding
from tokverify.sources.gguf.keys import PRE
from tokverify.sources.nearest_pattern import probe_texts


@rule(code="TV101", name="missing-pre-tokenizer", severity=ERROR)
def missing_pre_tokenizer(subject: Subject) -> Iterator[Finding]:
    """Require byte-level BPE (`gpt2`) to declare its pre-tokenizer.

    What it does:
        Looks for `tokenizer.ggml.pre` if `tokenizer.ggml.model` is `gpt2`. It must exist and not be `default`. If the
        reference splits every probe text exactly as `default` does, this is only a warning.

    Why it is bad:
        The name stands for the pattern that splits a text before merging. Without one, llama.cpp falls back to its own
        pattern, with which no model was trained: numbers, contractions and punctuation are split differently, and the
        text takes more tokens. Only a line in the log mentions it.

    Example:
        Llama 4 converted with `default` splits `I've 12345 tokens` differently than in training, and takes 8% to
        10% more tokens for the same text.

    How to repair:
        Declare the correct one: `gguf-new-metadata --pre-tokenizer NAME MODEL FIXED`. With the reference at hand, rule
        TV204 lists the names that split the same way.

    Threads:
        ollama/ollama#17698, ollama/ollama#4126, ollama/ollama#4082, ggml-org/llama.cpp#7476, ggml-org/llama.cpp#6944
    """
    spec = subject.spec
    family = find_family(spec.model)
    if family is None or not family.is_bpe or family.pre or spec.pre not in {None, "default"}:
        return
    declared = "is missing" if spec.pre is None else "is default"
    try:
        is_right = not find_split_differences(subject)
    except NotEvaluatedError:
        # One that shows only ids shows whether these are right.
        is_right = subject.independent is not None and find_differing(subject, probe_texts()) is None
    if is_right:
        message = f"{PRE} {declared}; the reference splits the probe texts the same way, but other programs may not"
        yield Finding(WARNING, message, keys=(PRE,))
        return
    message = f"{PRE} {declared}: llama.cpp splits texts by its own default pattern, with which no model was trained"
    yield Finding(ERROR, message, keys=(PRE,), repair=set_pre_tokenizer("NAME"))
