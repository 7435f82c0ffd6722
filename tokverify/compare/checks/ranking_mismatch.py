"""TV207: merges, scores and flags of the algorithm that differ from the reference's."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress, count

from tokverify.compare.behavior import find_differing, judge
from tokverify.compare.contradiction import SPACE_PREFIX
from tokverify.compare.ranking_difference import (
    NO_PROOF,
    describe_shortest,
    find_differing_texts,
    find_ranking_differences,
)
from tokverify.compare.repair import FIX, set_flag
from tokverify.compare.rule import rule, to_finding
from tokverify.compare.subject import Subject
from tokverify.engine.attribute import Attribute
from tokverify.engine.deviating_encoder import DeviatingEncoder
from tokverify.engine.deviation import Deviation
from tokverify.report.finding import ERROR, INFO, Finding
from tokverify.sources.gguf.keys import ADD_SPACE_PREFIX, PRE, REMOVE_EXTRA_WHITESPACES
from tokverify.text.utf8 import from_utf8
from tokverify.text.wording import quote
from tokverify.tokenizer import Declaring

_NORMAL = Attribute.NORMAL.value
_MOST_JUDGED = 100


@rule(code="TV207", name="ranking-mismatch", severity=ERROR)
def ranking_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require the merges, scores and flags that rank tokens as in the reference.

    What it does:
        Compares the merge lists in order; the order of the scores (for unigram models, their values) with those of a
        sentencepiece model or with the reference's merges; and what a conversion must preserve: `ignore_merges`, the
        space before a text, and the removal of extra whitespace. Texts in which the tokens compete are encoded on both
        sides; a difference is an error only if a text is encoded differently.

    Why it is bad:
        The ranking decides which of two possible tokens is used. Decoding does not show the difference: the text is the
        same, only split differently.

    Example:
        Gemma 1 without `add_space_prefix` false added a space to the beginning of every text. Llama 3 without
        `ignore_merges` needs three tokens for ` Việt`, which is one.

    How to repair:
        Convert again from the reference, or copy its merges or scores with `tokverify fix MODEL -r REFERENCE -o FIXED`.
        Flags can be set: `gguf-set-metadata --force MODEL tokenizer.ggml.add_space_prefix ''` turns off one that is
        declared, `--override-kv` sets one that is not.

    Threads:
        ggml-org/llama.cpp#8248, ggml-org/llama.cpp#7193, onnxruntime/mobius#660, ggml-org/llama.cpp#24034,
        ztxz16/fastllm#715
    """
    for difference in find_ranking_differences(*subject.sides, thorough=True):
        yield to_finding(difference, FIX)
    if isinstance(subject.expected, Declaring):
        prefix: bool | None = subject.declared.add_space_prefix
        yield from _check_extra_whitespaces(subject)
    else:
        if subject.settings.family.is_bpe:
            yield from _check_ignore_merges(subject, expected=bool(subject.document.model.get("ignore_merges")))
        prefix = _declares_space(subject)
    if "add_space_prefix" in subject.settings.family.flags and prefix is not None:
        yield from _check_space_prefix(subject, expected=prefix)


def _check_ignore_merges(subject: Subject, *, expected: bool) -> Iterator[Finding]:
    actual = subject.settings.ignore_merges
    if actual == expected:
        return
    normal = compress(count(), map(_NORMAL.__eq__, subject.settings.attributes))
    all_bytes = subject.encoder.bytes_of_tokens()
    ids = {text: id for id in normal if (text := from_utf8(all_bytes[id]))}
    texts = list(ids)
    if not actual:
        # What is one token anyway is also one with the flag.
        encoded = subject.encoder.encode_many(texts, add_special=False, parse_special=False)
        texts = [text for text, found in zip(texts, encoded, strict=True) if found != [ids[text]]]
    differing = find_differing_texts(texts, subject.encoder, subject.expected)
    # Other texts differ for another reason, such as a normalizer.
    flipped = DeviatingEncoder.of(subject.encoder, Deviation(ignore_merges=expected))
    differing = [found for found in differing if flipped.encode(found[0]) == list(found[2])]
    shown = describe_shortest(differing)
    severity, reason = judge(subject, (text for text, _, _ in differing[:_MOST_JUDGED])) if differing else (INFO, "")
    problem = f"ignore_merges is {actual} for the pre-tokenizer {subject.settings.pre}, but {expected} in the reference"
    yield Finding(severity, f"{problem}; {shown or NO_PROOF}{reason}", keys=(PRE,))


def _check_extra_whitespaces(subject: Subject) -> Iterator[Finding]:
    is_flag = "remove_extra_whitespaces" in subject.settings.family.flags
    actual = is_flag and subject.settings.remove_extra_whitespaces
    expected = bool(subject.declared.remove_extra_whitespaces)
    if actual != expected:
        texts = ("a  b", " a", "a ", "a \n b")
        differing = [text for text, _, _ in find_differing_texts(texts, subject.encoder, subject.expected)]
        severity, reason = judge(subject, differing) if differing else (INFO, "")
        ours, theirs = ("removed", "kept") if actual else ("kept", "removed")
        message = f"extra whitespace is {ours}, but {theirs} in the reference{reason}"
        declared = subject.spec.remove_extra_whitespaces is not None
        repair = set_flag(REMOVE_EXTRA_WHITESPACES, value=expected, declared=declared) if is_flag else ""
        yield Finding(severity, message, keys=(REMOVE_EXTRA_WHITESPACES,), repair=repair)


def _declares_space(subject: Subject) -> bool | None:
    """Whether the reference adds a space before a text; None if it does not write spaces as `▁`."""
    stages = [*subject.document.normalizer, *subject.document.pre_tokenizer]
    if any(stage["type"] == "Prepend" and stage["prepend"] == "▁" for stage in stages):
        return True
    schemes = [stage.get("prepend_scheme") for stage in stages if stage["type"] == "Metaspace"]
    replaces = any(stage["type"] == "Replace" and stage["content"] == "▁" for stage in stages)
    return any(scheme != "never" for scheme in schemes) if schemes or replaces else None


def _check_space_prefix(subject: Subject, *, expected: bool) -> Iterator[Finding]:
    actual = subject.settings.add_space_prefix
    if actual != expected and (text := find_differing(subject, ("a", "Hello", "the"))):
        message = f"add_space_prefix is {actual}, and {expected} in the reference: {quote(text)} is encoded differently"
        repair = ""
        if not subject.is_contradicted(SPACE_PREFIX):
            repair = set_flag(ADD_SPACE_PREFIX, value=expected, declared=subject.spec.add_space_prefix is not None)
        yield Finding(ERROR, message, keys=(ADD_SPACE_PREFIX,), repair=repair)
