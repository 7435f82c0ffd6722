"""TV107: merges that are missing, or do not match the vocabulary."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from tokverify.compare.ranking_difference import NO_PROOF, describe_shortest, find_differing_texts
from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.encoder import Encoder
from tokverify.engine.families import find_family
from tokverify.engine.piece_index import find_unmade, index_pieces
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.errors import TokverifyError
from tokverify.report.finding import ERROR, INFO, WARNING, Finding
from tokverify.sources.gguf.keys import MERGES
from tokverify.spec import pieces_made_by, split_merges
from tokverify.text.wording import list_items, list_tokens, plural, quote
from tokverify.texts.lost_piece import losing_merges, make_losing_texts
from tokverify.texts.token_text import PLACEHOLDER
from tokverify.texts.unmade_token import ordinary_unmade

_TOLERATED_SHARE = 0.01
"""Of the vocabulary; a few tokens that no merge makes are found in many real models."""


@rule(code="TV107", name="broken-merges", severity=ERROR)
def broken_merges(subject: Subject) -> Iterator[Finding]:
    """Require merges that lead from characters to the tokens of the vocabulary.

    What it does:
        For byte-pair encoding by rank: looks for the merge list, for merges whose parts or result are not tokens, and
        for ordinary tokens of several characters that no merge produces, unless the pre-tokenizer's name implies that
        whole words are looked up first (`ignore_merges`). A merge that never applies, such as the line `#version: 0.2`
        of a merges.txt, is a warning, and so is one whose result is not a token, if no text shows that it costs tokens.

    Why it is bad:
        Without merges, every text is split into single bytes. If the result of a merge is not a token, llama.cpp
        encodes it byte by byte and drops the bytes that it does not find. A token that no merge produces is never used,
        so the model sees two or more tokens instead.

    Example:
        Files converted with transformers 4.45 had no merges at all, because it writes them as lists. Llama 3 has 588
        tokens that no merge produces, and needs a pre-tokenizer that implies `ignore_merges`.

    How to repair:
        Convert again with a converter that knows how the merges are written, or copy those of the reference: `tokverify
        fix MODEL -r REFERENCE -o FIXED`. If the model looks up whole words first, declare a pre-tokenizer that implies
        it.

    Threads:
        ggml-org/llama.cpp#9692, ggml-org/llama.cpp#9696, ollama/ollama#7038, ollama/ollama#10930,
        ggml-org/llama.cpp#7193, robertknight/rten#453
    """
    family = find_family(subject.spec.model)
    if family is None or not family.is_bpe:
        return
    if not subject.spec.merges:
        yield Finding(ERROR, f"{MERGES} is missing or empty: texts are never merged", keys=(MERGES,), repair=FIX)
        return
    ids = index_pieces(subject.spec.tokens)
    if find_unmade(subject.spec.merges, ids) is None:
        yield from _find_unusable(subject, subject.spec.merges, ids.keys())
    yield from _find_unreachable(subject)


def _find_unusable(subject: Subject, merges: Sequence[str], known: Collection[str]) -> Iterator[Finding]:
    parts, results = split_merges(merges), pieces_made_by(merges)
    broken = [left for left, right in parts if not right]
    if broken:
        shown = list_items(broken, show=quote)
        message = f"{plural(len(broken), 'merge')} without two parts: {shown}"
        yield Finding(ERROR, message, keys=(MERGES,), repair=FIX)
    # Nothing is built for each merge, as there may be half a million.
    unusable = [
        (merge, (left, right))
        for merge, (left, right), result in zip(merges, parts, results, strict=True)
        if right and not (left in known and right in known and result in known)
    ]
    made = set(results)
    unknown: list[str] = []
    idle: list[str] = []
    for merge, pair in unusable:
        is_idle = any(len(part) > 1 and part not in made for part in pair)
        (idle if is_idle else unknown).append(merge)
    if unknown:
        count = plural(len(unknown), "merge")
        message = f"{count} with a part or a result that is not a token: {list_items(unknown, show=quote)}"
        # Nothing can be encoded with a file that is refused.
        proof = "" if isinstance(subject.resolved, TokverifyError) else _prove_loss(subject, merges)
        severity = WARNING if proof == NO_PROOF else ERROR
        yield Finding(severity, f"{message}; {proof}" if proof else message, keys=(MERGES,), repair=FIX)
    if idle:
        count = f"{plural(len(idle), 'merge')} of no effect"
        message = f"{count}, with a part that is not a token and that no merge makes: {list_items(idle, show=quote)}"
        yield Finding(WARNING, message, keys=(MERGES,))


def _prove_loss(subject: Subject, merges: Sequence[str]) -> str:
    """Describe a text that takes more tokens, or loses bytes, because a merge makes what is not a token."""
    actual = subject.encoder
    losing = frozenset(losing_merges(merges, actual.settings.ids))
    kept = replace(subject.spec, merges=[merge for merge in merges if merge not in losing])
    differing = find_differing_texts(make_losing_texts(actual), actual, Encoder(kept, base=actual))
    return describe_shortest([found for found in differing if _is_loss(actual, *found)]) or NO_PROOF


def _is_loss(actual: Encoder, text: str, ours: Sequence[int], others: Sequence[int]) -> bool:
    del text
    return len(ours) > len(others) or actual.decode(ours) != actual.decode(others)


def _find_unreachable(subject: Subject) -> Iterator[Finding]:
    settings = subject.settings
    pre = PRE_TOKENIZERS[settings.pre]
    if pre.ignore_merges:
        return
    pieces = settings.pieces
    ids = [id for id in ordinary_unmade(subject.spec, settings) if not PLACEHOLDER.fullmatch(pieces[id])]
    if pre.newline_pieces:
        ids = [id for id in ids if pieces[id].strip("\n")]
    if not ids:
        return
    is_much = len(ids) > _TOLERATED_SHARE * len(pieces)
    shown = list_tokens(ids, pieces)
    message = f"no merge produces {plural(len(ids), 'ordinary token')}, so no text is encoded to one: {shown}"
    if not is_much:
        yield Finding(INFO, message, ids=tuple(ids), keys=(MERGES,))
        return
    exception = "; if the model looks up whole words first, declare a pre-tokenizer that implies ignore_merges"
    yield Finding(ERROR, message + exception, ids=tuple(ids), keys=(MERGES,), repair=FIX)
