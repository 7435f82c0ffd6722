"""The reference `sentencepiece`: a .model file as Google's library reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import compress, groupby
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.engine.batch import encode_each
from tokverify.engine.settings import resolve
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.errors import BrokenFileError, EncodeError, TokverifyError, UnsupportedError, answer_or
from tokverify.references.reference import FoundReference
from tokverify.sources.config import configured_tokens, generation_end_ids, read_config, special_texts, token_text
from tokverify.sources.location import read_file
from tokverify.sources.sentencepiece.numbering import caveat_of, is_xlm_roberta
from tokverify.sources.sentencepiece.reader import numbered_model, read_spec, require_few_pieces, tokens_beside
from tokverify.spec import AddedToken, TokenizerSpec, TokenType
from tokverify.system.library_error import raised_as
from tokverify.text.wording import quote
from tokverify.tokenizer import GenerationEnds, StageStretch, TokenizerStages

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor


_ERROR_LEVEL = 2


class SentencePieceTokenizer:
    """A `SentencePieceProcessor`, which never recognizes control tokens in a text, and always user-defined pieces.

    Texts are split at the added tokens of the files beside the model that are not special, as in transformers.

    Args:
        processor: The library's tokenizer.
        path: The .model file. Files beside it declare added tokens, special tokens and what to add around a text.
        content: The content of that file.
        left_open: Tokens of which neither it nor a file beside it says whether they are added ones.
    """

    name = "sentencepiece"
    parses_special = False
    decodes_as_llama_cpp = False

    def __init__(
        self, processor: SentencePieceProcessor, path: Path, content: bytes, left_open: Sequence[AddedToken] = ()
    ) -> None:
        self._processor = processor
        self.path = path
        self._content = content
        self.vocab_size: int = processor.get_piece_size()
        self._ids = list(range(self.vocab_size))
        declared = tokens_beside(path, self.vocab_size)
        self._beside = {id: token for id, token in declared.items() if id >= self.vocab_size}
        self._added = {text: id for id, (text, type) in self._beside.items() if type is TokenType.USER_DEFINED}
        longest_first = sorted(self._added, key=len, reverse=True)
        self._added_pattern = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if longest_first else None
        self._left_open = frozenset(token.text for token in left_open if token.special)
        matched = [re.escape(token.text) for token in left_open if not token.special]
        self._never_compared = re.compile("|".join(matched)) if matched else None
        around = self._declared_around(path)
        self.adds_special = around is not None
        self._before, self._after = around or ([], [])

    @cached_property
    def special_ids(self) -> Mapping[str, int]:
        """The ids of the special tokens, by role; the files beside the model take precedence."""
        processor = self._processor
        own = {
            "bos": processor.bos_id(),
            "eos": processor.eos_id(),
            "unk": processor.unk_id(),
            "pad": processor.pad_id(),
        }
        ids = {role: id for role, id in own.items() if id >= 0}
        texts = special_texts(self.path)
        return ids | {role: id for role, text in texts.items() if (id := self._id_of(text)) is not None}

    def generation_ends(self) -> GenerationEnds:
        """Return EOS, and what the generation_config.json beside the model names."""
        eos = self.special_ids.get("eos")
        named = generation_end_ids(self.path)
        return GenerationEnds(named if eos is None else named | {eos}, are_all=False)

    def _declared_around(self, path: Path) -> tuple[list[int], list[int]] | None:
        """Return the ids to add before and after a text; None if no file beside the model declares them."""
        if is_xlm_roberta(path):
            return ([self.special_ids["bos"]], [self.special_ids["eos"]])
        config = read_config(path)
        if not any(isinstance(config.get(f"add_{role}_token"), bool) for role in ("bos", "eos")):
            return None
        around: tuple[list[int], list[int]] = ([], [])
        for side, role in zip(around, ("bos", "eos"), strict=True):
            if config.get(f"add_{role}_token") is True:
                text = token_text(config.get(f"{role}_token"))
                id = self._id_of(text) if text else self.special_ids.get(role)
                if id is None:
                    raise BrokenFileError(
                        f"{path}: the config beside it adds the {role} token {text!r}, which the model does not have"
                    )
                side.append(id)
        return around

    def _id_of(self, text: str) -> int | None:
        """Return the id of a token, which may be one that only the files beside the model declare."""
        # subtle: piece_to_id returns the id of the unknown token for an unknown piece.
        id: int = self._processor.piece_to_id(text)
        if self.piece(id) == text:
            return id
        return next((id for id, (other, _) in self._beside.items() if other == text), None)

    def declared_spec(self) -> TokenizerSpec:
        """Return what a GGUF file with this tokenizer would declare.

        Raises:
            UnsupportedError: If GGUF cannot express it.
            BrokenFileError: If the file is damaged.
        """
        return self._spec

    @cached_property
    def _spec(self) -> TokenizerSpec:
        # A repair compares many variants of a file with one reference, and reading it takes half a second.
        return read_spec(self.path, self._content)

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:  # noqa: ARG002 - the protocol has it
        """Encode a text to ids; control tokens in it are always plain text."""
        if self._never_compared and (found := self._never_compared.search(text)):
            raise UnsupportedError(f"nothing beside {self.path.name} says whether {quote(found[0])} is an added token")
        ids: list[int] = []
        with raised_as(EncodeError, "sentencepiece cannot encode this text"):
            for part in self._added_pattern.split(text) if self._added_pattern else [text]:
                added = self._added.get(part)
                ids += self._processor.encode(part, out_type=int) if added is None else [added]
        return [*self._before, *ids, *self._after] if add_special else ids

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError | UnsupportedError]:
        """Encode texts in one call; the result for a text that cannot be encoded is its error."""
        if self._never_compared:
            return [self._encode_or_fail(text, add_special=add_special) for text in texts]
        # For a list, the library starts a thread, which takes longer than to encode one short text.
        if self._added_pattern or len(texts) == 1:
            return encode_each(self.encode, texts, add_special=add_special, parse_special=parse_special)
        try:
            with raised_as(EncodeError, "sentencepiece cannot encode one of these texts"):
                lists: list[list[int]] = self._processor.encode(list(texts), out_type=int, num_threads=1)
        except EncodeError:
            return encode_each(self.encode, texts, add_special=add_special, parse_special=parse_special)
        return [[*self._before, *ids, *self._after] if add_special else ids for ids in lists]

    def _encode_or_fail(self, text: str, *, add_special: bool) -> list[int] | EncodeError | UnsupportedError:
        try:
            return self.encode(text, add_special=add_special, parse_special=False)
        except (EncodeError, UnsupportedError) as error:
            return error

    def stages(self, text: str, *, parse_special: bool) -> TokenizerStages:  # noqa: ARG002 - the protocol has it
        """Return the stages that `text` goes through; the library exposes only the normalization."""
        with raised_as(EncodeError, "sentencepiece cannot show its stages for this text"):
            normalized: str = self._processor.normalize(text)
        whole = StageStretch(0, len(text.encode()), normalized, None)
        return TokenizerStages(None, (whole,), "it matches user-defined pieces inside its model")

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids as the library does: control tokens vanish, and the unknown token is ` ⁇ `.

        Of the space that it adds before a text, it removes the first one only, so that nothing is lost behind an added
        token.
        """
        decoded = ""
        with raised_as(EncodeError, "sentencepiece cannot decode these ids"):
            for is_beside, group in groupby(ids, key=self._beside.__contains__):
                part = list(group)
                if is_beside:
                    decoded += "".join(map(self._decode_added, part))
                elif decoded and self._word is not None:
                    decoded += self._processor.decode([self._word, *part])[len(self.pieces[self._word]) :]
                else:
                    decoded += self._processor.decode(part)
        return decoded.encode()

    @cached_property
    def _word(self) -> int | None:
        """An ordinary piece without a space; None if there is none."""
        named = {*self._named_ids}
        plain = (id for id, piece in enumerate(self.pieces) if piece.isascii() and piece.isalpha() and id not in named)
        return next(plain, None)

    def _decode_added(self, id: int) -> str:
        text, type = self._beside[id]
        return text if type is TokenType.USER_DEFINED else ""

    @cached_property
    def pieces(self) -> Sequence[str]:
        """Every piece by id."""
        # For a list, each method of the library is much faster than for one id after the other.
        pieces: list[str] = self._processor.id_to_piece(self._ids)
        return pieces

    def piece(self, id: int) -> str:
        """Return a token's stored string, verbatim; an empty string for an id without a token."""
        return str(self._processor.id_to_piece(id)) if 0 <= id < self.vocab_size else ""

    @cached_property
    def control_texts(self) -> frozenset[str]:
        """The texts of the control tokens and the unknown token, which are plain text inside a text.

        Those that only the files beside the model declare are among them.
        """
        beside = [text for text, type in self._beside.values() if type is TokenType.CONTROL]
        return frozenset([*map(self.piece, self._named_ids), *beside, *self._left_open])

    @cached_property
    def _named_ids(self) -> Sequence[int]:
        """The ids of the control tokens and the unknown token, which represent their own names."""
        kinds = self._processor.is_control(self._ids), self._processor.is_unknown(self._ids)
        return list(compress(self._ids, map(or_, *kinds)))

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


