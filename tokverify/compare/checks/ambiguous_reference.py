"""TV209: a reference that other programs read differently."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.rule import rule
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.report.finding import WARNING, Finding
from tokverify.text.wording import quote

_REBUILT_AS_METASPACE = frozenset({"LlamaTokenizer", "LlamaTokenizerFast", "CodeLlamaTokenizer", "GemmaTokenizer"})


@rule(code="TV209", name="ambiguous-reference", severity=WARNING)
def ambiguous_reference(subject: Subject) -> Iterator[Finding]:
    """Point out references that transformers is known to change while loading them.

    What it does:
        tokverify reads tokenizer.json with the `tokenizers` library alone, and a report names the file's sha256 and the
        library's version. This rule checks tokenizer_config.json for settings that make transformers build a different
        tokenizer from the same file: a Llama class for a byte-level tokenizer, or `fix_mistral_regex`.

    Why it is bad:
        A comparison of the GGUF file with `AutoTokenizer` then shows differences that do not exist, or misses some that
        do. The model may have been trained with either tokenizer.

    Example:
        transformers 5 replaced the byte-level pre-tokenizer of DeepSeek V3 and R1, whose class is `LlamaTokenizerFast`:
        `hello world` became `helloworld`.

    How to repair:
        Compare with `tokenizers` directly, or set the class to `PreTrainedTokenizerFast` in tokenizer_config.json.

    Threads:
        huggingface/transformers#45488, huggingface/transformers#46710, generative-computing/mellea#947,
        ggml-org/llama.cpp#21617, ggml-org/llama.cpp#23252, huggingface/transformers#42299
    """
    if not subject.config:
        raise NotEvaluatedError("there is no tokenizer_config.json beside the reference")
    name = subject.config.get("tokenizer_class")
    if name in _REBUILT_AS_METASPACE and subject.document.is_byte_level:
        message = f"tokenizer_class is {quote(str(name))}, so that transformers 5 replaces ByteLevel by Metaspace"
        yield Finding(WARNING, message)
    if "fix_mistral_regex" in subject.config:
        yield Finding(
            WARNING, "fix_mistral_regex is set: transformers may replace the pre-tokenizer's pattern while loading"
        )
