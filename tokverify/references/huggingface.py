"""The reference `tokenizers`: a tokenizer.json as HuggingFace's own Rust library reads it.

The library is used directly and never through `transformers`, which may change a tokenizer while it loads it.
"""

from __future__ import annotations

import hashlib
import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import tokenizers
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from tokverify.engine.batch import decode_each, encode_each
from tokverify.engine.joined_strings import JoinedStrings
from tokverify.errors import BrokenFileError, EncodeError, UnsupportedError
from tokverify.references.huggingface_stage import ids_around, stages
from tokverify.references.piece_bytes import PieceBytes, piece_bytes
from tokverify.references.reference import FoundReference
from tokverify.sources.config import generation_end_ids, special_texts
from tokverify.sources.huggingface.document import read_json, read_outline
from tokverify.sources.huggingface.expansion import (
    require_bounded,
    require_valid_charsmaps,
    require_visible_added_tokens,
)
from tokverify.sources.huggingface.pipeline import find_pipeline
from tokverify.sources.huggingface.stage import stages_of
from tokverify.sources.huggingface.tables import NativeTables, read_tables
from tokverify.sources.location import read_file
from tokverify.spec import MAX_GAP, MAX_TOKENS, TokenType, TokenTypes
from tokverify.system.beside import Beside
from tokverify.system.json_input import MAX_MEMORY, estimate_memory
from tokverify.system.library_error import raised_as
from tokverify.tokenizer import GenerationEnds, TokenizerStages
from tokverify.tokenizer import Tokenizer as AnyTokenizer

_CHARSMAP = b"precompiled_charsmap"
# The lookbehind comes second, as a pattern is found fifteen times faster if it begins with fixed text.
_UNKNOWN_ID = re.compile(rb'"unk_id"(?<!\\"unk_id")\s*:\s*(\d+)')


