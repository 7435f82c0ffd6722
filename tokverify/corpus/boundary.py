"""Check whether two tokenizers split a short text into different pre-tokens."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from tokverify.corpus.branch import pre_tokenizer_of
from tokverify.engine.encoder import Encoder
from tokverify.engine.pre_token import trace_pre_tokens
from tokverify.engine.trace import Stretch
from tokverify.errors import TokverifyError
from tokverify.tokenizer import Staged, Tokenizer


def pre_tokens_differ(actual: Tokenizer, expected: Tokenizer, text: str) -> bool:
    """Compare the pre-tokens of a text, as far as the tokenizers show them.

    If only one side shows them, a token of the other side that crosses one of their boundaries is a difference. Lone
    surrogates stand for bytes that are not UTF-8 (`surrogateescape`); they are ignored.
    """
    text = text.encode("utf-8", "surrogateescape").decode(errors="replace")
    sides = [(tokenizer, find_boundaries(tokenizer, text)) for tokenizer in (actual, expected)]
    (ours, our_ends), (theirs, their_ends) = sides
    if our_ends and their_ends:
        return our_ends != their_ends
    if our_ends:
        return not our_ends <= token_ends(theirs, text)
    return bool(their_ends) and not their_ends <= token_ends(ours, text)


def find_boundaries(tokenizer: Tokenizer, text: str) -> set[int]:
    """Return the byte offset of the end of each pre-token; none if the tokenizer does not show its pre-tokens."""
    try:
        if isinstance(tokenizer, Encoder):
            return _encoder_boundaries(tokenizer, text)
        if isinstance(tokenizer, Staged):
            return _staged_boundaries(tokenizer, text)
    except TokverifyError:
        pass
    return set()


def token_ends(tokenizer: Tokenizer, text: str) -> set[int]:
    """Return the byte offset of the end of each token."""
    try:
        ids = tokenizer.encode(text, add_special=False, parse_special=True)
        return set(_ends(map(tokenizer.token_bytes, ids)))
    except TokverifyError:
        return set()


def _encoder_boundaries(encoder: Encoder, text: str) -> set[int]:
    pre_tokenizer = pre_tokenizer_of(encoder)
    if pre_tokenizer is None:
        return set()
    # Tracing the whole encoder takes much longer.
    if not any(added in text for added in encoder.added_texts):
        return {pre_token.end for _, pre_token in trace_pre_tokens(pre_tokenizer, text)}
    ends: set[int] = set()
    for fragment in encoder.trace(text).fragments:
        if isinstance(fragment, Stretch):
            ends.update(fragment.start + pre_token.end for pre_token in fragment.trace.pre_tokens)
    return ends


def _staged_boundaries(tokenizer: Staged, text: str) -> set[int]:
    ends: set[int] = set()
    for stretch in tokenizer.stages(text, parse_special=True).stretches or ():
        if stretch.pre_tokens:
            ends.update(stretch.start + end for end in _ends(stretch.pre_tokens))
    return ends


def _ends(parts: Iterable[bytes]) -> Iterable[int]:
    return accumulate(map(len, parts))
