"""Read how a reference ranks pieces: by which scores, or in which order of merges."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import compress, islice
from operator import gt, lt
from typing import TYPE_CHECKING

import msgspec

from tokverify.engine.attribute import Attribute
from tokverify.engine.engine_choice import usable_native_module
from tokverify.engine.family import Ranking
from tokverify.errors import answer_or
from tokverify.sources.huggingface.tables import tables_of
from tokverify.spec import TokenizerSpec, pieces_made_by
from tokverify.tokenizer import Declaring, DocumentHolding, MatchListing, PatternHolding, Tokenizer, pieces_of

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder
    from tokverify.sources.huggingface.document import Document

_IS_NORMAL = bytes(attribute == Attribute.NORMAL.value for attribute in range(256))
_SHARED = 8
"""A score that at least this many tokens share ranks none of them: it marks tokens that no merge makes."""


class _Unigram(msgspec.Struct):
    vocab: list[tuple[str, float]]


class _Document(msgspec.Struct):
    model: _Unigram


def ranks_alike(actual: Encoder, expected: Tokenizer, *, thorough: bool = False) -> bool:
    """Whether a reference certainly, or most likely, ranks pieces as a file does; this takes little time.

    Unless it is `thorough`, the scores of a file are not compared with the merges of a tokenizer.json if they descend
    with the ids, as those that sentencepiece learns do.
    """
    spec, ranking = actual.spec, actual.settings.family.ranking
    if isinstance(expected, Declaring):
        declared = expected.declared_spec()
        return _arrays(declared, ranking) == _arrays(spec, ranking)
    if isinstance(expected, PatternHolding):
        return ranking is not Ranking.MERGE_RANK or _merges_follow_ids(actual)
    if not isinstance(expected, DocumentHolding):
        return True
    if ranking is Ranking.MERGE_RANK:
        tables = tables_of(expected)
        return tables is not None and bool(spec.merges) and tables.merges == spec.merges
    if ranking is Ranking.SCORE_SUM:
        theirs = _unigram_scores(expected.tokenizer_json())
        return theirs is None or theirs == array("f", (spec.scores or ())[: len(theirs)])
    return not ranking.uses_scores or spec.scores is None or (not thorough and descends(actual, spec.scores))


def read_ranking(expected: Tokenizer, document: Document | None = None) -> TokenizerSpec | None:
    """Return a specification with the tokens of a reference, and its scores or merges; None if it exposes neither.

    `document` is its tokenizer.json, if that was parsed before.
    """
    if isinstance(expected, Declaring):
        return answer_or(None, expected.declared_spec)
    if isinstance(expected, PatternHolding):
        return answer_or(None, _read_ranks, expected)
    if isinstance(expected, DocumentHolding):
        return answer_or(None, lambda: _read_document(expected.tokenizer_json(), expected, document))
    return None


def _read_document(data: bytes, expected: Tokenizer, document: Document | None) -> TokenizerSpec | None:
    from tokverify.sources.huggingface.bpe import join_merges
    from tokverify.sources.huggingface.document import parse

    if scores := _unigram_scores(data):
        return TokenizerSpec(model="t5", tokens=pieces_of(expected)[: len(scores)], scores=scores)
    document = document or parse(data, expected.name, {}, tables_of(expected))
    if document.model_type != "BPE":
        return None
    return TokenizerSpec(model="gpt2", tokens=pieces_of(expected), merges=join_merges(document))


def _read_ranks(expected: Tokenizer) -> TokenizerSpec:
    """Return the merges of a tokenizer that joins any two neighbors that are a token, the one with the lowest id first.

    They are those that llama.cpp's converter writes for it.
    """
    from tokverify.sources.tiktoken.merges import list_merges, spell_merges

    added = expected.added_tokens() if isinstance(expected, MatchListing) else {}
    ranks = {expected.token_bytes(id): id for id in range(expected.vocab_size) if id not in added}
    return TokenizerSpec(model="gpt2", tokens=pieces_of(expected), merges=spell_merges(list_merges(ranks)))


def _merges_follow_ids(actual: Encoder) -> bool:
    """Whether the merges of a file make tokens in the order of their ids, and each that two others can make."""
    ids = actual.settings.id_by_piece
    made = [ids.get(piece, -1) for piece in pieces_made_by(actual.spec.merges or ())]
    if any(map(gt, made, islice(made, 1, None))):
        return False
    missing = {id for id, attribute in enumerate(actual.settings.attributes) if attribute == Attribute.NORMAL}
    missing.difference_update(made)
    pieces = (actual.settings.pieces[id] for id in missing)
    return not any(piece[:at] in ids and piece[at:] in ids for piece in pieces for at in range(1, len(piece)))


def _unigram_scores(document: bytes) -> array[float] | None:
    """Return the scores in a tokenizer.json of a unigram model, as precise as in a GGUF file; None for other models."""
    try:
        return array("f", (score for _, score in msgspec.json.decode(document, type=_Document).model.vocab))
    except (msgspec.MsgspecError, UnicodeDecodeError, OverflowError):
        return None


def _arrays(spec: TokenizerSpec, ranking: Ranking) -> tuple[Sequence[object] | None, ...]:
    """Return what decides the order in which pieces are joined."""
    return (spec.merges,) if ranking is Ranking.MERGE_RANK else (spec.scores, spec.merges)


def descends(actual: Encoder, scores: Sequence[float]) -> bool:
    """Whether the scores of ordinary tokens never ascend, apart from those that many tokens share.

    One score for all of them ranks none: llama.cpp's converter writes -1000 without a .model.
    """
    is_normal = actual.settings.attributes.translate(_IS_NORMAL)
    ordinary = compress(scores, is_normal)
    first = next(ordinary, None)
    # In nearly all files, the second one has another score already.
    if next(ordinary, None) == first is not None and all(score == first for score in ordinary):
        return False
    module = usable_native_module()
    if module and isinstance(scores, array) and scores.typecode == "f":
        descends: bool = module.descends(scores.tobytes(), is_normal, _SHARED)
        return descends
    normal = list(compress(scores, is_normal))
    counts = Counter(normal)
    own = [score for score in normal if counts[score] < _SHARED]
    return not any(map(lt, own, islice(own, 1, None)))
