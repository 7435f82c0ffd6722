"""Turn ids back into bytes, or a stream of them into text, and clean decoded text up as llama.cpp does.

Source: `token_to_piece` and `llama_vocab::impl::detokenize` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol

from tokverify.engine.attribute import SPECIAL
from tokverify.engine.batch import DecodedBatch, EncodedBatch
from tokverify.errors import EncodeError

if TYPE_CHECKING:
    from tokverify.engine.family import PieceJoiner, Settings
    from tokverify.engine.native import NativeEncoder, NativeStream


class PieceDecoder:
    """Decodes ids with the effective settings of a tokenizer.

    Pieces are the stored strings, except that llama.cpp truncates them at a NUL and names empty ones `[EMPTY_<id>]`.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.pieces = settings.pieces
        self._token_bytes: dict[int, bytes] = {}
        self._native: NativeEncoder | None = None

    def piece(self, id: int) -> str:
        """Return the stored string of a token; empty for an id outside the vocabulary."""
        return self.pieces[id] if 0 <= id < len(self.pieces) else ""

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that a token represents; unused and undefined tokens mostly represent none.

        Raises:
            EncodeError: If the id is outside the vocabulary.
        """
        known = self._token_bytes.get(id)
        if known is None:
            if not 0 <= id < len(self.pieces):
                raise EncodeError(f"id {id} is outside the vocabulary of {len(self.pieces):,} tokens")
            settings = self.settings
            known = settings.family.token_bytes(self.pieces[id], settings.attributes[id], settings)
            self._token_bytes[id] = known
        return known

    def bytes_of_tokens(self) -> list[bytes]:
        """Return the bytes that each token represents, by id; in the native engine, this takes little time."""
        return self._native.token_bytes() if self._native else list(map(self.token_bytes, range(len(self.pieces))))

    def decode(self, ids: Sequence[int], *, clean_up: bool = False) -> bytes:
        """Decode ids to bytes, special tokens included.

        This is what a runtime streams. With `clean_up` the result is that of `llama_detokenize`, which for some
        pre-tokenizers also removes spaces before punctuation.

        Raises:
            EncodeError: If an id is outside the vocabulary.
        """
        decoded = self._native.decode(ids, clean_up) if self._native else None
        if decoded is not None:
            return decoded
        # The Python engine reports what is wrong with the ids.
        return self._join(ids, [self.token_bytes(id) for id in ids], clean_up=clean_up)

    def _join(self, ids: Sequence[int], parts: list[bytes], *, is_beginning: bool = True, clean_up: bool) -> bytes:
        """Join the bytes of tokens; a text loses a space at its beginning and those to clean up."""
        joiner = self.settings.family.make_joiner()
        if joiner is not None:
            return join_pieces(joiner, zip(map(self.piece, ids), parts, strict=True))
        if parts and is_beginning and self.settings.add_space_prefix:
            parts[0] = parts[0].removeprefix(b" ")
        decoded = b"".join(parts)
        return clean_up_spaces(decoded) if clean_up and self.settings.clean_spaces else decoded

    def decode_batch(self, lists: Iterable[Sequence[int]], *, clean_up: bool = False, threads: int = 1) -> DecodedBatch:
        """Decode many lists of ids, or the result of `encode_batch`, which is fastest.

        The native engine uses up to `threads` threads, and other Python threads can run meanwhile. For ids in NumPy
        arrays, see `EncodedBatch.from_buffers`.

        Raises:
            EncodeError: If an id is outside the vocabulary. It names the index of the first such list.
        """
        kept = lists if isinstance(lists, EncodedBatch) else list(lists)
        if self._native is not None:
            decoded = _decode_natively(self._native, kept, clean_up, threads)
            if decoded is not None:
                return decoded
        return DecodedBatch.from_texts(self._decode_item(ids, index, clean_up) for index, ids in enumerate(kept))

    def _decode_item(self, ids: Sequence[int], index: int, clean_up: bool) -> bytes:
        try:
            return self.decode(ids, clean_up=clean_up)
        except EncodeError as error:
            raise EncodeError(f"list {index}: {error}") from None

    def decode_as_document(self, ids: Sequence[int]) -> bytes:
        """Decode ids as the decoder of an equivalent tokenizer.json does; errors as for `decode`."""
        joiner = self.settings.family.make_document_joiner()
        if joiner is None:
            return self.decode(ids)
        return join_pieces(joiner, [(self.piece(id), self.token_bytes(id)) for id in ids])

    def decode_as_llama_cpp(
        self, ids: Sequence[int], *, remove_special: bool = False, unparse_special: bool = True
    ) -> bytes:
        """Decode ids as `llama_detokenize` does with its two flags; errors as for `decode`.

        Args:
            ids: The ids of a whole text.
            remove_special: Leave out BOS and EOS around the text, if the tokenizer adds them.
            unparse_special: Show control tokens, and the unknown token; by default, servers do not.
        """
        if unparse_special and not remove_special:
            return self.decode(ids, clean_up=True)
        has_bos, has_eos = self._find_affixes(ids) if remove_special else (False, False)
        inner = ids[has_bos : len(ids) - has_eos]
        parts = [b"" if self._is_special(id) and not unparse_special else self.token_bytes(id) for id in inner]
        return self._join(inner, parts, is_beginning=not has_bos, clean_up=True)

    def _is_special(self, id: int) -> bool:
        attributes = self.settings.attributes
        return 0 <= id < len(attributes) and bool(attributes[id] & SPECIAL)

    def _find_affixes(self, ids: Sequence[int]) -> tuple[bool, bool]:
        """Return whether ids begin with BOS and, besides, end with EOS, each if the tokenizer adds it."""
        settings = self.settings
        bos, eos = (settings.special_ids.get(role) for role in ("bos", "eos"))
        has_bos = settings.add_bos and bool(ids) and ids[0] == bos
        return has_bos, settings.add_eos and len(ids) > has_bos and ids[-1] == eos

    def decode_text(self, ids: Sequence[int]) -> str:
        """Decode ids to text; bytes that are not UTF-8 become U+FFFD."""
        return self.decode(ids).decode(errors="replace")

    def decoder(self) -> IncrementalDecoder:
        """Return a decoder that takes ids one by one and never splits a character."""
        stream = self._native.stream_decoder() if self._native else None
        return IncrementalDecoder(self, self.settings.family.make_joiner(), stream)


def _decode_natively(
    native: NativeEncoder, lists: Sequence[Sequence[int]], clean_up: bool, threads: int
) -> DecodedBatch | None:
    """Return None if something is not an id of the vocabulary."""
    try:
        batch = lists if isinstance(lists, EncodedBatch) else EncodedBatch.from_lists(lists)
        data, offsets, failed = native.decode_batch(batch.ids, batch.offsets, clean_up, threads)
    except (EncodeError, BufferError):  # an id of no vocabulary; an empty array, which can be at any address
        return None
    return DecodedBatch(memoryview(data), memoryview(offsets).cast("q")) if failed is None else None


def clean_up_spaces(decoded: bytes) -> bytes:
    """Remove the spaces that word tokenizers leave before punctuation, in the three passes of `llama_detokenize`."""
    decoded = re.sub(rb" (?=[?!.,])", b"", decoded)
    decoded = re.sub(rb" ' ", b"'", decoded)
    return re.sub(rb" (?='(?:[sm]|re|ve))", b"", decoded)


def join_pieces(joiner: PieceJoiner, pieces: Iterable[tuple[str, bytes]]) -> bytes:
    """Join all pieces of a text, each given with the bytes that it represents."""
    parts = [joiner.push(piece, token_bytes) for piece, token_bytes in pieces]
    return b"".join(parts) + joiner.finish()


class TokenDecoder(Protocol):
    """What an `IncrementalDecoder` needs to know about tokens."""

    def piece(self, id: int) -> str:
        """Return the stored string of a token."""

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that a token represents inside a text."""

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode the ids of a whole text."""


class IncrementalDecoder:
    """Decode a stream of ids to text, holding back the bytes of a character until it is complete.

    With a `joiner`, whole words are held back. The native engine decodes if its `stream` is given.
    """

    def __init__(
        self, tokens: TokenDecoder, joiner: PieceJoiner | None = None, stream: NativeStream | None = None
    ) -> None:
        self._tokens = tokens
        self._joiner = joiner
        self._stream = stream
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._at_start = True

    def push(self, id: int) -> str:
        """Take the next id; return the text that is complete with it, often none or more than one character."""
        if self._stream:
            text = self._stream.push(id)
            return self._refuse(id) if text is None else text
        if self._joiner:
            return self._utf8.decode(self._joiner.push(self._tokens.piece(id), self._tokens.token_bytes(id)))
        token_bytes = self._tokens.decode([id]) if self._at_start else self._tokens.token_bytes(id)
        self._at_start = False
        return self._utf8.decode(token_bytes)

    def _refuse(self, id: int) -> NoReturn:
        """Let the Python engine report what is wrong with an id."""
        self._tokens.token_bytes(id)
        raise RuntimeError("only the native engine fails to decode this id")

    def finish(self) -> str:
        """Return the remaining text, with U+FFFD for a character that was never completed."""
        if self._stream:
            return self._stream.finish()
        return self._utf8.decode(self._joiner.finish() if self._joiner else b"", final=True)
