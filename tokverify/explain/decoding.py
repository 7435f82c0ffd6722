"""Explain how ids become a text: what each id represents, the merges behind it, and what joining changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from tokverify.engine.attribute import VERBATIM, Attribute
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Alphabet
from tokverify.report.explain import DecodedToken, DecodingExplanation, TokenMerge
from tokverify.tokenizer import Token, tokens_of

if TYPE_CHECKING:
    Pairs = Mapping[str, tuple[str, str]]
    """The two pieces that the first merge of each piece joins."""


def explain_decoding(encoder: Encoder, ids: Sequence[int], stopped_at: int | None = None) -> DecodingExplanation:
    """Explain how `ids` become a text; `stopped_at` is the index of the token that ended a longer list.

    Raises:
        EncodeError: If an id is outside the vocabulary.
    """
    pairs = _first_merges(encoder)
    tokens = tokens_of(encoder, ids)
    parts = _list_parts(encoder, ids)
    decoded = encoder.decode(ids)
    if b"".join(parts) != decoded:
        # A wrong explanation would be worse than none.
        raise RuntimeError(f"the explained parts of {list(ids)!r} are not the decoded text")
    cleaned_up = encoder.decode_as_llama_cpp(ids)
    return DecodingExplanation(
        name=encoder.name,
        algorithm=encoder.settings.algorithm,
        ids=tuple(ids),
        stopped_at=stopped_at,
        tokens=tuple(_explain_token(encoder, token, added, pairs) for token, added in zip(tokens, parts, strict=True)),
        decoded=decoded,
        cleaned_up=None if cleaned_up == decoded else cleaned_up,
    )


def _list_parts(encoder: Encoder, ids: Sequence[int]) -> list[bytes]:
    """Return the bytes that each id adds to the text."""
    joiner = encoder.settings.family.make_joiner()
    if joiner is None:
        return [encoder.decode(ids[:1]), *map(encoder.token_bytes, ids[1:])] if ids else []
    # A joiner holds back incomplete words, so its results do not belong to single ids.
    texts = accumulate(range(len(ids)), lambda _, index: encoder.decode(ids[: index + 1]), initial=b"")
    lengths = list(map(len, texts))
    decoded = encoder.decode(ids)
    return [decoded[start:end] for start, end in pairwise(lengths)]


def _explain_token(encoder: Encoder, token: Token, added: bytes, pairs: Pairs) -> DecodedToken:
    attribute = encoder.settings.attributes[token.id]
    return DecodedToken(
        token=token,
        type=Attribute(attribute).name or "UNDEFINED",
        rule=_rule(encoder, attribute),
        added=added,
        note=_note(token.token_bytes, added),
        merges=tuple(_list_merges(encoder, token, pairs)) if attribute & Attribute.NORMAL else (),
    )


def _rule(encoder: Encoder, attribute: int) -> str:
    if attribute & VERBATIM:
        return "its text"
    if attribute & Attribute.BYTE.value:
        return "the byte that it names"
    if not attribute & Attribute.NORMAL.value:
        return "nothing, because of its type"
    alphabet = encoder.settings.family.alphabet
    return {Alphabet.BYTE_LEVEL: "one byte per character", Alphabet.ESCAPED: "its text, with a space for ▁"}.get(
        alphabet, "by the rules of its model"
    )


def _note(own: bytes, added: bytes) -> str:
    if own == added:
        return ""
    if own == b" " + added:
        return "the space that encoding put before the text is removed"
    return "a space is inserted between words" if added == b" " + own else "it is joined with its neighbors"


def _first_merges(encoder: Encoder) -> Pairs:
    join = encoder.settings.family.join_pair
    pairs: dict[str, tuple[str, str]] = {}
    for merge in encoder.spec.merges or ():
        left, _, right = merge.partition(" ")
        pairs.setdefault(join(left, right), (left, right))
    return pairs


def _list_merges(encoder: Encoder, token: Token, pairs: Pairs) -> Iterator[TokenMerge]:
    """Yield the merge that builds a token, then those that build its parts, each token once."""
    pending, seen = [token], {token.id}
    while pending:
        whole = pending.pop(0)
        parts = [encoder.settings.ids.get(piece) for piece in pairs.get(whole.piece, ())]
        ids = [id for id in parts if id is not None]
        if not parts or len(ids) != len(parts):
            continue
        left, right = tokens_of(encoder, ids)
        yield TokenMerge(whole.id, whole.token_bytes, left, right)
        for part in (left, right):
            if part.id not in seen:
                seen.add(part.id)
                pending.append(part)
