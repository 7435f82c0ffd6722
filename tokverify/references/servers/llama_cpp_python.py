"""The tokenizer of llama-cpp-python's server.

Source: `/extras/tokenize` and `/extras/detokenize` in llama-cpp-python 0.3.36. The first always adds what the model
declares around a text. The second leaves out control tokens, and drops the space that SPM adds at the start of a text
only if BOS comes first.
"""

from __future__ import annotations

from collections.abc import Sequence

from tokverify.errors import EncodeError
from tokverify.references.servers.http_tokenizer import AddingTokenizer
from tokverify.system.http_pool import Call


class LlamaCppPythonTokenizer(AddingTokenizer):
    """The tokenizer of llama-cpp-python's server."""

    name = "llama-cpp-python"

    def request_encoding(self, text: str, *, add_special: bool, parse_special: bool) -> Call:  # noqa: ARG002
        """Return the request that encodes a text."""
        return Call("/extras/tokenize", {"input": text})

    def decode_many(self, all_ids: Sequence[Sequence[int]]) -> list[bytes | EncodeError]:
        """Decode lists of ids as those of whole texts, with what the server adds before each."""
        affixes = self.find_affixes()
        if isinstance(affixes, EncodeError):
            return [affixes] * len(all_ids)
        return super().decode_many([affixes.complete(ids) for ids in all_ids])

    def request_decoding(self, ids: Sequence[int]) -> Call:
        """Return the request that decodes ids."""
        return Call("/extras/detokenize", {"tokens": list(ids)})
