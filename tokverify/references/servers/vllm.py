"""The tokenizer of a vLLM server.

Source: `/tokenize`, `/detokenize`, `/version` and `/v1/models` in vLLM's `entrypoints`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tokverify.errors import EncodeError
from tokverify.references.servers.http_tokenizer import HttpTokenizer
from tokverify.system.http_pool import Call


class VllmTokenizer(HttpTokenizer):
    """The tokenizer of a vLLM server."""

    name = "vLLM"

    def request_encoding(self, text: str, *, add_special: bool, parse_special: bool) -> Call:  # noqa: ARG002
        """Return the request that encodes a text."""
        return Call("/tokenize", {**self.named, "prompt": text, "add_special_tokens": add_special})

    def read_ids(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the ids in its answer."""
        return answer["tokens"]

    def request_decoding(self, ids: Sequence[int]) -> Call:
        """Return the request that decodes ids, special tokens included."""
        return Call("/detokenize", {**self.named, "tokens": list(ids)})

    def read_text(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the text in its answer."""
        return answer["prompt"]

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
