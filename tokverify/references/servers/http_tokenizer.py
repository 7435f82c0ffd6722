"""What the adapters of all servers share: texts and ids go through a few HTTP endpoints, many at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.system.http_pool import AnswerError, Call, HttpPool
from tokverify.text.utf8 import to_utf8

MAX_ID = (1 << 31) - 1


class HttpTokenizer(ABC):
    """The tokenizer of a server that does not list its tokens, and always recognizes control tokens in a text.

    An adapter says how a text and ids become requests, and what the answers mean.

    Args:
        pool: The connections to the server.
        model: The name of the model, for servers that require it.
    """

    name: str
    parses_special = True
    always_parses_special = True
    adds_special = True
    decodes_as_llama_cpp = False
    vocab_size = 0

    def __init__(self, pool: HttpPool, model: str = "") -> None:
        self.pool = pool
        self.model = model
        self.special_ids: Mapping[str, int] = {}
        self._texts: dict[int, str] = {}

    @property
    def hidden_vocabulary(self) -> str:
        """Why `vocab_size` is 0."""
        return f"{self.name} does not list its tokens"

    @abstractmethod
    def request_encoding(self, text: str, *, add_special: bool, parse_special: bool) -> Call:
        """Return the request that encodes a text."""

    @abstractmethod
    def read_ids(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the ids in the answer to that request; anything but a list of ids is rejected later.

        Raises:
            LookupError: If the answer has another form.
            TypeError: If it has another form.
        """

    @abstractmethod
    def request_decoding(self, ids: Sequence[int]) -> Call:
        """Return the request that decodes ids.

        Raises:
            UnsupportedError: If the server decodes nothing.
        """

    @abstractmethod
    def read_text(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the text in the answer to that request; anything but a string is rejected later.

        Raises:
            LookupError: If the answer has another form.
            TypeError: If it has another form.
        """

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to ids.

        Raises:
            UnsupportedError: If the server has no way to encode with these options.
        """
        ids = self.encode_many([text], add_special=add_special, parse_special=parse_special)[0]
        if isinstance(ids, EncodeError | UnsupportedError):
            raise ids
        return ids

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError | UnsupportedError]:
        """Encode texts, several at a time; the result for a text that cannot be encoded is its error."""
        if self.always_parses_special and not parse_special:
            reason = f"{self.name} always recognizes control tokens in a text"
            return [UnsupportedError(reason) for _ in texts]
        failures = [_surrogate_error(text) for text in texts]
        valid = [text for text, failure in zip(texts, failures, strict=True) if failure is None]
        encoded = iter(self.ask_ids(valid, add_special=add_special, parse_special=parse_special))
        return [failure or next(encoded) for failure in failures]

    def ask_ids(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError]:
        """Send texts to the server, one in each request; the result for a text that it refuses is an error."""
        calls = [self.request_encoding(text, add_special=add_special, parse_special=parse_special) for text in texts]
        return list(map(self.ids_or_error, self.pool.ask_all(calls)))

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids; what is not valid UTF-8 becomes U+FFFD on the way."""
        decoded = self.decode_many([ids])[0]
        if isinstance(decoded, EncodeError):
            raise decoded
        return decoded

    def decode_many(self, all_ids: Sequence[Sequence[int]]) -> list[bytes | EncodeError]:
        """Decode lists of ids, several at a time; the result for a list that cannot be decoded is its error."""
        answers = self.pool.ask_all([self.request_decoding(ids) for ids in all_ids])
        texts = [self.text_or_error(answer, self.read_text) for answer in answers]
        return [text.encode(errors="replace") if isinstance(text, str) else text for text in texts]

    def piece(self, id: int) -> str:
        """Return the text that the server shows for a token, or its id as `<5>` if it shows none."""
        if id not in self._texts:
            try:
                self._texts[id] = self.decode([id]).decode()
            except (EncodeError, UnsupportedError):
                self._texts[id] = ""
        return self._texts[id] or f"<{id}>"

    def token_bytes(self, id: int) -> bytes:
        """Return the text that the server shows for a token, as bytes; none if it shows none."""
        self.piece(id)
        return self._texts[id].encode()

    def ids_or_error(self, answer: Any) -> list[int] | EncodeError:  # noqa: ANN401 - JSON
        """Return the ids in an answer, or why there are none."""
        if isinstance(answer, AnswerError):
            return EncodeError(str(answer))
        try:
            ids = self.read_ids(answer)
        except (LookupError, TypeError):
            ids = None
        return ids if is_list_of_ids(ids) else EncodeError(f"{self.pool.address}: the answer contains no list of ids")

    def text_or_error(self, answer: Any, read: Callable[[Any], Any]) -> str | EncodeError:  # noqa: ANN401 - JSON
        """Return the text that `read` finds in an answer, or why there is none."""
        if isinstance(answer, AnswerError):
            return EncodeError(str(answer))
        try:
            text = read(answer)
        except (LookupError, TypeError):
            text = None
        return text if isinstance(text, str) else EncodeError(f"{self.pool.address}: the answer contains no text")


def is_list_of_ids(value: object) -> TypeGuard[list[int]]:
    """Whether a value of an answer is a list of ids."""
    return isinstance(value, list) and all(type(id) is int and 0 <= id <= MAX_ID for id in value)


def _surrogate_error(text: str) -> EncodeError | None:
    try:
        to_utf8(text)
    except EncodeError as error:
        return error
    return None
