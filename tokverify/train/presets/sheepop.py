"""The byte-level BPE of the SheepOp language model: its layout, and a tokenizer for programs.

Ids are the 256 bytes by value, then the merges in the order they were learned, then `<pad>`, `<unk>`, `<bos>` and
`<eos>`. `tokverify train bpe --preset sheepop` makes one; docs/sheepop.md explains what its description leaves open.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, Self

from tokverify.engine.byte_level import byte_pieces
from tokverify.engine.encoder import Encoder
from tokverify.engine.pre_pattern import LLAMA3
from tokverify.errors import UnsupportedError
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.load import load_gguf
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


class Batch(list[list[int]]):
    """Rows of ids."""

    def __init__(self, rows: Iterable[list[int]], attention_mask: list[list[int]]) -> None:
        super().__init__(rows)
        self.attention_mask = attention_mask
        """For each row, 1 for each id of a text, including its BOS and EOS, and 0 for padding."""


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

    def save(self, path: Path | str) -> None:
        """Write a GGUF file that `load`, tokverify and llama.cpp read.

        Raises:
            UnsupportedError: If there are no merges, without which llama.cpp loads no such file.
            OSError: If the file cannot be written.
        """
        write_gguf(Path(path), self._encoder.spec)

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

    def encode_batch(  # noqa: PLR0913 - the optional ones are keywords
        self,
        texts: Iterable[str],
        max_length: int | None = None,
        *,
        padding: bool = True,
        padding_side: Literal["left", "right"] = "right",
        truncation: bool = False,
        add_bos: bool = False,
        add_eos: bool = False,
    ) -> Batch:
        """Encode texts as rows, by default of equal length.

        Args:
            texts: The texts to encode.
            max_length: The length that rows are padded and truncated to; by default that of the longest row.
            padding: Pad shorter rows with `<pad>`.
            padding_side: Where to pad: `right` of the tokens, or `left` of them, as for generating text.
            truncation: Truncate rows to `max_length`, BOS and EOS included; without it, longer rows are not changed.
            add_bos: Begin each row with `<bos>`.
            add_eos: End each row with `<eos>`.

        Raises:
            ValueError: If `truncation` is on without a `max_length`, that has no room for BOS and EOS, or there is no
                such side.
        """
        room = None if max_length is None else max_length - add_bos - add_eos
        if truncation and room is None:
            raise ValueError("truncation needs a max_length")
        if room is not None and room < 0:
            raise ValueError(f"max_length is {max_length}; it must be at least {add_bos + add_eos}")
        if padding_side not in {"left", "right"}:
            raise ValueError(f"padding_side is {padding_side!r}; it must be 'left' or 'right'")
        rows = []
        for text in texts:
            ids = self.encode(text)[: room if truncation else None]
            rows.append([self.bos_id] * add_bos + ids + [self.eos_id] * add_eos)
        length = max(map(len, rows), default=0) if max_length is None else max_length
        return self._pad(rows, length if padding else 0, left=padding_side == "left")

    def _pad(self, rows: Iterable[list[int]], length: int, *, left: bool) -> Batch:
        padded, masks = [], []
        for row in rows:
            missing = length - len(row)
            pads, mask, blank = [self.pad_id] * missing, [1] * len(row), [0] * missing
            padded.append(pads + row if left else row + pads)
            masks.append(blank + mask if left else mask + blank)
        return Batch(padded, masks)

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
