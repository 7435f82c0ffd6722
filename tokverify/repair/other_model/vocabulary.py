"""Compare whole vocabularies: the order of the tokens that both have tells a sibling of a model from a fault.

How many tokens they share does not: the versions of one model share nearly all. A fault moves tokens and leaves
something behind: their types, or the roles that point to them. It keeps the tokens, and mostly their order.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tokverify.compare.damage.table import describe_damage
from tokverify.engine.byte_level import SPELLED_SPACE
from tokverify.engine.families import find_family
from tokverify.engine.family import Alphabet
from tokverify.engine.joined_strings import find_changed
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.space_mark import count_space_marks
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.repair.spelling import text_of_bytes
from tokverify.repair.token_patch import kind_of, types_of
from tokverify.report.vocabulary_difference import NEARLY_ALL
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.texts.token_text import is_filler, is_marker

if TYPE_CHECKING:
    from tokverify.compare.opened import Opened

MARKS = "▁Ġ# "
"""How families mark tokens that begin or continue a word."""
_IN_PLACE = 0.05
"""If more of the tokens have the same ids, the file was once made from the reference; of other models, 0.5% have."""
_SHARED = 0.9
"""If two vocabularies share more of the tokens, one may be a permutation of the other; GPT-2 and MPT share 73%."""
_SOME = 0.5
"""The share of the tokens that a fault leaves, whatever else it does."""
_ORDERED = 0.5
"""If a larger share of the tokens is in the order of the reference, or in blocks that are, they were only moved."""
_TIMES = 10
"""As many times more tokens must begin with one mark of a space than with the other."""
_STEP = 16
"""At most so many ids are lost between neighboring tokens of a block."""
_ADDED = 0.01
"""If one side has more tokens that the other lacks, it is another version of the model; Mistral 0.3 has 2.3%."""


def has_other_tokens(tokens: Sequence[str], reference: Sequence[str]) -> bool:
    """Whether nearly all tokens of a reference differ from those with the same ids."""
    return len(find_changed(tokens, reference)) > NEARLY_ALL * min(len(tokens), len(reference))


def has_other_order(spec: TokenizerSpec, facts: Opened) -> str:
    """Find a vocabulary that no fault makes of ours."""
    return "nearly all of its tokens differ from those with the same ids here" if is_of_other_model(spec, facts) else ""


def is_of_other_model(spec: TokenizerSpec, facts: Opened) -> bool:
    """Whether a reference belongs to another model, or to another version of the model with other ids.

    Case, compatibility forms, NULs, line ends and the marks of words do not count, because faults change them.
    """
    tokens, reference = alike_lists(spec, facts)
    ours, theirs = list(map(_simplify, tokens)), list(map(_simplify, reference))
    in_place = sum(left == right for left, right in zip(ours, theirs, strict=False))
    if in_place >= _IN_PLACE * min(len(ours), len(theirs)):
        return False
    distinct, others = set(ours), set(theirs)
    shared = len(distinct & others) / max(len(distinct), len(others))
    if shared < _SOME or not _agrees_with_itself(spec):
        return shared < _SHARED and not _are_damaged(spec.tokens, facts.pieces)
    # Trainers of subwords do not number tokens by their texts, but programs write JSON with sorted keys.
    if shared >= _SHARED and _is_sorted(tokens) and not _is_sorted(reference):
        return False
    if _order_kept(ours, theirs) < _ORDERED:
        return True
    fillers = {_simplify(token) for token in (*tokens, *reference) if is_filler(token.strip(MARKS))}
    # A later version of a model adds tokens before the others, as those of Mistral do.
    added = max(len(distinct - others - fillers), len(others - distinct - fillers))
    return added > _ADDED * max(len(distinct), len(others))


def _are_damaged(tokens: Sequence[str], reference: Sequence[str]) -> bool:
    """Whether all tokens that differ became so in one known way."""
    pairs = zip(tokens, reference, strict=False)
    return bool(describe_damage([(text, right) for text, right in pairs if text != right]))


def _is_sorted(tokens: Sequence[str]) -> bool:
    """Whether nearly all tokens follow one that is less, as texts are compared."""
    return sum(before < after for before, after in pairwise(tokens)) >= NEARLY_ALL * (len(tokens) - 1)


def _with_spelled_bytes(spec: TokenizerSpec) -> list[str]:
    """Return the tokens of the file, of which those for bytes are spelled as what they represent, as a reference's."""
    matches = ((text, BYTE_PIECE.fullmatch(text)) for text in spec.tokens)
    return [text_of_bytes(bytes.fromhex(match[1]), spec.model) if match else text for text, match in matches]


