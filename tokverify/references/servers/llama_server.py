"""The tokenizer of a llama-server.

Source: `/tokenize`, `/detokenize`, `/props` and `/v1/models` in llama.cpp's `tools/server`. `/tokenize` also accepts a
list of ids as content and returns the bytes of each, which reveals the vocabulary.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.references.reference import FoundReference, find_unknown, shown_name
from tokverify.references.servers.detection import describe_model
from tokverify.references.servers.http_tokenizer import HttpTokenizer
from tokverify.spec import MAX_TOKENS
from tokverify.system.http_pool import AnswerError, Call, HttpPool
from tokverify.text.utf8 import to_text

CAVEAT = "the server exposes neither which tokens are special nor their pieces, only the bytes that it renders for them"

_IDS_PER_REQUEST = 16_384


class LlamaServerTokenizer(HttpTokenizer):
    """The tokenizer of a llama-server, which reveals the bytes of its tokens."""

    name = "llama-server"
    text_key = "content"
    always_parses_special = False
    hidden_vocabulary = ""
    chat_variables: Mapping[str, Any] = {
        "enable_thinking": True,
        "date_string": "02 Jan 2026",
        "datetime": "Jan 02 2026",
    }
    adapts_chats = True

    def __init__(self, pool: HttpPool, vocab_size: int) -> None:
        super().__init__(pool)
        self.vocab_size = vocab_size

    def request_encoding(self, text: str, *, add_special: bool, parse_special: bool) -> Call:
        """Return the request that encodes a text."""
        return Call("/tokenize", {"content": text, "add_special": add_special, "parse_special": parse_special})

    def request_decoding(self, ids: Sequence[int]) -> Call:
        """Return the request that decodes ids by joining their texts."""
        return Call("/detokenize", {"tokens": list(ids)})

    def decode_many(self, all_ids: Sequence[Sequence[int]]) -> list[bytes | EncodeError]:
        """Decode lists of ids; the result for a list with an unknown id is an error."""
        # subtle: JSON allows any number, and the server would truncate it to 32 bits.
        failures = [find_unknown(ids, self.vocab_size, "the server") for ids in all_ids]
        decoded = iter(
            super().decode_many([ids for ids, failure in zip(all_ids, failures, strict=True) if not failure])
        )
        return [failure or next(decoded) for failure in failures]

    def render_chats(self, conversations: Sequence[Mapping[str, Any]]) -> list[str | EncodeError | None]:
        """Render conversations with `/apply-template`; the result for one that cannot be rendered is its error.

        The server leaves an answer at the end unfinished, so that it can be continued; that is None.
        """
        are_continued = [each["messages"][-1]["role"] == "assistant" for each in conversations]
        compared = [each for each, is_continued in zip(conversations, are_continued, strict=True) if not is_continued]
        answers = iter(self.pool.ask_all([Call("/apply-template", each) for each in compared]))
        return [
            None if is_continued else self.text_or_error(next(answers), lambda answer: answer["prompt"])
            for is_continued in are_continued
        ]

    def piece(self, id: int) -> str:
        """Return the text that the server renders for a token, or its id as `<5>` if that is empty.

        The server does not expose the piece itself, with its mark for a space.
        """
        if not 0 <= id < self.vocab_size:
            return ""
        return to_text(self._token_bytes[id]) or f"<{id}>"

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that the server renders for a token; none for an id without a token."""
        return self._token_bytes[id] if 0 <= id < self.vocab_size else b""

    @cached_property
    def _token_bytes(self) -> list[bytes]:
        ids = range(self.vocab_size)
        starts = range(0, self.vocab_size, _IDS_PER_REQUEST)
        batches = (ids[start : start + _IDS_PER_REQUEST] for start in starts)
        return list(chain.from_iterable(_bytes_of(self.pool, batch) for batch in batches))


def connect(pool: HttpPool, name: str) -> FoundReference:
    """Find out what a llama-server reveals about its tokenizer; it has one model, whose `name` must be left out.

    Raises:
        TokverifyError: If it cannot be reached, or something else answers.
        UnsupportedError: If it does not expose its vocabulary, or a model is named.
    """
    if name:
        raise UnsupportedError(f"{pool.address}: a llama-server has one model; omit #{name}")
    model = _model(pool)
    _bytes_of(pool, range(1))
    versions = {}
    with contextlib.suppress(AnswerError):
        versions["llama-server"] = shown_name(pool.ask_object(Call("/props")).get("build_info"), "unknown")
    return FoundReference(
        LlamaServerTokenizer(pool, model["meta"]["n_vocab"]),
        source=f"{pool.address}, {describe_model([model])}",
        caveat=CAVEAT,
        versions=versions,
    )


def _model(pool: HttpPool) -> dict[str, Any]:
    """Return the server's description of its model, which includes the size of the vocabulary."""
    models = pool.ask_object(Call("/v1/models")).get("data")
    for model in models if isinstance(models, list) else ():
        if isinstance(model, dict) and isinstance(meta := model.get("meta"), dict):
            size = meta.get("n_vocab")
            if type(size) is int and size > MAX_TOKENS:
                raise UnsupportedError(
                    f"{pool.address}: /v1/models reports an n_vocab of more than {MAX_TOKENS:,}, the limit"
                )
            if type(size) is int and size > 0:
                return model
    raise UnsupportedError(
        f"{pool.address}: /v1/models does not report n_vocab: not a llama-server, an old one, or a router"
    )


def _bytes_of(pool: HttpPool, ids: Iterable[int]) -> list[bytes]:
    ids = list(ids)
    tokens = pool.ask_object(Call("/tokenize", {"content": ids, "with_pieces": True})).get("tokens")
    if not isinstance(tokens, list):
        raise AnswerError(f"{pool.address}: the answer of /tokenize contains no list of tokens")
    try:
        by_id = {token["id"]: _bytes(token["piece"]) for token in tokens}
        return [by_id[id] for id in ids]
    except (KeyError, TypeError, ValueError) as error:
        raise UnsupportedError(
            f"{pool.address}: /tokenize does not report the bytes of ids; is it an old llama-server?"
        ) from error


def _bytes(piece: object) -> bytes:
    # Bytes that are not valid UTF-8 by themselves are sent as numbers.
    if isinstance(piece, str):
        return piece.encode()
    if isinstance(piece, list) and all(type(byte) is int for byte in piece):
        return bytes(piece)
    raise TypeError("neither a text nor a list of bytes")
