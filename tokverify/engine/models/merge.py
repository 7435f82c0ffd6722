"""Merge the cheapest adjacent pair repeatedly: the loop shared by byte-pair encoding by rank and by score.

Of pairs with equal costs, the leftmost is merged first. `costs` maps a pair, written as its two symbols joined by
`separator`, to its cost; a pair that is missing cannot be merged. Costs are finite numbers.

Source: the work queues of `llm_tokenizer_bpe_session` and `llm_tokenizer_spm_session` in llama.cpp's
`src/llama-vocab.cpp`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise


def merge(symbols: Sequence[str], costs: Mapping[str, float], separator: str) -> list[str]:
    """Merge with a heap of pairs and a linked list of symbols, in O(n log n)."""
    # A merged symbol is stored at the position of its left part; the position of its right part becomes empty.
    symbol_at = [*symbols, ""]
    end = len(symbols)
    following = list(range(1, end + 1))
    preceding = list(range(-1, end - 1))
    get = costs.get
    heap: list[tuple[float, int, str]] = []
    for index, (left, right) in enumerate(pairwise(symbols)):
        cost = get(f"{left}{separator}{right}")
        if cost is not None:
            heap.append((cost, index, left + right))
    heapify(heap)
    while heap:
        _, index, joined = heappop(heap)
        right_index = following[index]
        # subtle: a pair is stale if its symbols have been merged with others since; its text no longer matches.
        if not symbol_at[index] or symbol_at[index] + symbol_at[right_index] != joined:
            continue
        symbol_at[index], symbol_at[right_index] = joined, ""
        before, after = preceding[index], following[right_index]
        following[index] = after
        if after < end:
            preceding[after] = index
            cost = get(f"{joined}{separator}{symbol_at[after]}")
            if cost is not None:
                heappush(heap, (cost, index, joined + symbol_at[after]))
        if before >= 0:
            cost = get(f"{symbol_at[before]}{separator}{joined}")
            if cost is not None:
                heappush(heap, (cost, before, symbol_at[before] + joined))
    return [symbol for symbol in symbol_at if symbol]
