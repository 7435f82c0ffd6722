"""Report tokens that the two sides match in a text under different conditions, because their types differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from tokverify.engine.special_text import BYTE_PIECE
from tokverify.errors import TokverifyError
from tokverify.report.finding import ERROR, INFO, WARNING
from tokverify.report.tokenizer_difference import Aspect
from tokverify.spec import TokenType
from tokverify.text.wording import list_tokens, plural
from tokverify.tokenizer import Declaring, TypeListing, pieces_of
from tokverify.verify.digest import make_difference
from tokverify.verify.failure import NotComparedError
from tokverify.verify.token_text import is_filler, is_marker

if TYPE_CHECKING:
    from tokverify.report.finding import Severity
    from tokverify.report.tokenizer_difference import TokenizerDifference
    from tokverify.tokenizer import Tokenizer


class _Class(Enum):
    """What a type means for the text: how a token is matched, and whether it represents anything."""

    CONTROL = "a control token"
    USER_DEFINED = "a user-defined token"
    ORDINARY = "an ordinary token"
    BYTE = "a byte token"
    UNUSED = "an unused token"


class _Way(NamedTuple):
    """A way in which types differ; tokens that differ in the same way are reported together."""

    severity: Severity
    actual: _Class
    expected: _Class
    reason: str


_CLASSES: Mapping[TokenType, _Class] = {
    TokenType.CONTROL: _Class.CONTROL,
    TokenType.UNKNOWN: _Class.CONTROL,
    TokenType.USER_DEFINED: _Class.USER_DEFINED,
    TokenType.BYTE: _Class.BYTE,
    TokenType.UNUSED: _Class.UNUSED,
    TokenType.NORMAL: _Class.ORDINARY,
    TokenType.UNDEFINED: _Class.ORDINARY,
}
_TYPES = {type.value: type for type in TokenType if type is not TokenType.UNDEFINED}
_MATCHED = frozenset({_Class.CONTROL, _Class.USER_DEFINED})


def types_of(tokenizer: Tokenizer) -> Sequence[TokenType]:
    """Return the types of a tokenizer's tokens, as `TypeListing` does.

    Raises:
        NotComparedError: If it does not know them.
    """
    try:
        if isinstance(tokenizer, TypeListing):
            return tokenizer.token_types()
        types = tokenizer.declared_spec().types if isinstance(tokenizer, Declaring) else None
    except TokverifyError as error:
        raise NotComparedError(f"the types of tokens: {error}") from error
    if types is None:
        raise NotComparedError(f"the types of tokens: {tokenizer.name} does not know them")
    return list(map(_to_type, types))


def _to_type(value: int) -> TokenType:
    """Return the type that a file declares; a token of an unknown type represents nothing, as in llama.cpp."""
    return _TYPES.get(value, TokenType.UNUSED)


def find_type_differences(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield how types differ, of the tokens that both sides have; one difference for each way.

    Raises:
        NotComparedError: If one side does not know its types.
    """
    pieces = pieces_of(actual)
    by_way: dict[_Way, list[int]] = {}
    for id, types in _find_differing(actual, expected):
        if pieces[id] and actual.piece(id) and expected.piece(id):
            way = _find_way(actual, id, *types)
            if way:
                by_way.setdefault(way, []).append(id)
    for way, ids in by_way.items():
        yield _describe(way, ids, pieces)


def _find_differing(actual: Tokenizer, expected: Tokenizer) -> Iterator[tuple[int, tuple[TokenType, TokenType]]]:
    our_types = types_of(actual)
    # A tokenizer that is no GGUF file lists ordinary tokens as UNDEFINED, if nothing more is known of them.
    knows_all = TokenType.NORMAL in our_types
    for id, (ours, theirs) in enumerate(zip(our_types, types_of(expected), strict=False)):
        # subtle: only a few of a quarter of a million tokens differ, so the cheap comparison comes first.
        if ours is TokenType.UNDEFINED and knows_all:
            if actual.token_bytes(id) != expected.token_bytes(id):
                yield id, (ours, theirs)
        elif ours is not theirs and _CLASSES[ours] is not _CLASSES[theirs]:
            yield id, (ours, theirs)


def _class_of(actual: TokenType) -> _Class:
    """Return the class of a type that differs; an undefined type in a file means that the token represents nothing."""
    return _Class.UNUSED if actual is TokenType.UNDEFINED else _CLASSES[actual]


def _find_way(tokenizer: Tokenizer, id: int, actual: TokenType, expected: TokenType) -> _Way | None:
    """Return how the types of one token differ; None if that has no effect."""
    ours, theirs = _class_of(actual), _CLASSES[expected]
    piece = tokenizer.piece(id)
    if {ours, theirs} == {_Class.BYTE, _Class.ORDINARY} and (
        expected is TokenType.UNDEFINED and BYTE_PIECE.fullmatch(piece)
    ):
        return None
    severity, reason = _judge(tokenizer, id, actual, expected)
    return _Way(severity, ours, theirs, reason)


def _judge(tokenizer: Tokenizer, id: int, actual: TokenType, expected: TokenType) -> tuple[Severity, str]:
    """Return how serious a difference is, and why it is not an error."""
    piece, ours, theirs = tokenizer.piece(id), _class_of(actual), _CLASSES[expected]
    if _is_overridden(tokenizer, id, theirs):
        return WARNING, "the file declares what the reference does, and llama.cpp overrides it"
    if {ours, theirs} == {_Class.CONTROL, _Class.USER_DEFINED} and ours is _Class.CONTROL and is_marker(piece):
        return INFO, "converters type what looks like a special token as a control token"
    if TokenType.UNKNOWN in {actual, expected} and not {ours, theirs} <= _MATCHED:
        return WARNING, "only one side matches the text of its unknown token"
    if _Class.UNUSED in {ours, theirs} and is_filler(piece):
        return INFO, "it is reserved or padding"
    return ERROR, ""


def _is_overridden(tokenizer: Tokenizer, id: int, expected: _Class) -> bool:
    """Check whether the file declares the class that the reference has, so that only llama.cpp differs."""
    if not isinstance(tokenizer, TypeListing) or not isinstance(tokenizer, Declaring):
        return False
    declared = tokenizer.declared_spec().types
    return declared is not None and _CLASSES[_to_type(declared[id])] is expected


def _describe(way: _Way, ids: Sequence[int], pieces: Sequence[str]) -> TokenizerDifference:
    count = plural(len(ids), "token")
    verb = "is" if len(ids) == 1 else "are each"
    reason = f" ({way.reason})" if way.reason else ""
    message = (
        f"{count} {verb} {way.actual.value} in the model, but {way.expected.value} in the reference{reason}: "
        f"{list_tokens(ids, pieces)}"
    )
    return make_difference(Aspect.TYPES, way.severity, message, ids, facts=[way.actual.name, way.expected.name])
