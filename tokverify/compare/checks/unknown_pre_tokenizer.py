"""TV102: a pre-tokenizer or a model that llama.cpp does not know."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tokverify.compare.repair import set_pre_tokenizer
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.families import FAMILIES, find_family
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.report.finding import ERROR, Finding
from tokverify.sources.gguf.keys import MODEL, PRE
from tokverify.text.wording import find_similar_names, list_alternatives, quote


@rule(code="TV102", name="unknown-pre-tokenizer", severity=ERROR)
def unknown_pre_tokenizer(subject: Subject) -> Iterator[Finding]:
    """Require names of models and pre-tokenizers that llama.cpp knows.

    What it does:
        Looks up `tokenizer.ggml.model`, and for byte-pair encoding `tokenizer.ggml.pre`, in llama.cpp's tables. The
        tables are those of the build of October 2026; an older build may know fewer names.

    Why it is bad:
        llama.cpp does not load the file.

    Example:
        Files that declared `deepseek-v3.1`, or early on `deepseek-r1-qwen`, did not load in the builds of their time.

    How to repair:
        Update llama.cpp if the name is new. If a fork or a converter invented it, declare a pre-tokenizer that splits
        the same way: `gguf-new-metadata --pre-tokenizer NAME MODEL FIXED`.

    Threads:
        ggml-org/llama.cpp#15495, ggml-org/llama.cpp#12021, ggml-org/llama.cpp#11341
    """
    spec = subject.spec
    family = find_family(spec.model)
    if family is None:
        known = [name for name, load in FAMILIES.items() if load().in_llama_cpp]
        message = f"{MODEL} is {quote(spec.model)}, which llama.cpp does not know{_nearest(spec.model, known)}"
        yield Finding(ERROR, message, keys=(MODEL,))
    elif not family.in_llama_cpp:
        message = f"{MODEL} is {quote(spec.model)}, a model that only tokverify supports, not llama.cpp"
        yield Finding(ERROR, message, keys=(MODEL,))
    elif family.uses_pre_tokenizer and not family.pre and spec.pre not in {None, *PRE_TOKENIZERS}:
        message = f"{PRE} is {quote(spec.pre or '')}, which llama.cpp does not know"
        nearest = _nearest(spec.pre or "", PRE_TOKENIZERS)
        yield Finding(ERROR, message + nearest, keys=(PRE,), repair=set_pre_tokenizer("NAME"))


def _nearest(name: str, known: Collection[str]) -> str:
    near = find_similar_names(name, known)
    return f"; did you mean {list_alternatives(near)}?" if near else ""
