"""Token texts: which look like special tokens, and which fill up a vocabulary."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.families import find_family
from tokverify.engine.family import Ranking
from tokverify.engine.piece_index import find_unmade, index_pieces
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter
from tokverify.engine.special_text import TYPED_BY_TEXT, is_converted_sentinel
from tokverify.spec import TokenizerSpec, TokenType, pieces_made_by

if TYPE_CHECKING:
    from tokverify.engine.family import Settings

_PIPED = r"<\|[^|<>{}\s]{1,60}\|?>|<[^|<>{}\s/]{1,60}\|>|<｜[^｜<>{}\s]{1,60}｜>"
_NAMED = (
    r"</?(?:s|bos|eos|unk|pad|mask|sep|cls)>|<(?:start|end)_of_[a-z]+>|<fim[-_][a-z]+>|<extra_id_[0-9]+>"
    r"|\[(?:CLS|SEP|PAD|MASK|UNK|BOS|EOS|EOT|gMASK|sMASK)\]"
)

STRONG = re.compile(f"{_PIPED}|{_NAMED}")
"""Texts that are hardly ever anything but a special token."""

PLACEHOLDER = re.compile(
    r"<unused_?[0-9]+>|\[unused_?[0-9]+\]|<\|?(?:reserved|RESERVED)[\w ]*\|?>|<\|?extra_?[\w ]*\|?>|<s_?[0-9]+>"
    r"|\[UNUSED_TOKEN_[0-9]+\]"
)
"""Texts that fill up a vocabulary during training."""

PADDING = re.compile(
    r"\[PAD[0-9]*\]|<dummy_?[0-9]*>|<pad_?[0-9]+>|<\|?padding_?[0-9]*\|?>|madeupword[0-9]+|\[PADDING_?[0-9]+\]"
    r"|\[EMPTY_[0-9]+\]"
)
"""Texts with which a converter fills up a vocabulary, and what llama.cpp calls a token without a text."""

_KNOWN = frozenset(TYPED_BY_TEXT)


def is_marker(text: str) -> bool:
    """Check whether a text looks like a special token."""
    return text in _KNOWN or STRONG.fullmatch(text) is not None


def is_filler(text: str) -> bool:
    """Check whether a token with this text stands for nothing: it was reserved, or pads the vocabulary."""
    return (PADDING.fullmatch(text) or PLACEHOLDER.fullmatch(text)) is not None


def is_padding(text: str, type: int, model: str) -> bool:
    """Check whether a token that only one side has makes no difference: it stands for nothing, and no text contains it.

    A placeholder that is typed so that llama.cpp finds it in every text makes one. Nobody writes `[PAD32000]`, and
    T5's sentinels are typed so on purpose, and are not in its sentencepiece model.
    """
    family = find_family(model)
    is_sentinel = family is not None and family.ranking is Ranking.SCORE_SUM and is_converted_sentinel(text)
    is_found = type == TokenType.USER_DEFINED and not PADDING.fullmatch(text) and not is_sentinel
    return is_filler(text) and not is_found


def is_padded(first: str, second: str) -> bool:
    """Check whether two texts of one id stand for nothing, and a converter has made up one of them as padding."""
    return is_filler(first) and is_filler(second) and any(map(PADDING.fullmatch, (first, second)))


def ordinary_unmade(spec: TokenizerSpec, settings: Settings) -> list[int]:
    """Return the NORMAL tokens of several characters that no merge makes; none in families without merges."""
    if not settings.family.is_bpe or not spec.merges:
        return []
    normal, pieces = Attribute.NORMAL.value, settings.pieces
    unmade = _unmade(spec.merges, settings.ids)
    return sorted(id for id in unmade if settings.attributes[id] == normal and len(pieces[id]) > 1)


def _unmade(merges: Sequence[str], ids: Mapping[str, int]) -> Sequence[int]:
    found = find_unmade(merges, ids)
    if found is None:
        made = set(pieces_made_by(merges))
        found = [id for piece, id in ids.items() if piece not in made]
    return found


def lost_merges(spec: TokenizerSpec) -> frozenset[int]:
    """Return the tokens of several characters that no merge makes among those that merges make.

    Added tokens have ids before or after all of these, so merges are missing, and not types.
    """
    family = find_family(spec.model)
    if family is None or not family.is_bpe or not spec.merges:
        return frozenset()
    unmade = set(_unmade(spec.merges, index_pieces(spec.tokens)))
    ids = range(len(spec.tokens))
    first, last = (next((id for id in order if id not in unmade), -1) for order in (ids, reversed(ids)))
    return frozenset(id for id in unmade if first < id < last and len(spec.tokens[id]) > 1)


def never_made(spec: TokenizerSpec, settings: Settings) -> list[int]:
    """Return those of them that no merge could make, as texts are split within them before merges apply.

    Such a token is useless, unless it is matched in texts before that and has lost its type.
    """
    split, pieces = splitter(PRE_TOKENIZERS[settings.pre]), settings.pieces
    return [id for id in ordinary_unmade(spec, settings) if len(split(pieces[id])) > 1]
