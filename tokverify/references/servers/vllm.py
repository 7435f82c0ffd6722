"""The tokenizers of vLLM and SGLang servers; SGLang took over the endpoints of vLLM.

Source: `/tokenize`, `/detokenize`, `/version` and `/v1/models` in vLLM's `entrypoints`; those in SGLang's
`srt/entrypoints` accept lists. Later versions of SGLang also take `messages`, ignore `add_special_tokens`, and refuse
texts that are all empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from http import HTTPStatus
from typing import Any

from tokverify.errors import EncodeError
from tokverify.references.servers.http_tokenizer import LETTER, AddingTokenizer, HttpTokenizer, is_list_of_ids
from tokverify.system.http_pool import Call, RefusedError
from tokverify.text.sequence import split_batches


class VllmTokenizer(HttpTokenizer):
    """The tokenizer of a vLLM server."""

    name = "vLLM"
    text_key = "prompt"
    chat_variables: Mapping[str, Any] = {}
    adapts_chats = False

    def request_encoding(self, text: str, *, add_special: bool, parse_special: bool) -> Call:  # noqa: ARG002
        """Return the request that encodes a text."""
        return Call("/tokenize", {**self.named, "prompt": text, "add_special_tokens": add_special})

    def request_decoding(self, ids: Sequence[int]) -> Call:
        """Return the request that decodes ids, special tokens included."""
        return Call("/detokenize", {**self.named, "tokens": list(ids)})

    def render_chats(self, conversations: Sequence[Mapping[str, Any]]) -> Sequence[str | EncodeError | None]:
        """Encode conversations with the template of the server, and decode the ids."""
        calls = [Call("/tokenize", {**self.named, **each, "add_special_tokens": False}) for each in conversations]
        encoded = [self.ids_or_error(answer) for answer in self.pool.ask_all(calls)]
        decoded = iter(self.decode_many([ids for ids in encoded if isinstance(ids, list)]))
        texts = [next(decoded) if isinstance(ids, list) else ids for ids in encoded]
        return [text.decode() if isinstance(text, bytes) else text for text in texts]

    @property
    def named(self) -> dict[str, str]:
        """The name of the model as part of a request, if there is one."""
        return {"model": self.model} if self.model else {}


_TEXTS_PER_REQUEST = 256
_CHARACTERS_PER_REQUEST = 1 << 20


class SglangTokenizer(AddingTokenizer, VllmTokenizer):
    """The tokenizer of an SGLang server."""

    name = "SGLang"
    text_key = "text"

    def ask_ids(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError]:
        """Send texts to the server, many in each request; a request that it refuses is repeated text by text."""
        batches = list(split_batches(texts, _TEXTS_PER_REQUEST, _CHARACTERS_PER_REQUEST))
        # subtle: later versions encode an empty text only beside others.
        prompts = [[*batch] if any(batch) else [*batch, LETTER] for batch in batches]
        content = {**self.named, "add_special_tokens": add_special}
        answers = self.pool.ask_all([Call("/tokenize", {**content, "prompt": prompt}) for prompt in prompts])
        encoded: list[list[int] | EncodeError] = []
        for batch, prompt, answer in zip(batches, prompts, answers, strict=True):
            lists = _read_lists(answer, len(prompt))[: len(batch)]
            encoded += lists or self._ask_each(batch, add_special=add_special, parse_special=parse_special)
        return encoded

    def _ask_each(
        self, batch: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError]:
        if not any(batch):
            return super().ask_ids(batch, add_special=add_special, parse_special=parse_special)
        texts = list(filter(None, batch))
        encoded = iter(super().ask_ids(texts, add_special=add_special, parse_special=parse_special))
        empty = self.ask_ids([""], add_special=add_special, parse_special=parse_special)[0] if "" in batch else []
        return [next(encoded) if text else empty for text in batch]

    def request_decoding(self, ids: Sequence[int]) -> Call:
        """Return the request that decodes ids, special tokens included."""
        return Call("/detokenize", {**self.named, "tokens": list(ids), "skip_special_tokens": False})

    def render_chats(self, conversations: Sequence[Mapping[str, Any]]) -> Sequence[str | EncodeError | None]:
        """Encode conversations with the template of the server, and decode the ids; None if it takes no messages."""
        if conversations and not self._takes_messages:
            return [None] * len(conversations)
        return super().render_chats(conversations)

    @cached_property
    def _takes_messages(self) -> bool:
        message = {"role": "user", "content": LETTER}
        try:
            self.pool.ask(Call("/tokenize", {**self.named, "messages": [message]}))
        except RefusedError as error:
            # Earlier versions reject a request without `prompt` as invalid.
            return error.status != HTTPStatus.UNPROCESSABLE_ENTITY
        return True


def _read_lists(answer: Any, count: int) -> list[list[int]]:  # noqa: ANN401 - JSON
    """Return the lists of ids in an answer to several texts; none if it contains anything else."""
    lists = answer.get("tokens") if isinstance(answer, dict) else None
    valid = list(filter(is_list_of_ids, lists)) if isinstance(lists, list) and len(lists) == count else []
    return valid if len(valid) == count else []
