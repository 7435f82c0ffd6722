"""Stream ids through `DecodeStream` of HuggingFace `tokenizers`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokenizers.decoders import DecodeStream

from tokverify.errors import EncodeError
from tokverify.system.library_error import raised_as

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class HuggingFaceStream:
    """A stream of the library, with special tokens.

    Args:
        tokenizer: The library's tokenizer.
        before: Ids that were decoded before.
    """

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int] = ()) -> None:
        self._tokenizer = tokenizer
        self._stream = DecodeStream(ids=list(before), skip_special_tokens=False)

    def push(self, id: int) -> str:
        """Take the next id; return the text that is complete with it.

        Raises:
            EncodeError: If the library refuses the id.
        """
        with raised_as(EncodeError, "DecodeStream cannot decode this id", quietly=True):
            text: str | None = self._stream.step(self._tokenizer, id)
        return text or ""

    def finish(self) -> str:
        """Return nothing: the library has no way to ask for the remaining text."""
        return ""
