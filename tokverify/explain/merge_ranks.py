"""Find the merges that a reference lists, to show their ranks next to ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tokverify.errors import TokverifyError
from tokverify.sources.huggingface.bpe import read_merges
from tokverify.sources.huggingface.document import parse
from tokverify.tokenizer import Declaring, DocumentHolding, Tokenizer


def find_merge_ranks(reference: Tokenizer) -> Mapping[tuple[str, str], int]:
    """Return the rank of each merge of a reference; empty if it lists none."""
    try:
        return _rank(_list_merges(reference))
    except TokverifyError:
        return {}


def _list_merges(reference: Tokenizer) -> Iterable[tuple[str, str]]:
    if isinstance(reference, DocumentHolding):
        return read_merges(parse(reference.tokenizer_json(), reference.name, {}))
    if not isinstance(reference, Declaring):
        return ()
    stored = reference.declared_spec().merges or ()
    return [(left, right) for left, _, right in (merge.partition(" ") for merge in stored)]


def _rank(merges: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Number the merges; of a merge that is listed twice, the first one counts."""
    ranks: dict[tuple[str, str], int] = {}
    for rank, merge in enumerate(merges):
        ranks.setdefault(merge, rank)
    return ranks