def load(place: os.PathLike[str], spec: TokenizerSpec | None = None) -> FoundReference:
    """Load a .model file; a tokenizer_config.json beside it declares which tokens to add around a text.

    Without a file that lists the added tokens, no text is compared that contains one of `spec` behind its last piece.

    Raises:
        BrokenFileError: If the file cannot be read or is not a sentencepiece model.
    """
    import sentencepiece

    path = Path(place)
    data = read_file(path)
    require_few_pieces(path, data)
    model = numbered_model(path, data)
    # It logs single pieces, such as one with NUL, to stderr, which no finding is about.
    sentencepiece.set_min_log_level(_ERROR_LEVEL)
    with raised_as(BrokenFileError, f"{path}: not a sentencepiece model"):
        # subtle: with an empty model_proto the library creates an unusable processor.
        processor = sentencepiece.SentencePieceProcessor(model_proto=model or b"\0")
        # It accepts pieces that are not UTF-8, and fails later.
        processor.id_to_piece(list(range(processor.get_piece_size())))
    left_open = _left_open(path, processor.get_piece_size(), spec) if spec else ()
    tokenizer = SentencePieceTokenizer(processor, path, data, left_open)
    versions = {"sentencepiece": sentencepiece.__version__}
    return FoundReference.of_file(tokenizer, path, data, versions=versions, caveat=caveat_of(path))


def _left_open(path: Path, size: int, spec: TokenizerSpec) -> Sequence[AddedToken]:
    if len(spec.tokens) <= size or configured_tokens(path, size):
        return ()
    # A file that llama.cpp refuses says nothing.
    settings = answer_or(None, resolve, spec)
    return [token for token in settings.added_tokens if token.id >= size] if settings else ()
