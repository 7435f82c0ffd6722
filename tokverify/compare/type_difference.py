"""Report tokens that the two sides match in a text under different conditions, because their types differ."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, runtime_checkable

from tokverify.compare.digest import make_difference
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Ranking
from tokverify.engine.special_text import BYTE_PIECE, is_converted_control, is_converted_sentinel
from tokverify.errors import answer_or
from tokverify.report.finding import ERROR, INFO, WARNING, Severity
from tokverify.report.tokenizer_difference import BLAME, Aspect, Origin, TokenizerDifference
from tokverify.sources.config import find_left_out
from tokverify.sources.gguf.keys import TYPES
from tokverify.spec import TokenType, TokenTypes
from tokverify.text.wording import list_tokens, plural
from tokverify.texts.batch import Queries
from tokverify.texts.matching_text import find_alike
from tokverify.texts.token_text import is_filler, is_marker, ordinary_markers
from tokverify.texts.unmade_token import never_made
from tokverify.texts.vocabulary import to_type, types_of
from tokverify.tokenizer import Declaring, Tokenizer, TypeListing, pieces_of


class _Class(Enum):
    """What a type means for the text: how a token is matched, and whether it represents anything."""

    CONTROL = "a control token"
    USER_DEFINED = "a user-defined token"
    ORDINARY = "an ordinary token"
    BYTE = "a byte token"
    UNUSED = "an unused token"

    def describe(self, count: int) -> str:
        """Say what this many tokens are."""
        return self.value if count == 1 else f"{self.value.partition(' ')[2]}s"


class _Way(NamedTuple):
    """A way in which types differ; tokens that differ in the same way are reported together."""

    severity: Severity
    actual: _Class
    expected: _Class
    reason: str
    origin: Origin = Origin.UNKNOWN


_CLASSES: Mapping[TokenType, _Class] = {
    TokenType.CONTROL: _Class.CONTROL,
    TokenType.UNKNOWN: _Class.CONTROL,
    TokenType.USER_DEFINED: _Class.USER_DEFINED,
    TokenType.BYTE: _Class.BYTE,
    TokenType.UNUSED: _Class.UNUSED,
    TokenType.NORMAL: _Class.ORDINARY,
    TokenType.UNDEFINED: _Class.ORDINARY,
}
_MATCHED = frozenset({_Class.CONTROL, _Class.USER_DEFINED})
_CONTRADICTED = f"{BLAME}: its tokenizer_config.json says what the model does"
_CONFIGURED = "tokenizer_config.json calls it special, and llama.cpp's converter follows that for a sentencepiece model"
_MAY_BE_ALIKE = frozenset({_Class.ORDINARY, _Class.USER_DEFINED})
"""A token that is matched before the model runs may be the one that the model makes of the same text anyway."""
_MOST_ASKED = 2_000


def find_type_differences(
    actual: Tokenizer, expected: Tokenizer, contradicted: Collection[int] = ()
) -> Iterator[TokenizerDifference]:
    """Yield how types differ, of the tokens that both sides have; one difference for each way.

    Args:
        actual: The tokenizer under test.
        expected: The reference.
        contradicted: The added tokens of which the reference says in one place that they are special, in another that
            they are not.

    Raises:
        NotComparedError: If one side does not know its types.
    """
    pieces = pieces_of(actual)
    differing = {
        id: (ours, theirs)
        for id, ours, theirs in _find_differing(_Side.of(actual), _Side.of(expected))
        if pieces[id] and expected.piece(id) and not _may_be_equal(pieces[id], ours, theirs)
    }
    # subtle: a file with `▁the` as a user-defined token decodes it to these characters, and not to a space and `the`.
    doubtful = [
        id
        for id, sides in differing.items()
        if {side.meaning for side in sides} == _MAY_BE_ALIKE and actual.token_bytes(id) == expected.token_bytes(id)
    ]
    alike = find_alike(actual, expected, doubtful)
    by_way: dict[_Way, list[int]] = {}
    for id, (ours, theirs) in differing.items():
        way = _find_way(pieces[id], ours, theirs, alike)
        is_special = theirs.meaning is _Class.ORDINARY and ours.meaning is _Class.CONTROL
        is_matched = {ours.meaning, theirs.meaning} == _MATCHED
        if id in contradicted and way.severity is ERROR and (is_matched or is_special):
            if _is_converted(ours, theirs) and not expected.parses_special:
                way = way._replace(severity=INFO, reason=_CONFIGURED, origin=Origin.CONVENTION)
            else:
                way = way._replace(reason=_CONTRADICTED, origin=Origin.REFERENCE)
        by_way.setdefault(way, []).append(id)
    for way, ids in by_way.items():
        yield _describe(way, ids, pieces)


def find_unmatched_tokens(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield ordinary tokens that are matched in texts by a reference that does not tell its types.

    It is asked for markers, as no case need contain them, and for tokens that no merge could make: their texts need not
    look special, such as `>>TITLE<<`.
    """
    if not isinstance(actual, Encoder) or answer_or(None, types_of, expected) is not None:
        return
    pieces = actual.settings.pieces
    # Markers come first, although they have the highest ids: of the others, there may be too many.
    markers = [id for id in ordinary_markers(actual.settings) if not is_filler(pieces[id])]
    ids = list(dict.fromkeys([*markers, *never_made(actual.spec, actual.settings)]))[:_MOST_ASKED]
    texts = [f"a{pieces[id]}a" for id in ids]
    sides = (Queries(side).encode_all(texts, parse_special=side.parses_special) for side in (actual, expected))
    answers = zip(ids, *sides, strict=True)
    unmatched = sorted(id for id, ours, theirs in answers if id in (theirs or ()) and id not in (ours or ()))
    if unmatched:
        rest = ", but matched in texts by the reference"
        yield _describe_ordinary(unmatched, pieces, rest, "MATCHED")


