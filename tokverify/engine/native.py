"""Build the native encoder of a tokenizer: hand its tables and effective settings to the compiled module.

The compiled module is `tokverify._native`; its source is in `native/`. It has no error messages of its own: where it
refuses a tokenizer or a text, the Python engine repeats the step and reports the error.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from tokverify.engine import pre_pattern
from tokverify.engine.attribute import Attribute
from tokverify.engine.engine_choice import native_module
from tokverify.engine.family import Family, Settings, SpaceEscaping
from tokverify.engine.joined_strings import JoinedStrings, NativePieces, join
from tokverify.engine.piece_index import PieceIndex
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer, Splitter
from tokverify.errors import UnsupportedError
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.utf8 import from_utf8


class NativeStream(Protocol):
    """What the compiled decoder of a stream offers."""

    def push(self, id: int, /) -> str | None:
        """Return the text that is complete with the next id; None for an id outside the vocabulary."""

    def finish(self) -> str:
        """Return the remaining text."""


class NativeEncoder(Protocol):
    """What the compiled encoder offers."""

    def encode(self, text: str, add_special: bool, parse_special: bool, /) -> list[int] | None:
        """Return the ids of a text; None if llama.cpp aborts on it.

        Raises:
            UnicodeEncodeError: If the text contains a lone surrogate.
        """

    def encode_batch(
        self, texts: tuple[str | bytes, ...], add_special: bool, parse_special: bool, threads: int, /
    ) -> tuple[bytes, bytes, int | None]:
        """Return the ids and offsets of many texts, or the index of the first one on which llama.cpp aborts."""

    def decode(self, ids: Sequence[int], clean_up: bool, /) -> bytes | None:
        """Return the bytes of a text; None if something is not an id of the vocabulary."""

    def decode_batch(
        self, ids: memoryview, offsets: memoryview, clean_up: bool, threads: int, /
    ) -> tuple[bytes, bytes, int | None]:
        """Return the bytes and offsets of many texts, or the index of the first list with an unknown id."""

    def token_bytes(self) -> list[bytes]:
        """Return the bytes that each token represents, by id."""

    def stream_decoder(self) -> NativeStream:
        """Return a decoder for the ids of one text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What the compiled module builds an encoder from; a table that is None is that of another encoder."""

    model: str
    pieces: NativePieces | None
    """The strings that texts are matched with."""
    displayed: bytes | None
    """The pieces, in families that display them in another form."""
    piece_count: int
    scores: array[float] | None
    types: array[int] | None
    """The declared types, as 32-bit integers."""
    attributes: bytes
    merges: bytes | None
    """The merges, separated by NUL."""
    merge_count: int
    charsmap: bytes | None
    rules: list[str]
    """The rules of the pre-tokenizer by name; see `rule_name`."""
    byte_level: bool
    ignore_merges: bool
    newline_pieces: bool
    unknown_id: int | None
    added_tokens: list[tuple[int, bool, bool, bool]]
    """Id, `special`, `lstrip` and `rstrip` of each."""
    prefix: list[int] | None
    """The tokens that `add_special` adds before a text; None if a required one is missing."""
    suffix: list[int] | None
    add_space_prefix: bool
    prefixes_space: bool
    """Whether the encoder itself adds a space."""
    escape_whitespaces: bool
    escapes_in_encoder: bool
    remove_extra_whitespaces: bool
    clean_spaces: bool
    lowercase: bool
    strip_accents: bool
    nfc: bool
    in_background: bool
    """Whether another thread builds large tables, for which the first text waits."""


def build_native(
    spec: TokenizerSpec,
    settings: Settings,
    base: tuple[TokenizerSpec, NativeEncoder] | None = None,
    *,
    pre_tokenizer: PreTokenizer | None = None,
    in_background: bool = False,
) -> NativeEncoder:
    """Build the native encoder.

    Args:
        spec: What the file declares.
        settings: The effective settings.
        base: Another specification with its encoder, to share the tables that are identical objects in both.
        pre_tokenizer: Another pre-tokenizer than that of the settings, with patterns of llama.cpp.
        in_background: Let another thread build large tables.

    Raises:
        UnsupportedError: If the native engine does not support the tokenizer; the message completes
            `the native engine ...`.
    """
    if spec.charsmap == b"":
        raise UnsupportedError("does not support an empty charsmap")
    if settings.family.splits_words and settings.keeps_marks:
        raise UnsupportedError("does not support builds of llama.cpp that keep combining marks")
    if settings.family.uses_pre_tokenizer and settings.pre_tokenizer != PRE_TOKENIZERS[settings.pre]:
        raise UnsupportedError("does not support builds of llama.cpp in whose patterns `~` is no symbol")
    decodes = settings.family.decodes_characters(Attribute.NORMAL, escape_whitespaces=settings.escape_whitespaces)
    if settings.decodes_overlong and decodes and from_utf8(join(settings.pieces)) is None:
        raise UnsupportedError("does not support builds of llama.cpp that read overlong sequences in tokens")
    module = native_module()
    try:
        previous = base[1] if base and len(base[0].tokens) == len(spec.tokens) else None
        shared = base[0] if base and previous else None
        declaration = declare(spec, settings, shared, pre_tokenizer, in_background=in_background)
        encoder: NativeEncoder = module.Encoder(declaration, previous)
    except module.NotSupportedError as error:
        raise UnsupportedError(str(error)) from None
    except UnicodeEncodeError:
        raise UnsupportedError("does not support pieces with lone surrogates") from None
    return encoder


def declare(
    spec: TokenizerSpec,
    settings: Settings,
    base: TokenizerSpec | None,
    pre_tokenizer: PreTokenizer | None,
    *,
    in_background: bool,
) -> Declaration:
    """Collect what the compiled module needs, without the tables that `base` shares with `spec`."""
    family = settings.family
    if family.uses_pre_tokenizer and pre_tokenizer is None:
        pre_tokenizer = settings.pre_tokenizer
    prefix, suffix = _affixes(settings)
    shares_pieces = base is not None and base.tokens is spec.tokens and base.model == spec.model
    displays_stored = type(family).displayed_pieces is Family.displayed_pieces
    return Declaration(
        model=spec.model,
        pieces=None if shares_pieces else _native_pieces(settings.ids),
        displayed=None if displays_stored else join(settings.pieces),
        piece_count=len(settings.pieces),
        scores=None if base and base.scores is spec.scores else _score_array(spec.scores or ()),
        types=None if base and base.types is spec.types else _type_array(spec.types or ()),
        attributes=settings.attributes,
        merges=None if base and base.merges is spec.merges else _join_merges(spec.merges or ()),
        merge_count=len(spec.merges or ()),
        charsmap=None if base and base.charsmap is spec.charsmap else spec.charsmap or b"",
        rules=[rule_name(rule) for rule in pre_tokenizer.patterns] if pre_tokenizer else [],
        byte_level=bool(pre_tokenizer and pre_tokenizer.byte_level),
        ignore_merges=bool(pre_tokenizer and pre_tokenizer.ignore_merges),
        newline_pieces=bool(pre_tokenizer and pre_tokenizer.newline_pieces),
        unknown_id=settings.special_ids.get("unk"),
        added_tokens=[(token.id, token.special, token.lstrip, token.rstrip) for token in settings.added_tokens],
        prefix=prefix,
        suffix=suffix,
        add_space_prefix=settings.add_space_prefix,
        prefixes_space=settings.add_space_prefix and family.prefixes_space,
        escape_whitespaces=settings.escape_whitespaces,
        escapes_in_encoder=settings.escape_whitespaces and family.space_escaping is SpaceEscaping.IN_ENCODER,
        remove_extra_whitespaces=settings.remove_extra_whitespaces,
        clean_spaces=settings.clean_spaces,
        lowercase=settings.lowercase,
        strip_accents=settings.strip_accents,
        nfc=settings.nfc,
        in_background=in_background,
    )


def _native_pieces(ids: Mapping[str, int]) -> NativePieces:
    """Return the table that was made to look up pieces, or make one."""
    if isinstance(ids, PieceIndex):
        return ids.native
    pieces: NativePieces = native_module().Pieces(join(ids), len(ids))
    return pieces


def _join_merges(merges: Sequence[str]) -> bytes:
    """Return the part of each merge before its first NUL, as llama.cpp reads it, separated by NUL."""
    joined = join(merges)
    if isinstance(merges, JoinedStrings) or not merges or joined.count(b"\0") == len(merges) - 1:
        return joined
    return join([merge.partition("\0")[0] for merge in merges])


def _score_array(scores: Sequence[float]) -> array[float]:
    """Return scores as a file stores them, or as Python computes with them."""
    return scores if isinstance(scores, array) and scores.typecode in "fd" else array("d", scores)


def _type_array(types: Sequence[int]) -> array[int]:
    """Return types as a file stores them; types that no model depends on may become 0."""
    if isinstance(types, array) and types.typecode == "i":
        return types
    try:
        return array("i", list(types))  # a list, because an array takes bytes as the memory of its values
    except OverflowError:
        return array("i", (type if type in set(TokenType) else 0 for type in types))


def rule_name(rule: str | Splitter) -> str:
    """Return the name of a rule of a pre-tokenizer: of the constant in `pre_pattern`, or of the function."""
    return _pattern_names().get(rule, "an unnamed pattern") if isinstance(rule, str) else rule.__name__


@cache
def _pattern_names() -> dict[str, str]:
    constants = vars(pre_pattern).items()
    return {value: name for name, value in constants if name.isupper() and isinstance(value, str)}


def _affixes(settings: Settings) -> tuple[list[int] | None, list[int] | None]:
    before, after = settings.family.affix_roles(settings)
    return _ids_of(before, settings), _ids_of(after, settings)


def _ids_of(roles: Sequence[str], settings: Settings) -> list[int] | None:
    ids = [settings.special_ids.get(role) for role in roles]
    return None if None in ids else [id for id in ids if id is not None]