class DescribedTokenizer:
    """What a `tokenizers.Tokenizer` says about itself; a subclass encodes and decodes, with the same one or another.

    Args:
        tokenizer: The library's tokenizer, of which truncation and padding are turned off.
        name: A short name for reports.
        special_ids: Role -> id; by default BOS and EOS are the tokens that the post-processor adds around a text.
        end_ids: Tokens that end a generation, besides EOS.
        document: The content of the tokenizer.json, if the tokenizer was made from one.
        tables: The tables of its model, if they could be read natively.
        path: The file that it was read from, if any.
        unused_ids: The tokens that the file from which it was rebuilt types UNUSED, which the library does not know.
        adds_special: Whether it is known what surrounds a text.
        left_open: What its files do not say, so that it was taken from the model; empty if nothing.
    """

    parses_special = True
    decodes_as_llama_cpp = False

    def __init__(  # noqa: PLR0913 - the optional ones are keywords
        self,
        tokenizer: Tokenizer,
        *,
        name: str = "tokenizers",
        special_ids: Mapping[str, int] | None = None,
        end_ids: Collection[int] = (),
        document: bytes | None = None,
        tables: NativeTables | None = None,
        path: Path | None = None,
        unused_ids: Collection[int] = (),
        adds_special: bool = True,
        left_open: str = "",
    ) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        if getattr(tokenizer.model, "dropout", None):
            # It is for training: the library would encode each text at random.
            tokenizer.model.dropout = None
        self.name = name
        self.path = path
        self.special_ids = special_ids or ids_around(tokenizer)
        named_eos = (special_ids or {}).get("eos")
        self._end_ids = frozenset(end_ids) | (frozenset() if named_eos is None else {named_eos})
        self._tokenizer = tokenizer
        self._document = document
        self.tables = tables
        self._unused_ids = unused_ids
        self.adds_special = adds_special
        self.left_open = left_open
        self._around: tuple[Sequence[int], Sequence[int]] | None = None

    def with_around(self, before: Sequence[int], after: Sequence[int]) -> Self:
        """Return the same tokenizer, but with these ids around a text instead of those of its post-processor."""
        changed = copy(self)
        changed._around = before, after  # noqa: SLF001 - of the same class
        return changed

    @property
    def library(self) -> Tokenizer:
        """The library's own tokenizer."""
        return self._tokenizer

    def tokenizer_json(self) -> bytes:
        """Return the content of the tokenizer.json.

        Raises:
            UnsupportedError: If the tokenizer was not made from a file.
        """
        if self._document is None:
            raise UnsupportedError(f"{self.name}: the reference was not read from a tokenizer.json")
        return self._document

    def token_types(self) -> TokenTypes:
        """Return CONTROL for special added tokens, USER_DEFINED for other added tokens, and which ones are unused."""
        return self._types

    @cached_property
    def _types(self) -> TokenTypes:
        types = bytearray(self.vocab_size)
        for id in self._unused_ids:
            types[id] = TokenType.UNUSED
        for id, token in self._tokenizer.get_added_tokens_decoder().items():
            types[id] = TokenType.CONTROL if token.special else TokenType.USER_DEFINED
        return TokenTypes(bytes(types))

    def generation_ends(self) -> GenerationEnds:
        """Return EOS and the `end_ids`, if they were given: a token that is added after a text need not be an end."""
        return GenerationEnds(self._end_ids, are_all=False)

    @property
    def vocab_size(self) -> int:
        """One more than the highest id."""
        return len(self.pieces)

    def piece(self, id: int) -> str:
        """Return a token's stored string, verbatim; an empty string for an id without a token."""
        return self.pieces[id] if 0 <= id < len(self.pieces) else ""

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that a token represents inside a text, at any position."""
        piece = self.piece(id)
        return piece.encode() if id in self._literal_ids else self._piece_bytes(piece)

    def bytes_of_tokens(self) -> list[bytes]:
        """Return the bytes that each token represents, by id."""
        found = list(map(self._piece_bytes, self.pieces))
        for id in self._literal_ids:
            found[id] = self.piece(id).encode()
        return found

    @cached_property
    def pieces(self) -> Sequence[str]:
        """Every piece by id; an empty string for an id without a token."""
        of_model = self.tables.pieces if self.tables else None
        if of_model is not None and (read := add_tokens(of_model, self._tokenizer)):
            return read
        by_id = list(map(self._tokenizer.id_to_token, range(self._tokenizer.get_vocab_size())))
        pieces = [piece for piece in by_id if piece is not None]
        if len(pieces) == len(by_id):
            return pieces
        # If ids are missing, the size does not reveal the highest one; the slower call lists them all.
        ids = self._tokenizer.get_vocab()
        highest = max(ids.values(), default=-1)
        if highest >= len(ids) + MAX_GAP or highest >= MAX_TOKENS:
            raise BrokenFileError(
                f"{self.name}: a token has the id {highest:,}, but there are only {len(ids):,} tokens"
            )
        pieces = [""] * (highest + 1)
        for piece, id in ids.items():
            pieces[id] = piece
        return pieces

    @cached_property
    def control_texts(self) -> frozenset[str]:
        """The texts of the added tokens that are special."""
        added = self._tokenizer.get_added_tokens_decoder().values()
        return frozenset(token.content for token in added if token.special)

    def normalized_tokens(self) -> dict[int, str]:
        """Return the texts of the added tokens that are looked for in the normalized text."""
        added = self._tokenizer.get_added_tokens_decoder() if self._tokenizer.normalizer else {}
        return {id: token.content for id, token in added.items() if token.normalized}

    @property
    def added_texts(self) -> list[str]:
        """The texts of the added tokens, by id."""
        return [token.content for _, token in sorted(self._tokenizer.get_added_tokens_decoder().items())]

    @cached_property
    def _spelling(self) -> list[dict[str, Any]]:
        """The stages that determine how pieces are written, with options of the model written as stages."""
        tokenizer = self._tokenizer
        stages = stages_of(tokenizer.decoder) + stages_of(tokenizer.pre_tokenizer) + stages_of(tokenizer.normalizer)
        if getattr(tokenizer.model, "byte_fallback", False):
            stages.append({"type": "ByteFallback"})
        if type(tokenizer.model).__name__ == "WordPiece":
            stages.append({"type": "WordPiece", "prefix": tokenizer.model.continuing_subword_prefix})
        return stages

    @cached_property
    def _piece_bytes(self) -> PieceBytes:
        pipeline = find_pipeline(self._tokenizer)
        return pipeline.piece_bytes if pipeline else piece_bytes(self._spelling)

    @cached_property
    def _literal_ids(self) -> frozenset[int]:
        """The ids of added tokens that represent their own text."""
        added = self._tokenizer.get_added_tokens_decoder()
        # subtle: an added token `▁▁` also matches two spaces, so it decodes to them unless it is special.
        own_text = any(stage["type"] in {"ByteLevel", "WordPiece"} for stage in self._spelling)
        return frozenset(id for id, token in added.items() if own_text or token.special)


class HuggingFaceTokenizer(DescribedTokenizer):
    """A `tokenizers.Tokenizer` that encodes and decodes."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to token ids."""
        before, after = self._around or ((), ())
        with raised_as(EncodeError, f"{self.name} cannot encode this text", quietly=True):
            self._tokenizer.encode_special_tokens = not parse_special
            ids: list[int] = self._tokenizer.encode(text, add_special_tokens=add_special and not self._around).ids
        return [*before, *ids, *after] if add_special and self._around else ids

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError | UnsupportedError]:
        """Encode texts; the result for a text that cannot be encoded is its error."""
        if add_special and self._around:
            return encode_each(self.encode, texts, add_special=add_special, parse_special=parse_special)
        try:
            with raised_as(EncodeError, f"{self.name} cannot encode one of these texts", quietly=True):
                self._tokenizer.encode_special_tokens = not parse_special
                encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=add_special)
        except EncodeError:
            return encode_each(self.encode, texts, add_special=add_special, parse_special=parse_special)
        return [encoding.ids for encoding in encodings]

    def stages(self, text: str, *, parse_special: bool) -> TokenizerStages:
        """Return the stages that `text` goes through."""
        byte_level = any(stage["type"] == "ByteLevel" for stage in stages_of(self._tokenizer.pre_tokenizer))
        with raised_as(EncodeError, f"{self.name} cannot show its stages for this text", quietly=True):
            self._tokenizer.encode_special_tokens = not parse_special
            return stages(self._tokenizer, text, byte_level=byte_level)

    def decoder(self) -> HuggingFaceStream:
        """Start decoding with the first id of a text."""
        return HuggingFaceStream(self._tokenizer)

    def resume(self, before: Sequence[int]) -> HuggingFaceStream:
        """Start decoding after the ids `before`."""
        return HuggingFaceStream(self._tokenizer, before)

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids as the library does, which replaces bytes that are not UTF-8 by U+FFFD."""
        self._require_known(ids)
        with raised_as(EncodeError, f"{self.name} cannot decode these ids", quietly=True):
            text: str = self._tokenizer.decode(list(ids), skip_special_tokens=False)
        return text.encode()

    def decode_many(self, all_ids: Sequence[Sequence[int]]) -> list[bytes | EncodeError]:
        """Decode lists of ids; the result for a list that cannot be decoded is its error."""
        try:
            for ids in all_ids:
                self._require_known(ids)
            with raised_as(EncodeError, f"{self.name} cannot decode one of these lists", quietly=True):
                texts = self._tokenizer.decode_batch(list(map(list, all_ids)), skip_special_tokens=False)
        except EncodeError:
            return decode_each(self.decode, all_ids)
        return [text.encode() for text in texts]

    def _require_known(self, ids: Sequence[int]) -> None:
        # subtle: the library silently skips ids it does not know.
        known = range(len(self.pieces))
        for id in ids:
            if id not in known or id in self._missing_ids:
                raise EncodeError(f"{self.name} has no token with the id {id}")

    @cached_property
    def _missing_ids(self) -> frozenset[int]:
        """The ids without a token."""
        if isinstance(self.pieces, JoinedStrings) and not self.pieces.has_empty:
            return frozenset()
        return frozenset(id for id, piece in enumerate(self.pieces) if not piece)


def load(place: os.PathLike[str]) -> FoundReference:
    """Load a tokenizer.json, and the roles of its special tokens from the files beside it.

    Raises:
        BrokenFileError: If the file cannot be read or is not a tokenizer.json.
    """
    path = Path(place)
    found = from_json(
        read_file(path),
        source=str(path),
        special_texts=special_texts(path),
        end_ids=generation_end_ids(path),
        is_file=True,
        path=path,
    )
    return replace(found, path=path)


def from_json(  # noqa: PLR0913 - the optional ones are keywords
    data: bytes,
    *,
    source: str,
    special_texts: Mapping[str, str] | None = None,
    end_ids: Collection[int] = (),
    is_file: bool = False,
    path: Path | None = None,
    make: Callable[..., AnyTokenizer] = HuggingFaceTokenizer,
) -> FoundReference:
    """Make a reference from the content of a tokenizer.json.

    Args:
        data: The content.
        source: Where it comes from, for messages.
        special_texts: Role -> token text.
        end_ids: Tokens that end a generation.
        is_file: Whether it is a file of its own, which `tokenizer_json` returns.
        path: That file, if others beside it belong to it.
        make: Makes the tokenizer, as `HuggingFaceTokenizer` does.

    Raises:
        BrokenFileError: If it is not a tokenizer.json.
        UnsupportedError: If it exceeds a limit.
    """
    if estimate_memory(data) > MAX_MEMORY:
        raise UnsupportedError(f"{source}: would need more than {MAX_MEMORY >> 20:,} MiB of memory, the limit")
    digest = Beside(lambda: hashlib.sha256(data).hexdigest())
    tables = read_tables(data)
    if _CHARSMAP in data:
        # The library would abort the process.
        require_valid_charsmaps(read_outline(data, source, tables).get("normalizer"), source)
    tokenizer = _load_library(data, source, tables)
    for part in (tokenizer.normalizer, tokenizer.decoder):
        require_bounded(stages_of(part), source)
    require_visible_added_tokens(tokenizer, source)
    ids = {role: tokenizer.token_to_id(text) for role, text in (special_texts or {}).items()}
    known = {role: id for role, id in ids.items() if id is not None}
    if "unk" in known and (own := _UNKNOWN_ID.search(data)):
        # Unigram encodes unknown text as this token, whatever the files beside it say.
        known["unk"] = int(own[1])
    return FoundReference(
        make(
            tokenizer,
            special_ids=known,
            end_ids=end_ids,
            document=data if is_file else None,
            tables=tables and tables._replace(prepared=None),
            path=path,
        ),
        source=source,
        sha256=digest.result(),
        versions={"tokenizers": tokenizers.__version__},
    )


def _load_library(data: bytes, source: str, tables: NativeTables | None) -> Tokenizer:
    """Load a tokenizer.json with the library, in the form that it reads faster if there is one."""

    def load_from(document: bytes) -> Tokenizer:
        with raised_as(BrokenFileError, f"{source}: tokenizers {tokenizers.__version__} cannot load it", quietly=True):
            return tokenizers.Tokenizer.from_buffer(document)

    if tables and tables.prepared:
        # subtle: messages name a line and a column, so those about the document itself are shown.
        with suppress(BrokenFileError):
            return load_from(tables.prepared)
    try:
        return load_from(data)
    except BrokenFileError:
        if data.startswith(BOM_UTF8):
            reason = "it begins with a byte order mark; save it as UTF-8 without one"
            raise BrokenFileError(f"{source}: tokenizers cannot load it, as {reason}") from None
        read_json(data, source)
        raise


class HuggingFaceStream:
    """A stream of the library, with special tokens."""

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


def add_tokens(of_model: JoinedStrings, tokenizer: Tokenizer) -> JoinedStrings | None:
    """Return every piece of a tokenizer by id, as the library does.

    Args:
        of_model: The pieces of the model in the tokenizer.json.
        tokenizer: The tokenizer that the library made from it.

    Returns:
        None if the library may have read something else, or an added token has another text than the piece of its id.
    """
    if len(of_model) != tokenizer.get_vocab_size(with_added_tokens=False):
        return None
    added = {id: token.content for id, token in sorted(tokenizer.get_added_tokens_decoder().items())}
    texts = [text for id, text in added.items() if id >= len(of_model)]
    total = len(of_model) + len(texts)
    if max(added, default=-1) >= total or total != tokenizer.get_vocab_size() or any("\0" in text for text in texts):
        return None
    listed = [id for id in added if id < len(of_model)]
    if of_model.select(listed) != [added[id] for id in listed]:
        return None
    return of_model.extended(texts)