def tokens_of(facts: Opened) -> Sequence[str]:
    """Return the tokens that a reference declares; none if it declares no tokenizer."""
    return facts.spec.tokens if facts.spec else ()


def texts_of(facts: Opened) -> Sequence[str]:
    """Return the texts of special tokens by id, and others of ordinary ones if the reference shows only their bytes.

    A tiktoken file declares no tokenizer that GGUF has, but its tokens have bytes.
    """
    return tokens_of(facts) or [data.decode(errors="replace") for data in facts.token_bytes]


def alike_lists(spec: TokenizerSpec, facts: Opened) -> tuple[Sequence[str], Sequence[str]]:
    """Return the tokens of both sides, spelled in the same way; none if many have the same places."""
    size = min(len(spec.tokens), len(facts.pieces))
    # To spell them takes long.
    if size and len(find_changed(spec.tokens, facts.pieces)) <= (1 - _IN_PLACE) * size:
        return (), ()
    return _with_spelled_bytes(spec), [text_of_bytes(data, spec.model) for data in facts.token_bytes]


def _order_kept(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """Return the share of the common tokens that are in the order of the reference, as a whole or in blocks."""
    places: dict[str, int] = {}
    for id, token in enumerate(theirs):
        places.setdefault(token, id)
    order = [places[token] for token in dict.fromkeys(ours) if token in places]
    in_blocks = sum(0 < after - before <= _STEP for before, after in pairwise(order))
    return max(in_blocks / len(order), _longest_ascent(order) / len(order))


def _longest_ascent(numbers: Iterable[int]) -> int:
    """Return the length of the longest ascending subsequence (patience sorting)."""
    ends: list[int] = []
    for number in numbers:
        at = bisect_left(ends, number)
        ends[at : at + 1] = [number]
    return len(ends)


def _agrees_with_itself(spec: TokenizerSpec) -> bool:
    """Whether most types and roles fit the texts of their tokens; they do not if only the texts were moved."""
    types = types_of(spec)
    fits = [
        BYTE_PIECE.fullmatch(text) is not None if type == TokenType.BYTE else _looks_special(text)
        for text, type in zip(spec.tokens, types, strict=False)
        if type in {TokenType.BYTE, TokenType.CONTROL, TokenType.UNKNOWN}
    ]
    fits += [_looks_special(spec.tokens[id]) for id in spec.special_ids.values() if id < len(spec.tokens)]
    return 2 * sum(fits) >= len(fits)


def _looks_special(text: str) -> bool:
    return is_marker(text) or is_filler(text) or kind_of(text) == "tags"


def _simplify(token: str) -> str:
    # UTF-16 that was read as bytes contains NULs, and a list that was read line by line, line ends.
    return unicodedata.normalize("NFKC", token.replace("\0", "").rstrip("\r\n").strip(MARKS)).casefold()


def has_other_spelling(spec: TokenizerSpec, facts: Opened) -> str:
    """Find a vocabulary that spells bytes, as GPT-2 does, where the other one marks spaces.

    The file's tokens must be written as its model reads them: the name alone can be wrong.
    """
    family = find_family(spec.model)
    if facts.spec is None or family is None or spec.model == facts.spec.model:
        return ""
    ours, theirs = _mark_of_space(spec), _mark_of_space(facts.spec)
    is_own = ours == (SPELLED_SPACE if family.alphabet is Alphabet.BYTE_LEVEL else ESCAPED_SPACE)
    if not (is_own and theirs) or ours == theirs:
        return ""
    return f"its tokens are written for the model {facts.spec.model}, and those here for {spec.model}"


def _mark_of_space(spec: TokenizerSpec) -> str | None:
    """Return what nearly all words begin with that begin with a mark of a space."""
    counts = count_space_marks(spec)
    (_, second), (mark, first) = sorted(counts.items(), key=lambda item: item[1])
    return mark if first > _TIMES * second else None
