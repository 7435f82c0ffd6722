"""Encoder: the in-house tokenizer, which gives the ids that llama.cpp would.

Source: `llama_vocab::impl::tokenize`, `token_to_piece` and `detokenize` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from tokverify.engine import added_token
from tokverify.engine.decoder import IncrementalDecoder, clean_up_spaces, token_bytes
from tokverify.engine.family import BY_RANK_ALGORITHMS, BY_SCORE_ALGORITHMS, BYTE_PAIR_ALGORITHMS
from tokverify.engine.models import MODELS, CuttableModel, TracingModel
from tokverify.engine.models.chunk_cache import ChunkCache
from tokverify.engine.models.cpp.spacing import join_pieces
from tokverify.engine.normalizer import escape_spaces
from tokverify.engine.rewriting import Rewriting
from tokverify.engine.settings import Settings, resolve
from tokverify.engine.trace import EncoderTrace, Match, Stretch
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.text.utf8 import has_lone_byte, replace_lone_bytes, to_bytes, to_utf8

if TYPE_CHECKING:
    from tokverify.engine.models import Model
    from tokverify.spec import TokenizerSpec


class Encoder:
    """Encodes and decodes as llama.cpp would with this tokenizer, quirks included.

    `spec` is what the file declares, `settings` what llama.cpp makes of it; where these or the `model` made of both are
    known already, or are to be others, they can be given. Tokens are the stored strings, except
    that llama.cpp cuts them at a NUL and names empty ones `[EMPTY_<id>]`.

    Raises:
        UnsupportedError: For a tokenizer family or pre-tokenizer that tokverify lacks.
        BrokenFileError: Where llama.cpp refuses the file.
    """

    parses_special = True
    adds_special = True
    decodes_as_llama_cpp = False
    """Only `decode` with `clean_up` is."""

    def __init__(
        self,
        spec: TokenizerSpec,
        name: str = "tokverify",
        *,
        settings: Settings | None = None,
        model: Model | None = None,
    ) -> None:
        self.spec = spec
        self.name = name
        self.settings: Settings = settings or resolve(spec)
        self.pieces = self.settings.pieces
        self._token_bytes: dict[int, bytes] = {}
        self._model = model or MODELS[self.settings.algorithm](spec, self.settings)
        added = self.settings.added_tokens
        self._split_all = added_token.splitter(added)
        self._split_user_defined = added_token.splitter([token for token in added if not token.special])
        self._cuts_characters = any(has_lone_byte(token.text) for token in added)
        self._stretches = ChunkCache(self._encode_stretch)

    @property
    def model(self) -> Model:
        """The model that encodes what lies between the added tokens."""
        return self._model

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        return len(self.pieces)

    @property
    def special_ids(self) -> Mapping[str, int]:
        """The effective special ids by role, defaults of llama.cpp included."""
        return self.settings.special_ids

    def encode(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """Encode `text` to ids.

        Raises:
            EncodeError: If the text holds a lone surrogate, or a byte that no token stands for where llama.cpp
                would abort.
        """
        to_utf8(text)
        split = self._split_all if parse_special else self._split_user_defined
        prefix, suffix = self._special_affixes() if add_special else ([], [])
        return prefix + self._encode_fragments(split(text)) + suffix

    def _encode_fragments(self, fragments: Sequence[added_token.Fragment]) -> list[int]:
        # Whole texts hardly ever come again, but what stands between added tokens does.
        encode = self._stretches.__getitem__ if len(fragments) > 1 else self._encode_stretch
        ids: list[int] = []
        for fragment in fragments:
            if isinstance(fragment, int):
                ids.append(fragment)
            else:
                ids += encode(fragment)
        return ids

    def _encode_stretch(self, fragment: str) -> list[int]:
        # Each stretch of text begins the text or follows an added token: those are the places for a space.
        text = self._normalize((" " if self._prefixes_space else "") + fragment)
        if not self._cuts_characters or not has_lone_byte(fragment):
            return self._model.encode(text)
        if isinstance(self._model, CuttableModel):
            return self._model.encode_cut(text)
        return self._model.encode(replace_lone_bytes(text))

    def encode_unsplit(self, text: str) -> list[int]:
        """Encode `text` as if no added token stood in it."""
        return self._encode_fragments([text] if text else [])

    def trace(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> EncoderTrace:
        """Encode `text` at a slower pace, noting how each stage came to its result.

        Raises:
            EncodeError: As `encode` does.
        """
        data = to_utf8(text)
        split = self._split_all if parse_special else self._split_user_defined
        pieces = {token.id: token.text for token in self.settings.added_tokens}
        prefix, suffix = self._special_affixes() if add_special else ([], [])
        fragments = [
            Match(fragment, start, end) if isinstance(fragment, int) else self._trace(fragment, start, end)
            for fragment, start, end in added_token.locate(data, split(text), pieces)
        ]
        return EncoderTrace(tuple(prefix), tuple(fragments), tuple(suffix))

    def _trace(self, text: str, start: int, end: int) -> Stretch:
        if not isinstance(self._model, TracingModel):
            raise UnsupportedError(f"{self.name} is encoded by a model that cannot show its way")
        if isinstance(self._model, CuttableModel) and has_lone_byte(text):
            raise UnsupportedError("an added token cuts a character in two; how the rest is encoded cannot be shown")
        rewriting = Rewriting()
        rewriting.replace("", self._normalize(" ") if self._prefixes_space else "")
        for character in text:
            rewriting.replace(character, replace_lone_bytes(self._normalize(character)))
        traced = self._model.trace(rewriting.result.decode())
        return Stretch(start, end, text, replace(traced, rewriting=rewriting.then(traced.rewriting)))

    @property
    def _prefixes_space(self) -> bool:
        # subtle: for byte-pair encoding by rank llama.cpp ignores the flag when it encodes.
        return self.settings.add_space_prefix and self.settings.algorithm == "spm"

    def _normalize(self, text: str) -> str:
        # subtle: the other algorithms write spaces in a way of their own, and llama.cpp ignores the flag for them.
        is_by_flag = self.settings.algorithm == "spm" or self.settings.algorithm in BYTE_PAIR_ALGORITHMS
        return escape_spaces(text) if is_by_flag and self.settings.escape_whitespaces else text

    def _special_affixes(self) -> tuple[list[int], list[int]]:
        settings = self.settings
        if settings.algorithm == "wordpiece":
            return [self._required("bos")], [self._required("sep")]
        if settings.algorithm == "rwkv":
            return [], []
        bos = [self._required("bos")] if settings.add_bos else []
        return bos, [self._required("eos")] if settings.add_eos else []

    def _required(self, role: str) -> int:
        id = self.settings.special_ids.get(role)
        if id is None:
            raise EncodeError(f"add_{role} is on but tokenizer.ggml.{role}_token_id is missing; llama.cpp aborts here")
        return id

    def warnings(self, ids: Sequence[int]) -> list[str]:
        """Return what is likely a mistake in ids encoded with `add_special`: a doubled BOS or EOS."""
        settings, found = self.settings, []
        bos, eos = settings.special_ids.get("bos"), settings.special_ids.get("eos")
        if settings.add_bos and bos is not None and list(ids[:2]) == [bos, bos]:
            found.append(f"the text begins with BOS ({bos}) and another one was added before it")
        if settings.add_eos and eos is not None and list(ids[-2:]) == [eos, eos]:
            found.append(f"the text ends with EOS ({eos}) and another one was added after it")
        return found

    def piece(self, id: int) -> str:
        """Return the stored string of a token; empty for an id outside the vocabulary."""
        return self.pieces[id] if 0 <= id < len(self.pieces) else ""

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes a token stands for; unused and undefined tokens stand for none.

        Raises:
            EncodeError: If the id is outside the vocabulary.
        """
        known = self._token_bytes.get(id)
        if known is None:
            if not 0 <= id < len(self.pieces):
                raise EncodeError(f"id {id} is outside the vocabulary of {len(self.pieces)} tokens")
            known = self._token_bytes[id] = token_bytes(self.pieces[id], self.settings.attributes[id], self.settings)
        return known

    def decode(self, ids: Sequence[int], *, clean_up: bool = False) -> bytes:
        """Decode ids to bytes, special tokens included.

        This is what a runtime streams out. With `clean_up` the result is that of `llama_detokenize`, which for some
        pre-tokenizers also removes spaces before punctuation.

        Raises:
            EncodeError: If an id is outside the vocabulary.
        """
        parts = [self.token_bytes(id) for id in ids]
        if self.settings.algorithm == "cpp-hybrid":
            return join_pieces(zip(map(self.piece, ids), parts, strict=True))
        if parts and self.settings.add_space_prefix:
            parts[0] = parts[0].removeprefix(b" ")
        decoded = b"".join(parts)
        return clean_up_spaces(decoded) if clean_up and self.settings.clean_spaces else decoded

    def decode_text(self, ids: Sequence[int]) -> str:
        """Decode ids to text; bytes that are not UTF-8 become U+FFFD."""
        return self.decode(ids).decode(errors="replace")

    def decoder(self) -> IncrementalDecoder:
        """Return a decoder that takes ids one by one and never cuts a character."""
        return IncrementalDecoder(self)

    @cached_property
    def fingerprint(self) -> str:
        """The sha256, in hexadecimal, of all that decides which ids a text gets; equal in every file of a model."""
        return fingerprint(self.spec, self.settings)


