"""The tokenizer of an SGLang server.

Source: `/tokenize`, `/detokenize` and `/v1/models` in SGLang's `srt/entrypoints`, which have the form of vLLM's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokverify.references.servers.vllm import VllmTokenizer
from tokverify.system.http_pool import Call


class SglangTokenizer(VllmTokenizer):
    """The tokenizer of an SGLang server."""

    name = "SGLang"

    def request_decoding(self, ids: Sequence[int]) -> Call:
        """Return the request that decodes ids, special tokens included."""
        return Call("/detokenize", {**self.named, "tokens": list(ids), "skip_special_tokens": False})

    def read_text(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the text in its answer."""
        return answer["text"]
