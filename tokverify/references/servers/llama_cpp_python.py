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
from tokverify.references.servers.http_tokenizer import HttpTokenizer
from tokverify.system.http_pool import Call
from tokverify.text.sequence import common_length


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
        return [self._strip(ids) if isinstance(ids, list) else ids for ids in encoded]

    def _strip(self, ids: list[int]) -> list[int]:
        before, after = self._affixes
        return ids[len(before) : len(ids) - after]

    @cached_property
    def _affixes(self) -> tuple[list[int], int]:
        """The ids that the server adds before a text, and how many after it: those that the empty text has, too."""
        empty, text = super().encode_many(["", "a"], add_special=True, parse_special=True)
        if not isinstance(empty, list) or not isinstance(text, list):
            raise EncodeError(f"{self.pool.address}: the server does not encode the texts '' and 'a'")
        before = common_length(empty, text)
        return empty[:before], len(empty) - before

    def request_encoding(self, text: str, *, add_special: bool, parse_special: bool) -> Call:  # noqa: ARG002
        """Return the request that encodes a text."""
        return Call("/extras/tokenize", {"input": text})

    def read_ids(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the ids in its answer."""
        return answer["tokens"]

    def request_decoding(self, ids: Sequence[int]) -> Call:
        """Return the request that decodes ids as those of a whole text, with what the server adds before it."""
        before, _ = self._affixes
        is_whole = list(ids[: len(before)]) == before
        return Call("/extras/detokenize", {"tokens": [*([] if is_whole else before), *ids]})

    def read_text(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the text in its answer."""
        return answer["text"]
