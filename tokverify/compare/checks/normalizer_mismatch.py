"""TV205: texts that the reference normalizes and llama.cpp does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokverify.compare import contradiction
from tokverify.compare.behavior import encode_both, find_effect, judge, probes
from tokverify.compare.charsmap_difference import find_replaced_differently
from tokverify.compare.pre_tokenization import normalize
from tokverify.compare.repair import FIX, set_flag
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.normalizer import ESCAPED_SPACE, unescape_spaces
from tokverify.engine.settings import resolve
from tokverify.report.finding import ERROR, INFO, WARNING, Finding
from tokverify.sources.gguf.keys import CHARSMAP, LOWERCASE, NFC, STRIP_ACCENTS
from tokverify.sources.huggingface.stage import Stage
from tokverify.text.wording import list_items, plural, quote
from tokverify.tokenizer import Declaring

_MAX_SPELLED = 8
_SHOWN = 4


@rule(code="TV205", name="normalizer-mismatch", severity=ERROR)
def normalizer_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require that the reference's normalizer is not lost.

    What it does:
        Compares the keys that GGUF has for normalization (lowercase, strip_accents, the charsmap) with the normalizer
        of the reference, and counts the characters that two charsmaps replace differently. For everything else, looks
        for probe texts that are encoded differently here, and correctly after the reference's normalizer is applied to
        them first: then the normalizer is the cause, and that is an error.

    Why it is bad:
        A different encoding of the same letter (`é` as one or two code points), full-width forms or capitals become
        other tokens, or unknown ones.

    Example:
        PLM-1.8B normalizes with NFC: `e` and U+0301 are one token there, two in llama.cpp.

    How to repair:
        Set the keys for lowercase and strip_accents, and for unigram models that for NFC, which llama.cpp reads since
        b11739. GGUF has no key for NFKC and the like: normalize texts before you pass them to llama.cpp.

    Threads:
        onnxruntime/mobius#662, ggml-org/llama.cpp#28845, ggml-org/llama.cpp#23899, ggml-org/llama.cpp#24371,
        ggml-org/llama.cpp#18756, ggml-org/llama.cpp#5496
    """
    if isinstance(subject.expected, Declaring):
        yield from _check_charsmaps(subject)
        yield from _check_flags(subject)
    elif not subject.includes_stages:
        yield from _check_stages(subject)


def _check_stages(subject: Subject) -> Iterator[Finding]:
    """Check the normalizer of a tokenizer.json, by its keys where GGUF has them, else by what it does to texts."""
    stages = [stage for stage in subject.document.normalizer if not _is_about_spaces(stage)]
    flags = list(_check_bert_flags(subject, stages))
    if flags:
        yield from flags
    elif stages:
        yield from _check_lost(subject, ", ".join(stage["type"] for stage in stages))


def _check_lost(subject: Subject, names: str) -> Iterator[Finding]:
    problem = f"the reference normalizes texts ({names}) and llama.cpp does not"
    found = [text for text in probes() if _is_cause(subject, text)]
    if found:
        severity, reason = judge(subject, found)
        yield Finding(severity, f"{problem}: {_examples(subject, found)}{reason}")
    elif subject.settings.family.is_bpe:
        yield Finding(INFO, f"{problem}; no probe text shows a difference")


def _examples(subject: Subject, texts: Sequence[str]) -> str:
    text, *others = sorted(texts, key=len)[:_SHOWN]
    actual, expected = encode_both(subject, text)
    message = (
        f"{len(texts):,} of the probe texts are encoded differently, such as {_quote_with_code_points(text)}: "
        f"{actual}, but {expected} in the reference"
    )
    return f"{message}; others are {list_items(map(_quote_with_code_points, others))}" if others else message


def _is_about_spaces(stage: Stage) -> bool:
    """Whether a normalizer only writes spaces as `▁`, which rule TV207 checks."""
    return ESCAPED_SPACE in {stage.get("prepend"), stage.get("content")}


