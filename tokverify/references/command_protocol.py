"""The JSON Lines protocol of docs/programs.md: what a program is asked, and what it may respond.

Nothing in a response is trusted.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.references.reference import shown_name
from tokverify.spec import MAX_TOKENS, TokenType
from tokverify.system.library_error import summary
from tokverify.text.utf8 import to_text

VERSION = 1
"""The version of the protocol."""

ADD_SPECIAL, PARSE_SPECIAL, ALWAYS_PARSE_SPECIAL, DECODE, TOKENS, STREAM, EXTEND = CAPABILITIES = (
    "add_special",
    "parse_special",
    "always_parse_special",
    "decode",
    "tokens",
    "stream",
    "extend",
)
"""What a program can do besides encoding texts."""

Failure: TypeAlias = EncodeError | UnsupportedError
"""What a program may respond for one item: it cannot do this, or does not support the options."""
Result = TypeVar("Result")

_FAILURES: Mapping[str, type[EncodeError] | type[UnsupportedError]] = {
    "error": EncodeError,
    "unsupported": UnsupportedError,
}

_MAX_ID = (1 << 31) - 1
_MAX_SHOWN = 80
_TYPES = {type.name.lower(): type for type in TokenType}


class ResponseError(Exception):
    """A response does not follow the protocol; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Hello:
    """What a program says about itself."""

    name: str
    version: str
    vocab_size: int
    capabilities: frozenset[str]
    special_ids: Mapping[str, int]
    control_texts: tuple[str, ...] | None
    """The texts of its control tokens; None if it does not list them."""


@dataclass(frozen=True, slots=True)
class ListedToken:
    """A token as a program lists it."""

    piece: str
    token_bytes: bytes | None
    """None if the program does not say which bytes it represents."""
    type: TokenType
    """UNDEFINED if the program does not say."""


@dataclass(frozen=True, slots=True)
class Operation(Generic[Result]):
    """A request about a list of items, which the response answers one by one."""

    name: str
    items: str
    """The key of the items in the request."""
    results: str
    """The key of the results in the response."""
    read: Callable[[object], Result]
    """Reads one result, which may be an error; raises a ResponseError for anything else."""

    def read_all(self, response: Mapping[str, Any], count: int) -> list[Result]:
        """Read the results in a response to a request about `count` items.

        Raises:
            ResponseError: If the response does not follow the protocol.
        """
        values = response.get(self.results)
        if not isinstance(values, list) or len(values) != count:
            found = f"has {len(values):,} items" if isinstance(values, list) else f"is {_show(values)}"
            raise ResponseError(f"`{self.results}` {found}, not a list of {count:,}")
        return list(map(self.read, values))


SIZES = range(1, MAX_TOKENS + 1)
"""How many tokens a program may have."""


def read_hello(response: Mapping[str, Any], sizes: range = SIZES) -> Hello:
    """Read the response to `hello`, with one of these numbers of tokens.

    Raises:
        ResponseError: If it lacks something or contains a value of the wrong type.
    """
    version = response.get("protocol")
    if type(version) is not int or version != VERSION:
        raise ResponseError(f"`protocol` is {_show(version)}; this tokverify speaks {VERSION}")
    capabilities = _read_texts(response, "capabilities")
    if unknown := [name for name in capabilities if name not in CAPABILITIES]:
        raise ResponseError(f"`capabilities` contains {_show(unknown[0])}; known are {', '.join(CAPABILITIES)}")
    size = response.get("vocab_size")
    if type(size) is not int or size not in sizes:
        raise ResponseError(f"`vocab_size` is {_show(size)}, not a number from {sizes[0]} to {sizes[-1]:,}")
    return Hello(
        name=_read_name(response, "name"),
        version=_read_name(response, "version"),
        vocab_size=size,
        capabilities=frozenset(capabilities),
        special_ids=_read_special_ids(response.get("special_ids", {}), size),
        control_texts=_read_texts(response, "control_texts") if "control_texts" in response else None,
    )


