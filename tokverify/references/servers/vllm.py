"""The tokenizer of a vLLM server.

Source: `/tokenize`, `/detokenize`, `/version` and `/v1/models` in vLLM's `entrypoints`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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

    @property
    def named(self) -> dict[str, str]:
        """The name of the model as part of a request, if there is one."""
        return {"model": self.model} if self.model else {}
