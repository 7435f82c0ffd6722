"""Token texts: which look like special tokens, and which fill up a vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tokverify.engine.attribute import ORDINARY
from tokverify.engine.families import find_family
from tokverify.engine.family import Ranking, Settings
from tokverify.engine.joined_strings import find_containing
from tokverify.engine.special_text import TYPED_BY_TEXT, is_converted_sentinel
from tokverify.spec import TokenType

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


def ordinary_markers(settings: Settings) -> Iterator[int]:
    """Yield the ordinary tokens that look special; llama.cpp knows those that begin otherwise by their texts."""
    # Few pieces contain these, and to find of each piece that it is no marker takes long.
    for id in sorted({*find_containing(settings.pieces, "<"), *find_containing(settings.pieces, "[")}):
        piece = settings.pieces[id]
        if piece.startswith(("<", "[")) and settings.attributes[id] & ORDINARY and is_marker(piece):
            yield id


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
