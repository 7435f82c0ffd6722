"""What trainers and converters usually write, for everything that ids reveal only through the results.

Trainers number tokens as they find them: in byte-pair encoding each new token is the result of the next merge, and a
sentencepiece token scores no higher than the one before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log

from tokverify.engine.byte_level import from_byte_level
from tokverify.spec import TokenizerSpec, TokenType

CHARSMAPS = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf")
"""The normalization rules that sentencepiece provides; the first is its default."""


def normal_ids(spec: TokenizerSpec) -> list[int]:
    """Return the ids of the tokens typed NORMAL, or of all tokens if there are no types."""
    normal = TokenType.NORMAL.value
    return [id for id, type in enumerate(spec.types or [normal] * len(spec.tokens)) if type == normal]


# A search asks for them again with each change that it extends, and they take seconds.
@lru_cache(maxsize=1)
def byte_level_merges(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Return the merges by which earlier ones of some byte-level tokens form each of them, as for a tiktoken file."""
    from tokverify.sources.tiktoken.merges import recover_merges, spell_merges

    ranks = {from_byte_level(token): rank for rank, token in enumerate(tokens)}
    return tuple(spell_merges(recover_merges(ranks)))


@lru_cache(maxsize=1)
def all_splits(tokens: tuple[str, ...], order: tuple[int, ...]) -> tuple[str, ...]:
    """Return every split of each token into two, as converters list them for sentencepiece and tiktoken files.

    Args:
        tokens: All tokens by id.
        order: The ids of those to split, in the order of their ranks.
    """
    ids = {token: id for id, token in enumerate(tokens)}
    return tuple(" ".join(pair) for id in order for pair in _known_splits(tokens[id], ids))


def _known_splits(piece: str, ids: Mapping[str, int]) -> list[tuple[str, str]]:
    pairs = ((piece[:end], piece[end:]) for end in range(1, len(piece)))
    known = [(left, right) for left, right in pairs if left in ids and right in ids]
    return sorted(known, key=lambda pair: (ids[pair[0]], ids[pair[1]]))


def ranked_scores(size: int, order: Iterable[int]) -> list[float]:
    """Return scores that fall by one in the given order of ids; tokens that are not in it get a lower one."""
    scores = [-float(size)] * size
    for rank, id in enumerate(order):
        scores[id] = -float(rank)
    return scores


def falling_scores(size: int, order: Sequence[int]) -> list[float]:
    """Return scores like the logarithms of word frequencies: the n-th token is about n times rarer than the first."""
    scores = [0.0] * size
    for rank, id in enumerate(order):
        scores[id] = -2.0 - 1.1 * log(rank + 1.0)
    return scores


def read_charsmaps() -> Iterator[tuple[str, bytes]]:
    """Yield the name of each of sentencepiece's normalization rules, and its charsmap."""
    import sentencepiece

    from tokverify.sources.sentencepiece.message import parse

    for rule in CHARSMAPS:
        message = parse(sentencepiece.SentencePieceNormalizer(rule_name=rule).serialized_model_proto())
        yield rule, message.normalizer_spec.precompiled_charsmap


def rankings(spec: TokenizerSpec) -> Iterator[list[int]]:
    """Yield the orders in which vocabularies of sentencepiece rank their ordinary tokens.

    Runs of white space are often added afterwards: at the end, as in Llama's vocabulary, or before all others, the
    longest first, as in that of Gemma 4.
    """
    ids = normal_ids(spec)
    yield ids
    runs = {id for id in ids if _is_run(spec.tokens[id])}
    if runs:
        others = [id for id in ids if id not in runs]
        yield others + sorted(runs)
        yield sorted(runs, key=lambda id: -len(spec.tokens[id])) + others


def _is_run(piece: str) -> bool:
    return len(piece) > 1 and len(set(piece)) == 1 and piece[0] in "▁\n\t "