def _or_failure(read: Callable[[object], Result]) -> Callable[[object], Result | Failure]:
    """Return a function that reads one result, or the error that a program responds instead of it."""

    def read_either(value: object) -> Result | Failure:
        failure = _read_failure(value)
        return read(value) if failure is None else failure

    return read_either


def _read_ids(value: object) -> list[int]:
    """Read the ids of one text."""
    if not isinstance(value, list) or not all(map(_is_id, value)):
        raise ResponseError(f"{_show(value)} is neither a list of ids nor an error")
    return value


def _read_growing(value: object) -> list[list[int]]:
    """Read the ids of a text after each of its pieces."""
    if not isinstance(value, list) or not all(isinstance(ids, list) and all(map(_is_id, ids)) for ids in value):
        raise ResponseError(f"{_show(value)} is neither a list of lists of ids nor an error")
    return value


def _read_chunks(value: object) -> list[bytes]:
    """Read what a program prints after each id, and at the end."""
    if not isinstance(value, list):
        raise ResponseError(f"{_show(value)} is neither a list of texts nor an error")
    return list(map(require_bytes, value))


def _read_token(value: object) -> ListedToken | None:
    """Read one entry of the vocabulary; None if the id has no token."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ResponseError(f"{_show(value)} is not a token: neither null nor an object with `piece`")
    represented = value.get("bytes")
    type = value.get("type", "undefined")
    if not isinstance(type, str) or type not in _TYPES:
        raise ResponseError(f"{_show(type)} is not a type of tokens; use one of {', '.join(_TYPES)}")
    return ListedToken(
        to_text(require_bytes(value.get("piece"))),
        None if represented is None else require_bytes(represented),
        _TYPES[type],
    )


def _read_failure(value: object) -> Failure | None:
    for key, kind in _FAILURES.items():
        message = value.get(key) if isinstance(value, dict) else None
        if isinstance(message, str):
            return kind(summary(ValueError(message)))
    return None


def require_bytes(value: object) -> bytes:
    """Read bytes: a text, or an object with `base64`.

    Raises:
        ResponseError: If the value is neither of these.
    """
    if isinstance(value, str):
        return value.encode(errors="replace")
    data = value.get("base64") if isinstance(value, dict) else None
    try:
        return base64.b64decode(data, validate=True)  # type: ignore[arg-type]  # fails for anything but a text
    except (TypeError, ValueError):
        raise ResponseError(f"{_show(value)} is neither a text nor an object with `base64`") from None


def _is_id(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MAX_ID


def _read_name(response: Mapping[str, Any], key: str) -> str:
    name = shown_name(response.get(key), "")
    if not name:
        raise ResponseError(f"`{key}` is {_show(response.get(key))}, not a text")
    return name


def _read_texts(response: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = response.get(key, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ResponseError(f"`{key}` is not a list of texts")
    return tuple(value)


def _read_special_ids(value: object, vocab_size: int) -> Mapping[str, int]:
    if not isinstance(value, dict) or not all(_is_id(id) and id < vocab_size for id in value.values()):
        raise ResponseError("`special_ids` does not map roles, such as `bos`, to ids of the vocabulary")
    return value


def _show(value: object) -> str:
    """Show a value of a response on one short line."""
    shown = ascii(value)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}..."


ENCODE: Operation[list[int] | Failure] = Operation("encode", "texts", "ids", _or_failure(_read_ids))
DECODE_IDS: Operation[bytes | Failure] = Operation("decode", "ids", "decoded", _or_failure(require_bytes))
STREAM_IDS: Operation[list[bytes] | Failure] = Operation("stream", "ids", "chunks", _or_failure(_read_chunks))
EXTEND_TEXTS: Operation[list[list[int]] | Failure] = Operation("extend", "texts", "ids", _or_failure(_read_growing))
LIST_TOKENS: Operation[ListedToken | Failure | None] = Operation("tokens", "ids", "tokens", _read_token)
