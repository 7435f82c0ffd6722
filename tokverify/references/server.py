"""The reference `server`: a running llama-server, queried over HTTP.

Source: `/tokenize`, `/detokenize`, `/props` and `/v1/models` in llama.cpp's `tools/server`. `/tokenize` also accepts a
list of ids as content and returns the bytes of each, which reveals the vocabulary.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.references.reference import FoundReference
from tokverify.spec import MAX_TOKENS
from tokverify.system.http_connection import AnswerError, Connection

if TYPE_CHECKING:
    from tokverify.references.reference import Request

CAVEAT = "the server exposes neither which tokens are special nor their pieces, only the bytes that it renders for them"
KEY_VARIABLE = "LLAMA_API_KEY"
"""The environment variable with the keys of a server, from which llama-server itself reads them; the first is sent."""
SERVERS_VARIABLE = "TOKVERIFY_SERVERS"
"""The environment variable with the addresses that may be sent the key although a configuration names them."""

_IDS_PER_REQUEST = 16_384
_MAX_ID = (1 << 31) - 1


class ServerTokenizer:
    """The tokenizer of a llama-server."""

    name = "llama-server"
    parses_special = True
    adds_special = True
    decodes_as_llama_cpp = False

    def __init__(self, connection: Connection, vocab_size: int) -> None:
        self._connection = connection
        self.vocab_size = vocab_size
        self.special_ids: Mapping[str, int] = {}

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to ids with `/tokenize`."""
        content = {"content": text, "add_special": add_special, "parse_special": parse_special}
        try:
            tokens = _request_tokens(self._connection, content)
        except AnswerError as error:
            raise EncodeError(str(error)) from error
        if not all(type(token) is int and 0 <= token <= _MAX_ID for token in tokens):
            raise EncodeError(f"{self._connection.address}: the tokens in its answer are not ids")
        return tokens

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids with `/detokenize`, which concatenates their texts; invalid UTF-8 becomes U+FFFD."""
        # subtle: JSON allows any number, and the server would truncate it to 32 bits.
        if unknown := [id for id in ids if not 0 <= id < self.vocab_size]:
            raise EncodeError(f"the server has no token with the id {unknown[0]}")
        try:
            content = self._connection.ask("/detokenize", {"tokens": list(ids)}).get("content")
        except AnswerError as error:
            raise EncodeError(str(error)) from error
        if not isinstance(content, str):
            raise EncodeError(f"{self._connection.address}: the answer of /detokenize contains no text")
        return content.encode(errors="replace")

    def piece(self, id: int) -> str:
        """Return the text that the server renders for a token, or its id as `<5>` if that is empty.

        The server does not expose the piece itself, with its mark for a space.
        """
        if not 0 <= id < self.vocab_size:
            return ""
        return self._token_bytes[id].decode("utf-8", "surrogateescape") or f"<{id}>"

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that the server renders for a token; none for an id without a token."""
        return self._token_bytes[id] if 0 <= id < self.vocab_size else b""

    @cached_property
    def _token_bytes(self) -> list[bytes]:
        ids = range(self.vocab_size)
        starts = range(0, self.vocab_size, _IDS_PER_REQUEST)
        batches = (ids[start : start + _IDS_PER_REQUEST] for start in starts)
        return list(chain.from_iterable(_bytes_of(self._connection, batch) for batch in batches))


def load(request: Request, *, seconds: float = 30.0) -> FoundReference:
    """Connect to the llama-server at an address; `seconds` is the time limit for an answer.

    Raises:
        TokverifyError: If it cannot be reached, or something else answers.
        UnsupportedError: If it does not expose its vocabulary.
    """
    connection = Connection(request.location, seconds=seconds, key=_key(request))
    model = _model(connection)
    _bytes_of(connection, range(1))
    versions = {}
    with contextlib.suppress(AnswerError):
        versions["llama-server"] = str(connection.ask("/props").get("build_info", "unknown"))
    return FoundReference(
        ServerTokenizer(connection, model["meta"]["n_vocab"]),
        source=f"{connection.address}, {model.get('id', 'a model without a name')}",
        caveat=CAVEAT,
        versions=versions,
    )


def _key(request: Request) -> str | None:
    """Return the key to send: none to an address from a configuration, unless the environment names that address."""
    known = [address.strip().rstrip("/") for address in os.environ.get(SERVERS_VARIABLE, "").split(",")]
    if request.is_configured and request.location.rstrip("/") not in known:
        return None
    return os.environ.get(KEY_VARIABLE, "").partition(",")[0] or None


def _model(connection: Connection) -> dict[str, Any]:
    """Return the server's description of its model, which includes the size of the vocabulary."""
    models = connection.ask("/v1/models").get("data")
    for model in models if isinstance(models, list) else ():
        if isinstance(model, dict) and isinstance(meta := model.get("meta"), dict):
            size = meta.get("n_vocab")
            if type(size) is int and size > MAX_TOKENS:
                raise UnsupportedError(
                    f"{connection.address}: /v1/models reports an n_vocab of more than {MAX_TOKENS:,}, the limit"
                )
            if type(size) is int and size > 0:
                return model
    raise UnsupportedError(
        f"{connection.address}: /v1/models does not report n_vocab: not a llama-server, an old one, or a router"
    )


def _request_tokens(connection: Connection, content: Mapping[str, object]) -> list[Any]:
    tokens = connection.ask("/tokenize", content).get("tokens")
    if not isinstance(tokens, list):
        raise AnswerError(f"{connection.address}: the answer of /tokenize contains no list of tokens")
    return tokens


def _bytes_of(connection: Connection, ids: Iterable[int]) -> list[bytes]:
    ids = list(ids)
    tokens = _request_tokens(connection, {"content": ids, "with_pieces": True})
    try:
        by_id = {token["id"]: _bytes(token["piece"]) for token in tokens}
        return [by_id[id] for id in ids]
    except (KeyError, TypeError, ValueError) as error:
        raise UnsupportedError(
            f"{connection.address}: /tokenize does not report the bytes of ids; is it an old llama-server?"
        ) from error


def _bytes(piece: object) -> bytes:
    # Bytes that are not valid UTF-8 by themselves are sent as numbers.
    if isinstance(piece, str):
        return piece.encode()
    if isinstance(piece, list) and all(type(byte) is int for byte in piece):
        return bytes(piece)
    raise TypeError("neither a text nor a list of bytes")
