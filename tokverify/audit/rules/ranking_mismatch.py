"""TV207: merges, scores and flags of the algorithm that differ from the reference's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from tokverify.audit.behavior import find_differing, probes
from tokverify.audit.repair import FIX, set_flag
from tokverify.audit.rule import rule
from tokverify.engine.attribute import Attribute
from tokverify.engine.family import Ranking
from tokverify.engine.normalizer import unescape_spaces
from tokverify.files.gguf.keys import ADD_SPACE_PREFIX, MERGES, PRE, REMOVE_EXTRA_WHITESPACES, SCORES
from tokverify.report.finding import ERROR, INFO, Finding
from tokverify.spec import TokenType
from tokverify.text.sequence import common_length
from tokverify.text.wording import list_items, list_tokens, plural, quote
from tokverify.tokenizer import Declaring

if TYPE_CHECKING:
    from tokverify.audit.subject import Subject

_MOST_TRIED = 500
_NORMAL = Attribute.NORMAL.value


@rule(code="TV207", name="ranking-mismatch", severity=ERROR)
def ranking_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require the merges, scores and flags that rank tokens as in the reference.

    What it does:
        Compares the merge lists in order; the scores with those of a sentencepiece model, or with the order of the
        reference's merges; and what a conversion must preserve: `ignore_merges`, the space before a text, and the
        removal of extra whitespace. If a difference might not matter, texts that would show it are encoded on both
        sides; it is an error only if they are encoded differently.

    Why it is bad:
        The ranking decides which of two possible tokens is used. Decoding does not show the difference: the text is the
        same, only split differently.

    Example:
        Gemma 1 without `add_space_prefix` false added a space to the beginning of every text. Llama 3 without
        `ignore_merges` needs three tokens for ` Việt`, which is one.

    How to repair:
        Convert again from the reference, or copy its merges or scores with `tokverify fix MODEL -r REFERENCE -o FIXED`.
        Flags can be set: `gguf-set-metadata MODEL tokenizer.ggml.add_space_prefix ''` turns off one that is declared,
        `--override-kv` sets one that is not.

    Threads:
        ggml-org/llama.cpp#8248, ggml-org/llama.cpp#7193, onnxruntime/mobius#660, ggml-org/llama.cpp#24034,
        ztxz16/fastllm#715
    """
    if isinstance(subject.expected, Declaring):
        yield from _compare_scores(subject)
        prefix: bool | None = subject.declared.add_space_prefix
        yield from _check_extra_whitespaces(subject)
    else:
        yield from _check_merges(subject)
        prefix = _adds_space(subject)
    if "add_space_prefix" in subject.settings.family.flags and prefix is not None:
        yield from _check_space_prefix(subject, expected=prefix)


def _check_merges(subject: Subject) -> Iterator[Finding]:
    model = subject.document.model
    if not isinstance(model.get("merges"), list):
        return
    theirs = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    if subject.settings.family.ranking is Ranking.SCORE:
        yield from _check_order(subject, theirs)
    elif subject.settings.family.is_bpe:
        yield from _compare_merges(list(subject.spec.merges or ()), theirs)
        yield from _check_ignore_merges(subject, expected=bool(model.get("ignore_merges")))


def _compare_merges(ours: list[str], theirs: list[str]) -> Iterator[Finding]:
    if ours == theirs:
        return
    lost, extra = set(theirs) - set(ours), set(ours) - set(theirs)
    rank = common_length(ours, theirs)
    counts = f"{len(ours):,} merges here, {len(theirs):,} in the reference, {len(lost):,} missing, {len(extra):,} extra"
    first = [quote(merges[rank]) if rank < len(merges) else "nothing" for merges in (ours, theirs)]
    message = f"the merges differ: {counts}; the first difference is at rank {rank:,}: {first[0]} instead of {first[1]}"
    yield Finding(ERROR, message, keys=(MERGES,), repair=FIX)