def find_left_out_types(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield ordinary tokens that are added ones by the files beside a reference, of which its library knows nothing."""
    if not isinstance(actual, Encoder):
        return
    pieces, types = actual.settings.pieces, types_of(actual)
    listed = {id: text for id, text in find_left_out(expected).items() if id < len(pieces) and pieces[id] == text}
    ids = sorted(id for id in listed if types[id] == TokenType.NORMAL and not is_filler(pieces[id]))
    if ids:
        rest = ", but an added one by the files beside the reference, so that it is not matched in texts"
        yield _describe_ordinary(ids, pieces, rest, "LISTED")


def _describe_ordinary(ids: Sequence[int], pieces: Sequence[str], rest: str, fact: str) -> TokenizerDifference:
    are = "is" if len(ids) == 1 else "are"
    ordinary = _Class.ORDINARY.describe(len(ids))
    message = f"{plural(len(ids), 'token')} {are} {ordinary} in the model{rest}: {list_tokens(ids, pieces)}"
    return make_difference(Aspect.TYPES, ERROR, message, ids, facts=[_Class.ORDINARY.name, fact], keys=(TYPES,))


@runtime_checkable
class _Gguf(TypeListing, Declaring, Protocol):
    """Has the types that a GGUF file declares, after those that llama.cpp overrides."""


class _Side(NamedTuple):
    """The types of a tokenizer, and what they mean."""

    tokenizer: Tokenizer
    types: Sequence[TokenType]
    classes: Mapping[TokenType, _Class]
    is_gguf: bool
    declared: Sequence[int] | None
    """The types that a GGUF file declares, before llama.cpp overrides some."""

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> _Side:
        types = types_of(tokenizer)
        is_gguf = isinstance(tokenizer, _Gguf)
        declared = tokenizer.declared_spec().types if isinstance(tokenizer, _Gguf) else None
        # In a file, an undefined type means that the token represents nothing. A tokenizer that is no file lists
        # ordinary tokens as UNDEFINED, if nothing more is known of them.
        undefined = _Class.UNUSED if is_gguf or TokenType.NORMAL in types else _Class.ORDINARY
        return cls(tokenizer, types, {**_CLASSES, TokenType.UNDEFINED: undefined}, is_gguf, declared)

    def class_codes(self) -> bytes:
        """Return a number for what the type of each token means."""
        codes = {type.value: list(_Class).index(meaning) for type, meaning in self.classes.items()}
        values = self.types.values if isinstance(self.types, TokenTypes) else bytes(list(self.types))
        return values.translate(bytes(codes.get(value, 0) for value in range(256)))


class _Typed(NamedTuple):
    """A token on one side."""

    side: _Side
    id: int
    type: TokenType
    meaning: _Class


def _find_differing(actual: _Side, expected: _Side) -> Iterator[tuple[int, _Typed, _Typed]]:
    for id in _find_differing_bytes(actual.class_codes(), expected.class_codes()):
        left, right = (_Typed(side, id, side.types[id], side.classes[side.types[id]]) for side in (actual, expected))
        if not _is_undefined_in_file(left, right) or left.side.tokenizer.token_bytes(id) != (
            right.side.tokenizer.token_bytes(id)
        ):
            yield id, left, right


def _find_differing_bytes(left: bytes, right: bytes) -> Iterator[int]:
    """Yield where bytes differ, up to the end of the shorter ones; no Python code runs for those that are equal."""
    size = min(len(left), len(right))
    differing = int.from_bytes(left[:size], "little") ^ int.from_bytes(right[:size], "little")
    return (match.start() for match in re.finditer(rb"[^\0]", differing.to_bytes(size, "little")))


def _is_undefined_in_file(*sides: _Typed) -> bool:
    return any(side.type is TokenType.UNDEFINED and side.meaning is _Class.UNUSED for side in sides)


def _may_be_equal(piece: str, *sides: _Typed) -> bool:
    """Whether one side types a byte token, and the other knows nothing about the type of a piece such as `<0x0A>`."""
    has_undefined = any(side.type is TokenType.UNDEFINED for side in sides)
    classes = {side.meaning for side in sides}
    return has_undefined and classes == {_Class.BYTE, _Class.ORDINARY} and BYTE_PIECE.fullmatch(piece) is not None


def _find_way(piece: str, actual: _Typed, expected: _Typed, alike: Collection[int]) -> _Way:
    """Return how the types of one token differ, how serious that is, and why it is no error, or how it came about."""
    severity, reason, origin = ERROR, "", Origin.UNKNOWN
    types, classes = {actual.type, expected.type}, {actual.meaning, expected.meaning}
    is_converted = _is_converted(actual, expected) or _is_converted(expected, actual)
    if _is_overridden(actual, expected):
        severity, reason = WARNING, "the file declares what the reference does, and llama.cpp overrides it"
        origin = Origin.RUNTIME
    elif _is_overridden(expected, actual):
        severity, reason = WARNING, "the reference declares what the model does, and llama.cpp overrides it"
        origin = Origin.RUNTIME
    elif is_converted and is_converted_control(piece):
        severity, reason = INFO, "llama.cpp's converter types a token with such a text as a control token on purpose"
        origin = Origin.CONVENTION
    elif _is_sentinel(piece, actual, expected) or _is_sentinel(piece, expected, actual):
        severity, reason = INFO, "llama.cpp's converter types the added tokens of T5 as user-defined ones on purpose"
        origin = Origin.CONVENTION
    elif is_converted and is_marker(piece):
        severity, reason = _judge_marker(actual, expected)
    elif actual.id in alike:
        severity, reason = INFO, "no difference in any text that was tried: the model makes the same token of it"
    elif TokenType.UNKNOWN in types and not classes <= _MATCHED:
        severity, reason = WARNING, "only one side matches the text of its unknown token"
    elif _Class.UNUSED in classes and is_filler(piece):
        severity, reason = INFO, "it is reserved or padding"
    elif _is_left_ordinary(actual, expected):
        reason = "a type that llama.cpp's converter loses when it reads a .model"
    return _Way(severity, actual.meaning, expected.meaning, reason, origin)


def _judge_marker(*tokens: _Typed) -> tuple[Severity, str]:
    """Judge a marker typed CONTROL in a file, although its text alone is no reason for the converter to do so.

    Of a reference that never recognizes control tokens, it is not known whether the publisher declares them special.
    """
    if all(token.side.tokenizer.parses_special for token in tokens):
        return WARNING, "programs that look for it in an answer do not see it"
    return INFO, "converters type what looks like a special token as a control token"


def _is_overridden(token: _Typed, other: _Typed) -> bool:
    """Whether a GGUF file declares what the other side has, so that only llama.cpp differs."""
    declared = token.side.declared
    return declared is not None and _CLASSES[to_type(declared[token.id])] is other.meaning


def _is_converted(token: _Typed, source: _Typed) -> bool:
    """Whether a converter may have typed a user-defined token of the source as a control token of a GGUF file."""
    return _is_retyped(token, source, _Class.CONTROL, _Class.USER_DEFINED)


def _is_sentinel(piece: str, token: _Typed, source: _Typed) -> bool:
    """Whether a converter may have typed a control token of the source as a user-defined one, as it does for T5."""
    tokenizer = token.side.tokenizer
    is_unigram = isinstance(tokenizer, Encoder) and tokenizer.settings.family.ranking is Ranking.SCORE_SUM
    is_retyped = _is_retyped(token, source, _Class.USER_DEFINED, _Class.CONTROL)
    return is_retyped and is_unigram and is_converted_sentinel(piece)


def _is_left_ordinary(token: _Typed, source: _Typed) -> bool:
    """Whether a converter may have left a user-defined piece of a sentencepiece model ordinary.

    That is a fault: llama.cpp makes other tokens of its text, such as eleven of `[REFERENCE_DOC_15]` of Mistral.
    """
    tokenizer = source.side.tokenizer
    is_model = isinstance(tokenizer, Declaring) and not tokenizer.parses_special
    return is_model and _is_retyped(token, source, _Class.ORDINARY, _Class.USER_DEFINED)


def _is_retyped(token: _Typed, source: _Typed, meaning: _Class, declared: _Class) -> bool:
    """Whether a GGUF file gives a token one meaning, and a source of another kind another one."""
    is_pair = token.meaning is meaning and source.meaning is declared
    return is_pair and token.side.is_gguf and not source.side.is_gguf


def _describe(way: _Way, ids: Sequence[int], pieces: Sequence[str]) -> TokenizerDifference:
    count = plural(len(ids), "token")
    are = "is" if len(ids) == 1 else "are"
    ours, theirs = (side.describe(len(ids)) for side in (way.actual, way.expected))
    reason = f" ({way.reason})" if way.reason else ""
    message = f"{count} {are} {ours} in the model, but {theirs} in the reference{reason}: {list_tokens(ids, pieces)}"
    facts = [way.actual.name, way.expected.name]
    return make_difference(Aspect.TYPES, way.severity, message, ids, facts=facts, keys=(TYPES,), origin=way.origin)
