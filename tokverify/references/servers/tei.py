"""The tokenizer of a text-embeddings-inference server.

Source: `/tokenize`, `/decode` and `/info` in text-embeddings-inference's `router`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokverify.references.servers.http_tokenizer import HttpTokenizer
from tokverify.system.http_pool import Call


class TeiTokenizer(HttpTokenizer):
    """The tokenizer of a text-embeddings-inference server."""

    name = "text-embeddings-inference"

    def request_encoding(self, text: str, *, add_special: bool, parse_special: bool) -> Call:  # noqa: ARG002
        """Return the request that encodes a text."""
        return Call("/tokenize", {"inputs": text, "add_special_tokens": add_special})

    def read_ids(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the ids in its answer, a list of tokens for each of the texts, of which there is one."""
        return [token["id"] for token in _require_one(answer)]

    def request_decoding(self, ids: Sequence[int]) -> Call:
        """Return the request that decodes ids, special tokens included."""
        return Call("/decode", {"ids": list(ids), "skip_special_tokens": False})

    def read_text(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the text in its answer, a list with one text for each list of ids."""
        return _require_one(answer)


def _require_one(answer: Any) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(answer, list) or len(answer) != 1:
        raise TypeError("not a list with one item")
    return answer[0]
