"""TV116: tokenization that depends on the model's name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tokverify.compare.repair import new_metadata
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.settings import NAMES_THAT_STRIP
from tokverify.errors import BrokenFileError, EncodeError
from tokverify.report.finding import WARNING, Finding
from tokverify.spec import TokenizerSpec
from tokverify.text.wording import quote

_NAME = "general.name"
_PHI3_TOKENS = frozenset(["<|user|>", "<|assistant|>", "<|system|>", "<|end|>", "<|placeholder1|>"])


@rule(code="TV116", name="name-dependent-stripping", severity=WARNING)
def name_dependent_stripping(subject: Subject) -> Iterator[Finding]:
    """Point out that the model's name changes how whitespace is tokenized.

    What it does:
        llama.cpp strips the whitespace around added tokens only for certain names: if `general.name` contains `phi-3`,
        `phi3` or `modern-bert`. Reports if this applies, with the ids of an example with and without the name, and if
        the vocabulary looks like Phi-3's but the name does not say so.

    Why it is bad:
        Renaming the model changes its tokenization. A fine-tune of Phi-3 under another name gets a line break after
        every role marker that the model was not trained with.

    Example:
        A turn of Phi-3 took 8 tokens under one name and 14 under another.

    How to repair:
        Keep the decisive part in the name: `gguf-new-metadata --general-name "my phi-3 tune" MODEL FIXED`.

    Threads:
        ggml-org/llama.cpp#7375, ggml-org/llama.cpp#8039, microsoft/onnxruntime-genai#1248,
        huggingface/transformers#32136
    """
    name = subject.spec.general.get("name", "")
    stripping = [token for token in subject.settings.added_tokens if token.lstrip or token.rstrip]
    if stripping and any(part in name.lower() for part in NAMES_THAT_STRIP):
        other = replace(subject.spec, general={**subject.spec.general, "name": ""})
        token = next((token for token in stripping if token.text == "<|user|>"), stripping[0])
        text = f"a \n{token.text}\n a"
        with_name, without = (_encode(spec, text) for spec in (subject.spec, other))
        if with_name != without:
            message = (
                f"{_NAME}, {quote(name)}, makes added tokens strip whitespace: {quote(text)} is "
                f"{with_name}, and would be {without} under another name"
            )
            yield Finding(WARNING, message, ids=tuple(token.id for token in stripping), keys=(_NAME,))
    elif not stripping and all(text in subject.settings.ids for text in _PHI3_TOKENS):
        yield from _check_unnamed_phi3(subject, name)


def _check_unnamed_phi3(subject: Subject, name: str) -> Iterator[Finding]:
    other = replace(subject.spec, general={**subject.spec.general, "name": f"{name} phi-3"})
    text = "<|user|>\nHi<|end|>\n"
    ids = _encode(other, text)
    actual = _encode(subject.spec, text)
    if ids is None or ids == actual:
        return
    message = (
        f"the vocabulary looks like Phi-3's, but {_NAME}, {quote(name)}, does not say so: {quote(text)} is "
        f"{actual}, but {ids} with phi-3 in the name"
    )
    repair = new_metadata("--general-name", f"{name} phi-3".strip())
    yield Finding(WARNING, message, keys=(_NAME,), repair=repair)


def _encode(spec: TokenizerSpec, text: str) -> list[int] | None:
    from tokverify.engine.encoder import Encoder

    try:
        return Encoder(spec).encode(text)
    except (BrokenFileError, EncodeError):
        return None
