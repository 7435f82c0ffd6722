"""List the merges that ranks stand for.

tiktoken merges any two neighbors that together are a token; GGUF lists merges, which are all pairs of tokens that make
a token.

Source: `MistralVocab.extract_vocab_merges_from_model` in llama.cpp's converter, and `TikTokenConverter` in
transformers. `QwenModel.bpe` there keeps one pair for each token, and none for a token that is only made from one with
a higher rank, such as `している` of Llama 3 from `いる`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from tokverify.engine.byte_level import spell_all


def list_merges(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Return all pairs of tokens that make a token, in order of its rank, then of theirs."""
    merges: list[tuple[bytes, bytes]] = []
    for token in sorted(filter(None, ranks), key=ranks.__getitem__):
        pairs = [
            (left, right)
            for at in range(1, len(token))
            if (left := token[:at]) in ranks and (right := token[at:]) in ranks
        ]
        merges += sorted(pairs, key=lambda pair: (ranks[pair[0]], ranks[pair[1]])) if len(pairs) > 1 else pairs
    return merges


def spell_merges(merges: Iterable[tuple[bytes, bytes]]) -> list[str]:
    """Write merges as a GGUF file lists them, with pieces in the GPT-2 alphabet."""
    merges = list(merges)
    parts = set(chain.from_iterable(merges))
    spelled = dict(zip(parts, spell_all(parts), strict=True))
    return [f"{spelled[left]} {spelled[right]}" for left, right in merges]


def count_unmerged(ranks: Mapping[bytes, int]) -> int:
    """Count the tokens that merging their own bytes does not lead to; only looking up a whole pre-token finds them."""
    limit = max(ranks.values()) + 1
    return sum(len(_parts(token, ranks, limit)) > 1 for token in ranks)


def recover_merges(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Return, in order of the ranks, the two tokens that each token is merged from.

    A token is omitted if the ranks below its own do not lead to exactly two parts.
    """
    tokens = sorted((token for token in ranks if len(token) > 1), key=ranks.__getitem__)
    splits = (_parts(token, ranks, ranks[token]) for token in tokens)
    return [(parts[0], parts[1]) for parts in splits if len(parts) == 2]  # noqa: PLR2004 - a merge is a pair


def _parts(token: bytes, ranks: Mapping[bytes, int], limit: int) -> list[bytes]:
    """Merge the bytes of a token by all ranks below a limit."""
    parts = [token[at : at + 1] for at in range(len(token))]
    while len(parts) > 1:
        pairs = map(bytes.__add__, parts, parts[1:])
        rank, at = min((ranks.get(pair, limit), at) for at, pair in enumerate(pairs))
        if rank >= limit:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts
