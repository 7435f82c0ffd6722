"""Guard the references of other packages: whatever one raises or returns ends as an error of one line that names it.

The guard has exactly the capabilities of the tokenizer that it wraps, so that code which checks for a capability sees
no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any, cast

from tokverify.errors import EncodeError, EndedBySignalError, TokverifyError, UnsupportedError
from tokverify.references.reference import FoundReference
from tokverify.spec import MAX_TOKENS, TokenizerSpec, TokenType
from tokverify.system.library_error import raised_as
from tokverify.tokenizer import GenerationEnds, Tokenizer, TokenizerStages

_IDS_END = 1 << 31


def guard(kind: str, found: object) -> FoundReference:
    """Return what the loader of another package returned, with a guarded tokenizer.

    Raises:
        TokverifyError: If it is no reference, or its tokenizer lacks a part of the protocol.
    """
    if not isinstance(found, FoundReference):
        raise TokverifyError(f"{kind}: its loader returned a {type(found).__name__}, not a FoundReference")
    for name, (what, is_valid) in _FIELDS.items():
        if not is_valid(getattr(found, name)):
            raise TokverifyError(f"{kind}: its loader returned a FoundReference whose `{name}` is not {what}")
    if type(found.tokenizer).__module__.partition(".")[0] == __name__.partition(".")[0]:
        return found
    members = {name: member for name, member in _MEMBERS.items() if _has(found.tokenizer, name)}
    missing = [name for name in vars(Tokenizer) if not name.startswith("_") and name not in members]
    if missing:
        raise TokverifyError(f"{kind}: its tokenizer lacks {', '.join(missing)} of the protocol Tokenizer")
    made = type("GuardedTokenizer", (_Guarded,), {name: member.guarded(name) for name, member in members.items()})
    return replace(found, tokenizer=cast("Tokenizer", made(kind, found.tokenizer)))


def _has(tokenizer: object, name: str) -> bool:
    try:
        getattr(tokenizer, name)
    except AttributeError:
        return False
    except EndedBySignalError:
        raise
    except (Exception, SystemExit):  # noqa: BLE001 - it is there, and whoever uses it learns what is wrong
        return True
    return True


class _Guarded:
    """Passes calls on; the members are added by `guard`."""

    def __init__(self, kind: str, tokenizer: object) -> None:
        self._kind = kind
        self._tokenizer = tokenizer
        self._valid: dict[str, object] = {}
        """The last valid value of each property: to check 262,000 pieces takes longer than most of their uses."""

    def _use(self, name: str, member: _Member, use: Callable[[Any], object], size: int | None) -> Any:  # noqa: ANN401
        what = f"{self._kind}: `{name}` of its tokenizer"
        with own_errors(member.error, f"{what} failed"):
            value = use(getattr(self._tokenizer, name))
            if value is self._valid.get(name, self):
                return value
            is_valid = member.is_valid(value) and (size is None or len(cast("Sequence[object]", value)) == size)
        if not is_valid:
            raise member.error(f"{what} returned {_describe(value)}, not {member.what}")
        if name in _PROPERTIES:
            self._valid[name] = value
        return value


@contextmanager
def own_errors(error_class: type[TokverifyError], message: str) -> Iterator[None]:
    """Re-raise what another package raises in the block, except our own errors; it cannot end the program either."""
    ours: TokverifyError | None = None
    with raised_as(error_class, message):
        try:
            yield
        except TokverifyError as error:
            ours = error
        except EndedBySignalError:
            raise
        except SystemExit as error:
            raise RuntimeError(f"it tried to end the program with {error.code}") from None
    if ours is not None:
        raise ours


def _describe(value: object) -> str:
    kind = type(value).__name__
    return f"a {kind} of {len(value)}" if isinstance(value, list | tuple | dict) else f"a {kind}"


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of a protocol, and what is valid for it."""

    what: str
    is_valid: Callable[[Any], bool]
    error: type[TokverifyError] = TokverifyError
    is_batch: bool = False
    """Whether it returns as many results as its first argument has items."""

    def guarded(self, name: str) -> object:
        """Return the property or method of the guard."""

        def call(guard: _Guarded, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - of any member
            size = len(arguments[0]) if self.is_batch else None
            return guard._use(name, self, lambda method: method(*arguments, **options), size)  # noqa: SLF001

        def read(guard: _Guarded) -> Any:  # noqa: ANN401
            return guard._use(name, self, lambda value: value, None)  # noqa: SLF001

        return property(read) if name in _PROPERTIES else call


def _is_a(*kinds: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kinds)


def _is_list_of(is_valid: Callable[[Any], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, Sequence) and all(map(is_valid, value))


def _is_ids(value: object) -> bool:
    # -1 stands for an unknown token that a vocabulary lacks.
    return isinstance(value, list) and all(type(id) is int and -1 <= id < _IDS_END for id in value)


def _is_collection_of_ids(value: object) -> bool:
    return isinstance(value, Collection) and _is_ids([*value])


def _is_ids_or_error(value: object) -> bool:
    return isinstance(value, EncodeError | UnsupportedError) or _is_ids(value)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_TOKENS


def _are_roles(value: object) -> bool:
    return isinstance(value, Mapping) and _are_texts([*value]) and _is_ids([*value.values()])


def _are_texts(value: object) -> bool:
    is_listing = isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes)
    return is_listing and all(map(_is_a(str), cast("Sequence[object]", value)))


def _is_by_id(value: object) -> bool:
    return isinstance(value, Mapping) and _is_ids([*value])


_FLAG = _Member("a bool", _is_a(bool))
_TEXT = _Member("a string", _is_a(str))
_TEXTS = _Member("a list of strings", _are_texts)
_DECODED = _Member("bytes", _is_a(bytes), EncodeError)
_PROPERTIES = {
    "name": _TEXT,
    "vocab_size": _Member(f"a number from 0 to {MAX_TOKENS:,}", _is_count),
    "stated_size": _Member(f"a number from 0 to {MAX_TOKENS:,}", _is_count),
    "special_ids": _Member("ids by role", _are_roles),
    "parses_special": _FLAG,
    "adds_special": _FLAG,
    "decodes_as_llama_cpp": _FLAG,
    "always_parses_special": _FLAG,
    "pieces": _TEXTS,
    "control_texts": _TEXTS,
    "added_texts": _TEXTS,
    "supplied_names": _Member("a collection of ids", _is_collection_of_ids),
    "hidden_vocabulary": _TEXT,
    "path": _Member("a Path or None", _is_a(Path, NoneType)),
    "split_pattern": _TEXT,
    "left_open": _TEXT,
}
_METHODS = {
    "encode": _Member(f"a list of ids from -1 to {_IDS_END - 1:,}", _is_ids, EncodeError),
    "decode": _DECODED,
    "piece": _TEXT,
    "token_bytes": _Member("bytes", _is_a(bytes)),
    "bytes_of_tokens": _Member("a list of bytes", _is_list_of(_is_a(bytes))),
    "encode_many": _Member(
        "a list of ids or error for each text", _is_list_of(_is_ids_or_error), EncodeError, is_batch=True
    ),
    "decode_many": _Member(
        "bytes or an error for each list of ids", _is_list_of(_is_a(EncodeError, bytes)), EncodeError, is_batch=True
    ),
    "decode_as_llama_cpp": _DECODED,
    "decode_as_document": _DECODED,
    "token_types": _Member("a list of types", _is_list_of(frozenset(TokenType).__contains__)),
    "lists_role": _FLAG,
    "generation_ends": _Member("GenerationEnds", _is_a(GenerationEnds)),
    "added_tokens": _Member("added tokens by id", _is_by_id),
    "normalized_tokens": _Member("texts by id", lambda value: _is_by_id(value) and _are_texts([*value.values()])),
    "declared_spec": _Member("a TokenizerSpec", _is_a(TokenizerSpec)),
    "tokenizer_json": _Member("bytes", _is_a(bytes)),
    "stages": _Member("TokenizerStages", _is_a(TokenizerStages), EncodeError),
}
_MEMBERS = _PROPERTIES | _METHODS
"""The members of `Tokenizer` and of all its capabilities; a test compares both."""

_FIELDS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "source": ("a string", _is_a(str)),
    "reason": ("a string", _is_a(str)),
    "caveat": ("a string", _is_a(str)),
    "sha256": ("a string or None", _is_a(str, NoneType)),
    "path": ("a Path or None", _is_a(Path, NoneType)),
    "versions": ("strings by name", lambda value: isinstance(value, Mapping) and _are_texts([*value, *value.values()])),
    "reads_model": ("a bool", _is_a(bool)),
    "is_rebuilt": ("a bool", _is_a(bool)),
}
