"""TV204: texts that the reference's pre-tokenizer cuts differently."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.audit.behavior import encode_both, probes
from tokverify.audit.cutting import find_agreeing_names, find_cut_differences, is_neutral, normalize, pre_tokenize
from tokverify.audit.repair import set_pre_tokenizer
from tokverify.audit.rule import rule
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.files.gguf.keys import PRE
from tokverify.report.finding import ERROR, INFO, Finding
from tokverify.text.wording import listed, plural, quoted

if TYPE_CHECKING:
    from tokverify.audit.cutting import CutDifference
    from tokverify.audit.subject import Subject

_MAX_PATTERN = 300


@rule(code="TV204", name="pre-tokenizer-mismatch", severity=ERROR)
def pre_tokenizer_mismatch(subject: Subject) -> Iterator[Finding]:
    r"""Require that texts are cut before merging as in the reference.

    What it does:
        Cuts some 600 probe texts with both pre-tokenizers, including those of the bundled cases. A text that is cut
        differently is also encoded on both sides: different ids are an error, equal ids are for information. The
        patterns themselves are not compared, since the same pattern can be written in many ways.

    Why it is bad:
        Merges never cross a cut, so different cuts produce different tokens, for digits, contractions or entire
        scripts.

    Example:
        A model with `\p{M}` in its pattern converted as `qwen2`, which cuts Devanagari words at every vowel sign.

    How to repair:
        Declare a pre-tokenizer that cuts the same way; the finding lists them, if there are any: `gguf-new-metadata
        --pre-tokenizer NAME MODEL FIXED`.

    Threads:
        ggml-org/llama.cpp#23826, ggml-org/llama.cpp#3502, ollama/ollama#17698, ggml-org/llama.cpp#23384,
        ggml-org/llama.cpp#21919, ggml-org/llama.cpp#7881
    """
    if subject.settings.family.is_bpe:
        yield from _byte_pair(subject)
    elif not subject.includes_stages:
        yield from _cut_by_reference_only(subject)


def _byte_pair(subject: Subject) -> Iterator[Finding]:
    others = find_cut_differences(subject)
    if not others:
        return
    harmful = [other for other in others if _is_encoded_differently(subject, other.text)]
    if not harmful:
        message = f"the reference cuts {plural(len(others), 'probe text')} differently, with the same ids: "
        yield Finding(INFO, message + _render(others[0]), keys=(PRE,))
        return
    names = find_agreeing_names(subject.document)
    agreeing = f"names that cut the same way: {listed(names, 10)}" if names else "no name cuts the same way"
    message = (
        f"{plural(len(harmful), 'probe text')} cut and encoded differently than in the reference: "
        f"{_render(harmful[0])}; {_patterns(subject)}; {agreeing}"
    )
    yield Finding(ERROR, message, keys=(PRE,), repair=set_pre_tokenizer(names[0]) if names else "")


def _is_encoded_differently(subject: Subject, text: str) -> bool:
    actual, expected = encode_both(subject, text)
    return actual != expected


def _render(other: CutDifference) -> str:
    at = next(
        (
            index
            for index, (ours, theirs) in enumerate(zip(other.actual, other.expected, strict=False))
            if ours != theirs
        ),
        min(len(other.actual), len(other.expected)),
    )
    ours, theirs = (" | ".join(cut[at : at + 3]) for cut in (other.actual, other.expected))
    return f"{quoted(other.text)} is cut into {quoted(ours)}, but {quoted(theirs)} in the reference"


def _patterns(subject: Subject) -> str:
    """Show both patterns side by side."""
    rules = PRE_TOKENIZERS[subject.settings.pre].patterns
    ours = " then ".join(rule if isinstance(rule, str) else "groups of three digits" for rule in rules)
    theirs = " then ".join(json.dumps(stage, ensure_ascii=False) for stage in subject.document.pre_tokenizer)
    return f"our pattern is {ours[:_MAX_PATTERN]}, the reference's {theirs[:_MAX_PATTERN] or 'nothing'}"


def _cut_by_reference_only(subject: Subject) -> Iterator[Finding]:
    """Check a reference that cuts texts where our side does not."""
    harmless = subject.settings.family.equivalent_pre_tokenizers
    types = [stage["type"] for stage in subject.document.pre_tokenizer if stage["type"] not in harmless]
    cut = [text for text in (probes() if types else ()) if _is_cut(subject, text)]
    harmful = [text for text in cut if _is_encoded_differently(subject, text)]
    if harmful:
        message = (
            f"the reference cuts texts ({', '.join(types)}) and the model {subject.spec.model} does not: "
            f"{plural(len(harmful), 'probe text')} encoded differently, such as {quoted(harmful[0])}"
        )
        yield Finding(ERROR, message)


def _is_cut(subject: Subject, text: str) -> bool:
    normalized = normalize(subject.document, text)
    return is_neutral(text, normalized) and len(pre_tokenize(subject.document, normalized)) > 1
