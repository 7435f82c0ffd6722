"""The tokenizer of an OpenVINO Model Server.

Source: the page on `/v3/tokenize` in the documentation of OpenVINO Model Server 2026.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokverify.errors import UnsupportedError
from tokverify.references.servers.http_tokenizer import HttpTokenizer
from tokverify.system.http_pool import Call


class OvmsTokenizer(HttpTokenizer):
    """The tokenizer of an OpenVINO Model Server, which cannot decode."""

    name = "OpenVINO Model Server"

    def request_encoding(self, text: str, *, add_special: bool, parse_special: bool) -> Call:  # noqa: ARG002
        """Return the request that encodes a text."""
        return Call("/v3/tokenize", {"model": self.model, "text": text, "add_special_tokens": add_special})

    def read_ids(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the ids in its answer."""
        return answer["tokens"]

    def request_decoding(self, ids: Sequence[int]) -> Call:  # noqa: ARG002
        """Refuse to decode.

        Raises:
            UnsupportedError: Always.
        """
        raise UnsupportedError(f"{self.name} does not decode")

    def read_text(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return nothing, as nothing is asked."""
        return answer["text"]
