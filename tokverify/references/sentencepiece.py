"""The reference `sentencepiece`: a .model file as Google's library reads it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokverify.engine.batch import encode_each
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.errors import BrokenFileError, EncodeError, TokverifyError, UnsupportedError
from tokverify.references.reference import FoundReference
from tokverify.sources.config import configured_tokens, read_config, token_text
from tokverify.sources.location import read_file
from tokverify.sources.sentencepiece.reader import read_spec, require_few_pieces
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.system.library_error import raised_as
from tokverify.tokenizer import StageStretch, TokenizerStages

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor


class SentencePieceTokenizer:
    """A `SentencePieceProcessor`, which never recognizes control tokens in a text, and always user-defined pieces.

    Args:
        processor: The library's tokenizer.
        around: The ids to add before and after a text, which a .model file does not declare; None if unknown.
        path: The .model file, if the processor was made from one.
        content: The content of that file.
    """

    name = "sentencepiece"
    parses_special = False
    decodes_as_llama_cpp = False

    def __init__(
        self,
        processor: SentencePieceProcessor,
        around: tuple[list[int], list[int]] | None = None,
        path: Path | None = None,
        content: bytes | None = None,
    ) -> None:
        self._processor = processor
        self.path = path
        self._content = content
        self._spec: TokenizerSpec | None = None
        self._before, self._after = around or ([], [])
        self.adds_special = around is not None
        self.vocab_size: int = processor.get_piece_size()
        self.special_ids = _special_ids(processor)

    def declared_spec(self) -> TokenizerSpec:
        """Return what a GGUF file with this tokenizer would declare.

        Raises:
            UnsupportedError: If GGUF cannot express it, or it was not read from a file.
            BrokenFileError: If the file is damaged.
        """
        if self.path is None:
            raise UnsupportedError("the sentencepiece model was not read from a file")
        # A repair compares many variants of a file with one reference, and reading it takes half a second.
        self._spec = self._spec or read_spec(self.path, self._content)
        return self._spec

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:  # noqa: ARG002 - the protocol has it
        """Encode a text to ids; control tokens in it are always plain text."""
        with raised_as(EncodeError, "sentencepiece cannot encode this text"):
            ids: list[int] = self._processor.encode(text, out_type=int)
        return [*self._before, *ids, *self._after] if add_special else ids

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> list[list[int] | EncodeError]:
        """Encode texts in one call; the result for a text that cannot be encoded is its error."""
        try:
            with raised_as(EncodeError, "sentencepiece cannot encode one of these texts"):
                lists: list[list[int]] = self._processor.encode(list(texts), out_type=int, num_threads=1)
        except EncodeError:
            return encode_each(self.encode, texts, add_special=add_special, parse_special=parse_special)
        return [[*self._before, *ids, *self._after] if add_special else ids for ids in lists]

    def stages(self, text: str, *, parse_special: bool) -> TokenizerStages:  # noqa: ARG002 - the protocol has it
        """Return the stages that `text` goes through; the library exposes only the normalization."""
        with raised_as(EncodeError, "sentencepiece cannot show its stages for this text"):
            normalized: str = self._processor.normalize(text)
        whole = StageStretch(0, len(text.encode()), normalized, None)
        return TokenizerStages(None, (whole,), "it matches user-defined pieces inside its model")

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids as the library does: control tokens vanish, and the unknown token is ` ⁇ `."""
        with raised_as(EncodeError, "sentencepiece cannot decode these ids"):
            text: str = self._processor.decode(list(ids))
        return text.encode()

    @cached_property
    def pieces(self) -> Sequence[str]:
        """Every piece by id."""
        return list(map(self.piece, range(self.vocab_size)))

    def piece(self, id: int) -> str:
        """Return a token's stored string, verbatim; an empty string for an id without a token."""
        return str(self._processor.id_to_piece(id)) if 0 <= id < self.vocab_size else ""

    @cached_property
    def control_texts(self) -> frozenset[str]:
        """The texts of the control tokens and the unknown token, which are plain text inside a text.

        Those that only the files beside the model declare are among them.
        """
        configured = configured_tokens(self.path) if self.path else {}
        return frozenset([*map(self.piece, self._named_ids), *configured])

    @cached_property
    def _named_ids(self) -> Sequence[int]:
        """The ids of the control tokens and the unknown token, which represent their own names."""
        is_control, is_unknown = self._processor.is_control, self._processor.is_unknown
        return [id for id in range(self.vocab_size) if is_control(id) or is_unknown(id)]

    @cached_property
    def added_texts(self) -> list[str]:
        """The texts of the user-defined, control and unknown pieces; the library does not list user-defined ones."""
        try:
            spec = self.declared_spec()
        except TokverifyError:
            return sorted(self.control_texts)
        types = spec.types or ()
        user_defined = [text for text, type in zip(spec.tokens, types, strict=False) if type == TokenType.USER_DEFINED]
        return [*user_defined, *sorted(self.control_texts)]

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that a token represents inside a text.

        A control or unknown token represents its own name, as on the other side of a comparison, although the
        library decodes it differently.
        """
        return self._token_bytes[id] if 0 <= id < self.vocab_size else b""

    @cached_property
    def _token_bytes(self) -> Sequence[bytes]:
        represented = [piece.replace("▁", " ").encode() for piece in self.pieces]
        for id in self._named_ids:
            represented[id] = self.pieces[id].encode()
        for id, piece in enumerate(self.pieces):
            if piece.startswith("<0x") and self._processor.is_byte(id) and (byte := BYTE_PIECE.fullmatch(piece)):
                represented[id] = bytes([int(byte[1], 16)])
        return represented


def load(place: os.PathLike[str]) -> FoundReference:
    """Load a .model file; a tokenizer_config.json beside it declares which tokens to add around a text.

    Raises:
        BrokenFileError: If the file cannot be read or is not a sentencepiece model.
    """
    import sentencepiece

    path = Path(place)
    data = read_file(path)
    require_few_pieces(path, data)
    with raised_as(BrokenFileError, f"{path}: not a sentencepiece model"):
        # subtle: with an empty model_proto the library creates an unusable processor.
        processor = sentencepiece.SentencePieceProcessor(model_proto=data or b"\0")
        # It accepts pieces that are not UTF-8, and fails later.
        processor.id_to_piece(list(range(processor.get_piece_size())))
    return FoundReference(
        SentencePieceTokenizer(processor, _around(processor, read_config(path), path), path, data),
        source=str(path),
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        versions={"sentencepiece": sentencepiece.__version__},
    )


def _special_ids(processor: SentencePieceProcessor) -> Mapping[str, int]:
    ids = {
        "bos": processor.bos_id(),
        "eos": processor.eos_id(),
        "unk": processor.unk_id(),
        "pad": processor.pad_id(),
    }
    return {role: id for role, id in ids.items() if id >= 0}


def _around(
    processor: SentencePieceProcessor, config: Mapping[str, Any], path: Path
) -> tuple[list[int], list[int]] | None:
    """Return the ids to add before and after a text; None if the config does not declare them."""
    if not isinstance(config.get("add_bos_token"), bool) and not isinstance(config.get("add_eos_token"), bool):
        return None
    ids = _special_ids(processor)
    around: tuple[list[int], list[int]] = ([], [])
    for side, role in zip(around, ("bos", "eos"), strict=True):
        if config.get(f"add_{role}_token") is True:
            text = token_text(config.get(f"{role}_token"))
            id = _id_of(processor, text) if text else ids.get(role)
            if id is None:
                raise BrokenFileError(
                    f"{path}: the config beside it adds the {role} token {text!r}, which the model does not have"
                )
            side.append(id)
    return around


def _id_of(processor: SentencePieceProcessor, text: str) -> int | None:
    # subtle: piece_to_id returns the id of the unknown token for an unknown piece.
    id: int = processor.piece_to_id(text)
    return id if processor.id_to_piece(id) == text else None
