"""The byte-level BPE of the SheepOp language model: its layout, and a tokenizer for programs.

Ids are the 256 bytes by value, then the merges in the order they were learned, then `<pad>`, `<unk>`, `<bos>` and
`<eos>`. `tokverify train bpe --preset sheepop` makes one; docs/sheepop.md explains what its description leaves open.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from tokverify.engine.byte_level import byte_pieces
from tokverify.engine.encoder import Encoder
from tokverify.engine.pre_pattern import LLAMA3
from tokverify.errors import UnsupportedError
from tokverify.files.load import load_gguf
from tokverify.spec import TokenizerSpec, TokenType

PATTERN = LLAMA3
"""The pre-tokenizer's pattern: GPT-4's, with up to three digits in a row."""

PRE_TOKENIZER = "dbrx"
"""GGUF's name for this pattern."""

SPECIAL_TOKENS: Mapping[str, str] = {"pad": "<pad>", "unk": "<unk>", "bos": "<bos>", "eos": "<eos>"}
"""Role -> text of the special tokens, in the order of their ids."""

_BYTES = 256


class TrailingSpaceWarning(UserWarning):
    """A text ends in a space, which the model has mostly seen at the beginning of the next word's token."""


class SheepopTokenizer:
    """Encode and decode as the description of SheepOp's tokenizer specifies.

    `encoder` may come from any file with that layout.

    Raises:
        UnsupportedError: If it has another layout.
    """

    def __init__(self, encoder: Encoder) -> None:
        _require_layout(encoder)
        self._encoder = encoder
        self.vocab_size: int = encoder.vocab_size
        first = self.vocab_size - len(SPECIAL_TOKENS)
        self.pad_id, self.unk_id, self.bos_id, self.eos_id = range(first, self.vocab_size)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a GGUF file, or the one in a directory written by `tokverify train`.

        Raises:
            TokverifyError: If it cannot be read or has another layout.
        """
        path = Path(path)
        return cls(load_gguf(path / "tokenizer.gguf" if path.is_dir() else path))

    @classmethod
    def from_merges(cls, merges: Iterable[tuple[int, int]]) -> Self:
        """Make a tokenizer from pairs of ids: the first pair becomes token 256, the next one 257, and so on."""
        return cls(Encoder(_spec(merges), "sheepop"))

    def encode(self, text: str, *, add_bos: bool = False, add_eos: bool = False) -> list[int]:
        """Encode a text without recognizing special tokens: `<eos>` is five characters.

        Warns:
            TrailingSpaceWarning: If the text ends in a space.

        Raises:
            EncodeError: If the text contains a lone surrogate.
        """
        if text.endswith(" "):
            warnings.warn("the text ends in a space; strip it before encoding", TrailingSpaceWarning, stacklevel=2)
        ids = self._encoder.encode(text, parse_special=False)
        return [self.bos_id] * add_bos + ids + [self.eos_id] * add_eos

    def encode_batch(
        self, texts: Iterable[str], max_length: int | None = None, *, padding: bool = True, truncation: bool = False
    ) -> list[list[int]]:
        """Encode texts as rows, by default of equal length.

        Args:
            texts: The texts to encode.
            max_length: The length that rows are padded and truncated to; by default that of the longest row.
            padding: Pad shorter rows with `<pad>` at their end.
            truncation: Truncate rows to `max_length`; without it, longer rows are not changed.

        Raises:
            ValueError: If `truncation` is on without a `max_length`, or that is negative.
        """
        if max_length is None and truncation:
            raise ValueError("truncation needs a max_length")
        if max_length is not None and max_length < 0:
            raise ValueError(f"max_length is {max_length}; it cannot be negative")
        rows = [self.encode(text) for text in texts]
        if truncation:
            rows = [row[:max_length] for row in rows]
        if not padding:
            return rows
        length = max(map(len, rows), default=0) if max_length is None else max_length
        return [row + [self.pad_id] * (length - len(row)) for row in rows]

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids up to the first `<eos>`, without special tokens; bytes that are not UTF-8 become U+FFFD.

        An id outside the vocabulary is decoded as `<unk>`.
        """
        parts = []
        for id in ids:
            if id == self.eos_id:
                break
            parts.append(self._token_bytes(id))
        return b"".join(parts).decode(errors="replace")

    def _token_bytes(self, id: int) -> bytes:
        if not 0 <= id < self.vocab_size:
            return SPECIAL_TOKENS["unk"].encode()
        return b"" if id >= self.pad_id else self._encoder.token_bytes(id)


def _require_layout(encoder: Encoder) -> None:
    pieces, special = list(encoder.pieces), list(SPECIAL_TOKENS.values())
    expected = {
        "the tokens 0 to 255 are not the bytes by value": pieces[:_BYTES] == byte_pieces(),
        f"the last tokens are not {', '.join(special)}": pieces[_BYTES:][-len(special) :] == special,
        f"the pre-tokenizer is {encoder.settings.pre}, not {PRE_TOKENIZER}": encoder.settings.pre == PRE_TOKENIZER,
    }
    for complaint, holds in expected.items():
        if not holds:
            raise UnsupportedError(
                f"{encoder.name}: not a SheepOp tokenizer: {complaint}; train one with the preset sheepop"
            )


def _spec(merges: Iterable[tuple[int, int]]) -> TokenizerSpec:
    pieces = byte_pieces()
    pairs = []
    for left, right in merges:
        pairs.append(f"{pieces[left]} {pieces[right]}")
        pieces.append(pieces[left] + pieces[right])
    special = list(SPECIAL_TOKENS.values())
    return TokenizerSpec(
        model="gpt2",
        pre=PRE_TOKENIZER,
        tokens=pieces + special,
        types=[TokenType.NORMAL.value] * len(pieces) + [TokenType.CONTROL.value] * len(special),
        merges=pairs,
        special_ids={role: len(pieces) + index for index, role in enumerate(SPECIAL_TOKENS)},
    )
