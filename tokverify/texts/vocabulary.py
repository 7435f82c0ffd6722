"""What tokenizers list of their vocabularies, and how two differ: sizes, the token of each id, special ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from operator import ne, or_

from tokverify.engine.joined_strings import JoinedStrings, find_differing
from tokverify.engine.piece_index import index_pieces
from tokverify.engine.special_text import BYTE_SPELLINGS
from tokverify.errors import GoneError, NotComparedError, TokverifyError, answer_or
from tokverify.report.vocabulary_difference import PieceDifference, VocabularyDifference
from tokverify.spec import TokenType, TokenTypes, ids_of_type
from tokverify.tokenizer import BytesListing, Declaring, Tokenizer, TypeListing, pieces_of, why_hidden

_TYPES = {type.value: type for type in TokenType if type is not TokenType.UNDEFINED}
_BYTE_PIECES = frozenset(BYTE_SPELLINGS)
_FEW = 8
"""Up to this fraction of the tokens is looked up one by one."""


def compare_vocabularies(actual: Tokenizer, expected: Tokenizer) -> VocabularyDifference | None:
    """Compare two vocabularies id by id; return None if one side does not list its tokens.

    If strings differ, their bytes are compared, so that a token that is only stored differently (`▁▁` for two spaces)
    does not count as a difference. Equal strings are assumed to represent the same bytes, except for `<0x0A>` and the
    like, which stand for a byte only if they are typed so.
    """
    if why_hidden(actual, expected):
        return None
    differing, respelled = [], 0
    for id, piece, other, is_respelled in _compare_tokens(actual, expected):
        if is_respelled:
            respelled += piece != other
        else:
            differing.append(PieceDifference(id, piece or None, other or None))
    return VocabularyDifference(
        actual_size=actual.vocab_size,
        expected_size=expected.vocab_size,
        pieces=tuple(_mark_unused(differing, actual, expected)),
        respelled=respelled,
        special_ids=find_other_roles(actual.special_ids, expected.special_ids),
    )


def list_other_tokens(actual: Tokenizer, expected: Tokenizer) -> list[tuple[int, str, str]]:
    """Return the ids that both have as different tokens, with their pieces: a part of `compare_vocabularies`.

    Of two unrelated vocabularies, nearly every id differs, and the report's objects for them take most of the time.
    """
    if why_hidden(actual, expected):
        return []
    compared = _compare_tokens(actual, expected)
    return [(id, piece, other) for id, piece, other, is_respelled in compared if piece and other and not is_respelled]


def _compare_tokens(actual: Tokenizer, expected: Tokenizer) -> Iterator[tuple[int, str, str, bool]]:
    """Yield each suspicious token, and whether it represents the same bytes in both."""
    suspicious = list(_find_suspicious(pieces_of(actual), pieces_of(expected)))
    are_many = len(suspicious) > actual.vocab_size // _FEW
    bytes_of_actual, bytes_of_expected = (_bytes_by_id(side, are_many=are_many) for side in (actual, expected))
    for id, piece, other in suspicious:
        yield id, piece, other, bool(piece and other) and bytes_of_actual(id) == bytes_of_expected(id)


def _bytes_by_id(tokenizer: Tokenizer, *, are_many: bool) -> Callable[[int], bytes]:
    """Return how to look up the bytes of a token: in a list of all that is made at once, if many are asked for."""
    if are_many and isinstance(tokenizer, BytesListing):
        return tokenizer.bytes_of_tokens().__getitem__
    return tokenizer.token_bytes


def _find_suspicious(pieces: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the id and the pieces of each token whose pieces differ, or can stand for a byte; "" for a missing one."""
    if isinstance(pieces, JoinedStrings) and isinstance(others, JoinedStrings):
        ids = index_pieces(pieces)
        bytes_of_both = {ids[piece] for piece in _BYTE_PIECES if piece in ids}
        found = sorted(bytes_of_both.union(find_differing(pieces, others)))
        are_many = len(found) > len(pieces) // _FEW
        left, right = (each.strings if are_many else each for each in (pieces, others))
        for id in found:
            piece, other = _piece(left, id), _piece(right, id)
            if piece or other:  # an empty piece is the same as none
                yield id, piece, other
        return
    size = max(len(pieces), len(others))
    left, right = ([*listed, *[""] * (size - len(listed))] for listed in (pieces, others))
    # Only a few of a quarter of a million tokens are suspicious, so no Python code runs for the others.
    are_suspicious = map(or_, map(ne, left, right), map(_BYTE_PIECES.__contains__, left))
    for id in compress(range(size), are_suspicious):
        yield id, left[id], right[id]


def _piece(pieces: Sequence[str], id: int) -> str:
    return pieces[id] if id < len(pieces) else ""


def _mark_unused(pieces: list[PieceDifference], actual: Tokenizer, expected: Tokenizer) -> Iterator[PieceDifference]:
    """Mark the tokens that only one side has and that it declares as unused."""
    has_extra = any(piece.expected is None for piece in pieces)
    has_missing = any(piece.actual is None for piece in pieces)
    sides = ((actual, has_extra), (expected, has_missing))
    types = [answer_or(None, types_of, side) if is_asked else None for side, is_asked in sides]
    unused = [frozenset(ids_of_type(each, TokenType.UNUSED)) for each in types]
    for piece in pieces:
        if piece.actual is not None and piece.expected is not None:
            yield piece
        else:
            yield replace(piece, is_unused=piece.id in unused[piece.actual is None])


def find_other_roles(actual: Mapping[str, int], expected: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return the roles that both sides know and that belong to different ids, with the actual and expected id."""
    return {role: (actual[role], expected[role]) for role in actual if expected.get(role, actual[role]) != actual[role]}


def bytes_of_tokens(tokenizer: Tokenizer) -> list[bytes]:
    """Return the bytes that each token represents, by id.

    Raises:
        TokverifyError: If the tokenizer cannot tell.
    """
    if isinstance(tokenizer, BytesListing):
        return tokenizer.bytes_of_tokens()
    return list(map(tokenizer.token_bytes, range(tokenizer.vocab_size)))


def types_of(tokenizer: Tokenizer) -> Sequence[TokenType]:
    """Return the types of a tokenizer's tokens, as `TypeListing` does.

    Raises:
        NotComparedError: If it does not know them.
    """
    try:
        if isinstance(tokenizer, TypeListing):
            return tokenizer.token_types()
        types = tokenizer.declared_spec().types if isinstance(tokenizer, Declaring) else None
    except GoneError:
        raise
    except TokverifyError as error:
        raise NotComparedError(f"the types of tokens: {error}") from error
    if types is None:
        raise NotComparedError(f"the types of tokens: {tokenizer.name} does not know them")
    return TokenTypes(_values_of(types).translate(_KNOWN))


def _values_of(types: Sequence[int]) -> bytes:
    if isinstance(types, TokenTypes):
        return types.values
    try:
        # subtle: a list, because bytes() copies an array's memory.
        return bytes(list(types))
    except ValueError:
        return bytes(value if value in _TYPES else 0 for value in types)


def to_type(value: int) -> TokenType:
    """Return the type that a file declares; a token of an unknown type represents nothing, as in llama.cpp."""
    return _TYPES.get(value, TokenType.UNUSED)


_KNOWN = bytes(map(to_type, range(256)))
