"""What the adapters of all servers share: texts and ids go through a few HTTP endpoints, many at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from tokverify.errors import EncodeError, UnsupportedError, or_raise
from tokverify.references.reference import find_problem
from tokverify.system.http_pool import AnswerError, Call, HttpPool
from tokverify.text.sequence import common_ends

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
    text_key = "text"
    """The key of the text in the answer to ids."""

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
    def request_decoding(self, ids: Sequence[int]) -> Call:
        """Return the request that decodes ids.

        Raises:
            UnsupportedError: If the server decodes nothing.
        """

    def read_ids(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the ids in the answer to a text; a LookupError or TypeError, or no list of ids, is an error of it."""
        return answer["tokens"]

    def read_text(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the text in the answer to ids; a LookupError or TypeError, or no string, is an error of it."""
        return answer[self.text_key]

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to ids.

        Raises:
            UnsupportedError: If the server has no way to encode with these options.
        """
        return or_raise(self.encode_many([text], add_special=add_special, parse_special=parse_special)[0])

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError | UnsupportedError]:
        """Encode texts, several at a time; the result for a text that cannot be encoded is its error."""
        if self.always_parses_special and not parse_special:
            reason = f"{self.name} always recognizes control tokens in a text"
            return [UnsupportedError(reason) for _ in texts]
        failures = list(map(find_problem, texts))
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
        return or_raise(self.decode_many([ids])[0])

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


LETTER = "a"
"""A text that every server encodes."""

_MAX_SEARCHES = 3


class AddingTokenizer(HttpTokenizer):
    """The tokenizer of a server that adds ids around a text also without `add_special`; they are removed again."""

    def __init__(self, pool: HttpPool, model: str = "") -> None:
        super().__init__(pool, model)
        self._affixes: Affixes | EncodeError | None = None
        self._searches = 0

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError | UnsupportedError]:
        """Encode texts; without `add_special`, what the server adds anyway is removed."""
        encoded = super().encode_many(texts, add_special=add_special, parse_special=parse_special)
        if add_special:
            return encoded
        return [self._strip(ids) if isinstance(ids, list) else ids for ids in encoded]

    def _strip(self, ids: list[int]) -> list[int] | EncodeError:
        affixes = self.find_affixes()
        if isinstance(affixes, EncodeError):
            return affixes
        stripped = affixes.strip(ids)
        if stripped is None:
            return EncodeError(f"{self.pool.address}: the server did not add to this text what it adds to others")
        return stripped

    def find_affixes(self) -> Affixes | EncodeError:
        """Return what the server adds around a text without being asked to, or why that is not known.

        A failure may concern one moment or every text, so that the search is repeated, but only a few times.
        """
        if self._affixes is None or (isinstance(self._affixes, EncodeError) and self._searches < _MAX_SEARCHES):
            self._searches += 1
            self._affixes = self._search_affixes()
        return self._affixes

    def _search_affixes(self) -> Affixes | EncodeError:
        encoded = self.ask_ids(["", LETTER], add_special=False, parse_special=True)
        for text, ids in zip(["", LETTER], encoded, strict=True):
            if isinstance(ids, EncodeError):
                reason = str(ids).removeprefix(self.pool.address).lstrip(": ")
                return EncodeError(
                    f"{self.pool.address}: what the server adds around every text is not known, because it does not "
                    f"encode {text!r} ({reason})"
                )
        empty, letter = (ids for ids in encoded if isinstance(ids, list))
        return find_affixes(empty, letter)


class Affixes(NamedTuple):
    """The ids that a server adds around every text."""

    before: list[int]
    after: list[int]

    def strip(self, ids: list[int]) -> list[int] | None:
        """Remove from an encoded text what was added around it; None if that is not there."""
        text = ids[len(self.before) : len(ids) - len(self.after)]
        return text if [*self.before, *text, *self.after] == ids else None

    def complete(self, ids: Sequence[int]) -> list[int]:
        """Put back what was removed before a text, unless it is there."""
        is_whole = list(ids[: len(self.before)]) == self.before
        return [*([] if is_whole else self.before), *ids]


def find_affixes(empty: list[int], text: list[int]) -> Affixes:
    """Return what is added to every text, given the ids of the empty text and of another one."""
    before, after = common_ends(empty, text)
    return Affixes(empty[:before], empty[len(empty) - after :])