def fingerprint(spec: TokenizerSpec, settings: Settings) -> str:
    """Return the sha256, in hexadecimal, of all that decides which ids a text gets."""
    digest = hashlib.sha256()
    flags = {
        name: getattr(settings, name)
        for name in (
            "algorithm", "pre", "add_bos", "add_eos", "add_sep", "add_space_prefix", "escape_whitespaces",
            "remove_extra_whitespaces", "ignore_merges", "lowercase", "strip_accents",
        )
    }  # fmt: skip
    flags["special_ids"] = {role: settings.special_ids.get(role) for role in ("bos", "eos", "sep", "unk")}
    flags["stripping"] = [(t.id, t.lstrip, t.rstrip) for t in settings.added_tokens if t.lstrip or t.rstrip]
    digest.update(json.dumps(flags, sort_keys=True).encode())
    merges = spec.merges if settings.algorithm in BY_RANK_ALGORITHMS else None
    for strings in (settings.ids, merges or ()):
        digest.update(to_bytes("\0".join(strings)) + b"\0\0")
    digest.update(bytes(settings.attributes) + b"\0")
    digest.update(_little_endian(spec.scores or ()) if settings.algorithm in BY_SCORE_ALGORITHMS else b"")
    digest.update(spec.charsmap or b"")
    return digest.hexdigest()


def _little_endian(scores: Sequence[float]) -> bytes:
    floats = array("f", scores)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tobytes()
