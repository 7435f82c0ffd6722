"""TV115: embedding models that do not declare which tokens to add around a text."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.repair import set_flag
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.families import find_family
from tokverify.engine.family import Affixes
from tokverify.report.finding import WARNING, Finding
from tokverify.sources.gguf.keys import ADD_BOS, ADD_EOS

_ARCHITECTURES = ("bert", "t5encoder", "gemma-embedding", "eurobert", "llama-embed")


@rule(code="TV115", name="missing-embedding-flag", severity=WARNING)
def missing_embedding_flag(subject: Subject) -> Iterator[Finding]:
    """Expect embedding models to declare which tokens to add around a text.

    What it does:
        For embedding models (recognized by their architecture or their pooling), looks for `add_bos_token` and
        `add_eos_token`. WordPiece models are exempt: llama.cpp always adds `[CLS]` and `[SEP]` to their texts.

    Why it is bad:
        Such a model often takes the embedding from the very token that is missing. It still returns vectors, but search
        silently gets worse.

    Example:
        bge-m3 files that were converted before the keys existed; Qwen3-Embedding, whose EOS is only in the template of
        its tokenizer.json.

    How to repair:
        Convert again, or tell llama.cpp: `--override-kv tokenizer.ggml.add_eos_token=bool:true`.

    Threads:
        ggml-org/llama.cpp#14280, ggml-org/llama.cpp#14234, ggml-org/llama.cpp#14252, ggml-org/llama.cpp#14314
    """
    spec = subject.spec
    architecture = spec.general.get("architecture", "")
    embeds = subject.declaration.pooling or any(name in architecture for name in _ARCHITECTURES)
    family = find_family(spec.model)
    if not embeds or (family and family.affixes is Affixes.ALWAYS):
        return
    for key, declared in ((ADD_BOS, spec.add_bos), (ADD_EOS, spec.add_eos)):
        if declared is None:
            message = f"this is an embedding model, but {key} does not declare what to add around a text"
            yield Finding(WARNING, message, keys=(key,), repair=set_flag(key, value=True, declared=False))
