"""The tokenizer of llama-cpp-python's server.

Source: `/extras/tokenize` and `/extras/detokenize` in llama-cpp-python 0.3.36. The first always adds what the model
declares around a text. The second leaves out control tokens, and drops the space that SPM adds at the start of a text
only if BOS comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.references.servers.affixes import Affixes, find_affixes
from tokverify.references.servers.http_tokenizer import HttpTokenizer
from tokverify.system.http_pool import Call


class LlamaCppPythonTokenizer(HttpTokenizer):
    """The tokenizer of llama-cpp-python's server."""

    name = "llama-cpp-python"

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError | UnsupportedError]:
        """Encode texts; without `add_special`, what the server adds around every text is removed again."""
        encoded = super().encode_many(texts, add_special=True, parse_special=parse_special)
        if add_special:
            return encoded
        return [self._affixes.strip(ids) if isinstance(ids, list) else ids for ids in encoded]

    @cached_property
    def _affixes(self) -> Affixes:
        empty, text = super().encode_many(["", "a"], add_special=True, parse_special=True)
        if not isinstance(empty, list) or not isinstance(text, list):
            raise EncodeError(f"{self.pool.address}: the server does not encode the texts '' and 'a'")
        return find_affixes(empty, text)

    def request_encoding(self, text: str, *, add_special: bool, parse_special: bool) -> Call:  # noqa: ARG002
        """Return the request that encodes a text."""
        return Call("/extras/tokenize", {"input": text})

    def read_ids(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the ids in its answer."""
        return answer["tokens"]

    def request_decoding(self, ids: Sequence[int]) -> Call:
        """Return the request that decodes ids as those of a whole text, with what the server adds before it."""
        return Call("/extras/detokenize", {"tokens": self._affixes.complete(ids)})

    def read_text(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the text in its answer."""
        return answer["text"]
