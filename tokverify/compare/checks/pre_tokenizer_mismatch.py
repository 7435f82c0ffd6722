"""TV204: texts that the reference's pre-tokenizer splits differently."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.behavior import find_effect, is_encoded_differently, judge, probes
from tokverify.compare.pre_tokenization import (
    SplitDifference,
    find_agreeing_names,
    find_split_differences,
    is_neutral,
    normalize,
    pre_tokenize,
)
from tokverify.compare.repair import set_pre_tokenizer
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.pre_search import choose_name
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.report.finding import ERROR, INFO, Finding
from tokverify.sources.gguf.keys import PRE
from tokverify.text.sequence import common_length
from tokverify.text.wording import list_items, plural, quote
from tokverify.tokenizer import Declaring


@rule(code="TV204", name="pre-tokenizer-mismatch", severity=ERROR)
def pre_tokenizer_mismatch(subject: Subject) -> Iterator[Finding]:
    r"""Require that texts are split before merging as in the reference.

    What it does:
        Splits some 600 probe texts with both pre-tokenizers, including those of the bundled cases. A text that is split
        differently is also encoded on both sides: different ids are an error, unless limits of llama.cpp explain them,
        and equal ids are for information. The patterns themselves are not compared, since the same pattern can be
        written in many ways. If the reference is a GGUF file, the probe texts are encoded with the names of both.

    Why it is bad:
        Merges never cross a split, so different splits produce different tokens, for digits, contractions or entire
        scripts.

    Example:
        A model with `\p{M}` in its pattern converted as `qwen2`, which splits Devanagari words at every vowel sign.

    How to repair:
        Declare a pre-tokenizer that splits the same way; the finding lists them, if there are any: `gguf-new-metadata
        --pre-tokenizer NAME MODEL FIXED`.

    Threads:
        ggml-org/llama.cpp#23826, ggml-org/llama.cpp#3502, ollama/ollama#17698, ggml-org/llama.cpp#23384,
        ggml-org/llama.cpp#21919, ggml-org/llama.cpp#7881
    """
    if isinstance(subject.expected, Declaring):
        yield from _check_name(subject)
    elif subject.settings.family.is_bpe:
        yield from _check_splits(subject)
    elif not subject.includes_stages:
        yield from _check_splits_of_reference(subject)


def _check_name(subject: Subject) -> Iterator[Finding]:
    """Check the name against that of a GGUF file, by texts that our side encodes differently with the other name."""
    expected = subject.declared.pre
    if not subject.settings.family.uses_pre_tokenizer or expected not in PRE_TOKENIZERS or expected == subject.spec.pre:
        return
    text = find_effect(subject, pre=expected)
    problem = f"the pre-tokenizer is {subject.settings.pre}, but {expected} in the reference"
    if text is None:
        yield Finding(INFO, f"{problem}; no probe text shows a difference", keys=(PRE,))
    else:
        message = f"{problem}: {quote(text)} is encoded differently"
        yield Finding(ERROR, message, keys=(PRE,), repair=set_pre_tokenizer(expected))


def _check_splits(subject: Subject) -> Iterator[Finding]:
    others = find_split_differences(subject)
    if not others:
        return
    harmful = [other for other in others if is_encoded_differently(subject, other.text)]
    if not harmful:
        message = f"the reference splits {plural(len(others), 'probe text')} differently, with the same ids: "
        yield Finding(INFO, message + _render(others[0]), keys=(PRE,))
        return
    names = find_agreeing_names(subject.document)
    agreeing = (
        f"names that split the same way: {list_items(names, 10)}"
        if names
        else "no name splits all of them the same way"
    )
    severity, reason = judge(subject, (other.text for other in harmful))
    message = (
        f"{plural(len(harmful), 'probe text')} split and encoded differently than in the reference: "
        f"{_render(harmful[0])}; {agreeing}{reason}"
    )
    repair = set_pre_tokenizer(choose_name(names, adds_bos=subject.settings.add_bos)) if names else ""
    yield Finding(severity, message, keys=(PRE,), repair=repair)


def _render(other: SplitDifference) -> str:
    at = common_length(other.actual, other.expected)
    ours, theirs = (" | ".join(pre_tokens[at : at + 3]) for pre_tokens in (other.actual, other.expected))
    return f"{quote(other.text)} is split into {quote(ours)}, but {quote(theirs)} in the reference"


def _check_splits_of_reference(subject: Subject) -> Iterator[Finding]:
    """Check a reference that splits texts although our side does not."""
    harmless = subject.settings.family.equivalent_pre_tokenizers
    types = [stage["type"] for stage in subject.document.pre_tokenizer if stage["type"] not in harmless]
    split = [text for text in (probes() if types else ()) if _is_split(subject, text)]
    harmful = [text for text in split if is_encoded_differently(subject, text)]
    if harmful:
        message = (
            f"the reference splits texts ({', '.join(types)}) and the model {subject.spec.model} does not: "
            f"{plural(len(harmful), 'probe text')} encoded differently, such as {quote(harmful[0])}"
        )
        yield Finding(ERROR, message)


def _is_split(subject: Subject, text: str) -> bool:
    normalized = normalize(subject.document, text)
    return is_neutral(text, normalized) and len(pre_tokenize(subject.document, normalized)) > 1