def _is_cause(subject: Subject, text: str) -> bool:
    """Whether our side encodes a text wrongly, but correctly after the reference's normalizer is applied to it."""
    normalized = unescape_spaces(normalize(subject.document, text))
    if normalized in {text, f" {text}"}:
        return False
    actual, expected = encode_both(subject, text)
    if actual == expected:
        return False
    prefixed = normalized.startswith(" ") and not text.startswith(" ") and subject.settings.add_space_prefix
    return subject.encoder.encode(normalized[1:] if prefixed else normalized) == expected


def _quote_with_code_points(text: str) -> str:
    """Quote a text, with the code points of a short one: two texts that differ only in these can look the same."""
    code_points = " ".join(f"U+{ord(character):04X}" for character in text)
    return f"{quote(text)} ({code_points})" if len(text) <= _MAX_SPELLED else quote(text)


def _check_bert_flags(subject: Subject, stages: Sequence[Stage]) -> Iterator[Finding]:
    stage = next((stage for stage in stages if stage["type"] == "BertNormalizer"), None)
    if stage is None or not subject.settings.family.splits_words:
        return
    accents = stage["lowercase"] if stage["strip_accents"] is None else stage["strip_accents"]
    for key, setting, expected in (
        (LOWERCASE, "lowercase", stage["lowercase"]),
        (STRIP_ACCENTS, "strip_accents", accents),
    ):
        actual, declared = getattr(subject.settings, setting), getattr(subject.spec, setting)
        if actual != expected:
            message = f"{setting} is {actual}, but {expected} in the reference"
            # Accents are stripped, by default, where texts are lowercased.
            is_in_doubt = subject.is_contradicted(contradiction.LOWERCASE)
            repair = "" if is_in_doubt else set_flag(key, value=expected, declared=declared is not None)
            yield Finding(ERROR, message, keys=(key,), repair=repair)


def _check_flags(subject: Subject) -> Iterator[Finding]:
    """Check the flags against those of a GGUF file, by texts that our side encodes differently with the other value."""
    declared = resolve(subject.declared)
    for key, name in ((LOWERCASE, "lowercase"), (STRIP_ACCENTS, "strip_accents"), (NFC, "nfc")):
        actual, expected = getattr(subject.settings, name), getattr(declared, name)
        if name in subject.settings.family.flags and actual != expected:
            text = find_effect(subject, **{name: expected})
            shown = f"{quote(text)} is encoded differently" if text else "no probe text shows a difference"
            repair = set_flag(key, value=expected, declared=getattr(subject.spec, name) is not None)
            message = f"{name} is {actual}, but {expected} in the reference: {shown}"
            yield Finding(ERROR if text else INFO, message, keys=(key,), repair=repair)


def _check_charsmaps(subject: Subject) -> Iterator[Finding]:
    actual, expected = subject.spec.charsmap or b"", subject.declared.charsmap or b""
    uses_charsmap = subject.settings.family.uses_charsmap
    if actual == expected and (uses_charsmap or not expected):
        return
    if uses_charsmap:
        found = find_replaced_differently(subject.encoder, subject.expected)
        shown = f"{plural(len(found), 'character')} {'is' if len(found) == 1 else 'are'} replaced differently"
        examples = list_items(found, _SHOWN, _quote_with_code_points) if found else "no character that was tried"
        sizes = f"{len(actual):,} and {len(expected):,} bytes"
        message = f"the charsmap differs from the reference's ({sizes}); {shown}: {examples}"
        yield Finding(ERROR if found else INFO, message, keys=(CHARSMAP,), repair=FIX if found else "")
    elif expected:
        message = (
            f"the reference normalizes with a charsmap, which llama.cpp does not do for the model {subject.spec.model}"
        )
        yield Finding(WARNING, message, keys=(CHARSMAP,))