def _check_ignore_merges(subject: Subject, *, expected: bool) -> Iterator[Finding]:
    actual = subject.settings.ignore_merges
    if actual == expected:
        return
    made = {merge.replace(" ", "", 1) for merge in subject.spec.merges or ()}
    attributes = subject.settings.attributes
    unmade = [id for piece, id in subject.settings.ids.items() if piece not in made and attributes[id] == _NORMAL]
    texts = (subject.encoder.token_bytes(id).decode(errors="ignore") for id in unmade[:_MOST_TRIED])
    text = find_differing(subject, texts)
    problem = f"ignore_merges is {actual} for the pre-tokenizer {subject.settings.pre}, but {expected} in the reference"
    shown = f"{quote(text)} is encoded differently" if text else "no tested text shows a difference"
    yield Finding(ERROR if text else INFO, f"{problem}: {shown}", keys=(PRE,))


def _check_order(subject: Subject, merges: Sequence[str]) -> Iterator[Finding]:
    """Check that the scores rank what the reference's merges make in the same order."""
    scores, ids, pieces = subject.spec.scores, subject.settings.ids, subject.settings.pieces
    if scores is None:
        return
    made = dict.fromkeys(merge.replace(" ", "", 1) for merge in merges)
    ranked = [ids[piece] for piece in made if piece in ids and subject.settings.attributes[ids[piece]] == _NORMAL]
    by_score = sorted(ranked, key=lambda id: -scores[id])
    moved = [id for id, other in zip(ranked, by_score, strict=True) if id != other]
    if moved:
        texts = (unescape_spaces(pieces[id]) for id in moved[:_MOST_TRIED])
        text = find_differing(subject, chain(texts, probes()))
        count = plural(len(moved), "token")
        message = f"{count} ranked in a different order than in the reference's merges: {list_tokens(moved, pieces)}"
        shown = f"; {quote(text)} is encoded differently" if text else "; no tested text shows a difference"
        yield Finding(ERROR if text else INFO, message + shown, ids=tuple(moved), keys=(SCORES,))


def _compare_scores(subject: Subject) -> Iterator[Finding]:
    ours, theirs = subject.spec.scores or (), subject.declared.scores or ()
    pieces, attributes = subject.settings.pieces, subject.settings.attributes
    types = subject.declared.types or ()
    ids = [
        id
        for id, (our, their, type) in enumerate(zip(ours, theirs, types, strict=False))
        if our != their and type == TokenType.NORMAL and attributes[id] == _NORMAL
    ]
    if ids:
        shown = list_items(f"{id} {quote(pieces[id])} {ours[id]:g} instead of {theirs[id]:g}" for id in ids)
        message = f"{plural(len(ids), 'ordinary token')} with a different score than in the reference: {shown}"
        yield Finding(ERROR, message, ids=tuple(ids), keys=(SCORES,), repair=FIX)


def _check_extra_whitespaces(subject: Subject) -> Iterator[Finding]:
    is_flag = "remove_extra_whitespaces" in subject.settings.family.flags
    actual = is_flag and subject.settings.remove_extra_whitespaces
    expected = bool(subject.declared.remove_extra_whitespaces)
    if actual != expected:
        text = find_differing(subject, ("a  b", " a", "a ", "a \n b"))
        ours, theirs = ("removed", "kept") if actual else ("kept", "removed")
        message = f"extra whitespace is {ours}, but {theirs} in the reference"
        declared = subject.spec.remove_extra_whitespaces is not None
        repair = set_flag(REMOVE_EXTRA_WHITESPACES, value=expected, declared=declared) if is_flag else ""
        yield Finding(ERROR if text else INFO, message, keys=(REMOVE_EXTRA_WHITESPACES,), repair=repair)


def _adds_space(subject: Subject) -> bool | None:
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
        repair = set_flag(ADD_SPACE_PREFIX, value=expected, declared=subject.spec.add_space_prefix is not None)
        yield Finding(ERROR, message, keys=(ADD_SPACE_PREFIX,), repair=repair)
