"""Family: everything that depends on `tokenizer.ggml.model`, and the effective settings of one tokenizer of a family.

Code asks the family of a tokenizer and never compares names of models or algorithms. The families themselves are in
`tokverify.engine.families`.

Source: the first part of `llama_vocab::impl::load`, and `token_to_piece`, in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from tokverify.engine.attribute import VERBATIM, Attribute
from tokverify.engine.normalizer import unescape_spaces
from tokverify.engine.override import Override
from tokverify.engine.piece_index import PieceIndex
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer, without_tilde
from tokverify.spec import AddedToken, TokenizerSpec
from tokverify.text.utf8 import to_bytes

if TYPE_CHECKING:
    from tokverify.engine.model import Model

NO_TOKEN = -1
"""The unknown token of a vocabulary that has none (llama.cpp's `LLAMA_TOKEN_NULL`)."""

STRICT_UTF8_SINCE = 11739
"""The build since which overlong sequences and numbers above U+10FFFF are no characters (b11548 is the last before)."""

DROPS_MARKS_SINCE = 9642
"""The build since which combining marks are dropped with the accents of words (b9554 is the last before)."""

TILDE_IS_SYMBOL_SINCE = 10566
r"""The build since which `~` belongs to `\p{S}` in a pattern, as in Unicode (b10335 is the last before)."""

PRE_WITHOUT_MERGES = "kimi-k2"
"""The only pre-tokenizer with which llama.cpp loads a file without merges."""

NO_VOCABULARY = {
    "no_vocab": "the model works without a tokenizer",
    "none": "the model works without a tokenizer",
    "test": "llama.cpp has it for its own tests, and it encodes nothing",
}
"""The values of `tokenizer.ggml.model` in files without a tokenizer, and what they mean."""


class Ranking(Enum):
    """What decides which pieces a model takes if several are possible."""

    LENGTH = "the longest piece wins"
    MERGE_RANK = "neighbors are merged in the order of the merge list"
    SCORE = "neighbors are merged in the order of the score of the piece they form"
    SCORE_SUM = "the segmentation with the best sum of scores wins"

    @property
    def uses_scores(self) -> bool:
        """Whether the scores of the pieces matter."""
        return self in {Ranking.SCORE, Ranking.SCORE_SUM}


class Affixes(Enum):
    """When `add_special` adds tokens around a text."""

    BY_FLAG = "add_bos and add_eos decide"
    ALWAYS = "the flags are ignored"
    NEVER = "there are none"


class Alphabet(Enum):
    """How ordinary pieces are written."""

    OWN = "in a way that only this family uses"
    ESCAPED = "as text with ▁ for a space"
    BYTE_LEVEL = "one character of the GPT-2 alphabet per byte"


class SpaceEscaping(Enum):
    """Where spaces become `▁` if `escape_whitespaces` is on."""

    NOWHERE = "the setting has no effect"
    IN_ENCODER = "before the text reaches the model"
    IN_MODEL = "in the model's own normalizer"


@dataclass(frozen=True, slots=True)
class ByteFallback:
    """How a model encodes what no piece matches: with byte pieces such as `<0x0A>`."""

    when_missing: str
    """What llama.cpp does if it needs a byte piece that is missing, as a verb phrase."""
    accepts_raw_bytes: bool = False
    """Whether a piece that is the raw byte itself is accepted instead."""


@dataclass(frozen=True, slots=True)
class MergeCosts:
    """The merges of a vocabulary; the cheapest adjacent pair is merged first."""

    merges: Set[str]
    """All merges that a text can exercise."""
    costs: Mapping[str, float]
    """The cost of each pair, written as its two parts joined by `separator`."""
    separator: str


class PieceJoiner(Protocol):
    """Joins the pieces of a text one by one, for families that need more than concatenation."""

    def push(self, piece: str, token_bytes: bytes) -> bytes:
        """Take the next piece; return the bytes that are complete with it."""

    def finish(self) -> bytes:
        """Return the remaining bytes."""


@dataclass(frozen=True, kw_only=True)
class Family(ABC):
    """One value of `tokenizer.ggml.model`: what llama.cpp assumes of it, and how it encodes and decodes."""

    model: str
    """The value of `tokenizer.ggml.model`."""
    algorithm: str
    """The name of the algorithm, for reports."""
    summary: str
    """What the algorithm does, as a verb phrase for `explain`."""
    in_llama_cpp: bool = True
    """Whether llama.cpp knows the model; False for tokverify's own, of which nothing is assumed."""

    # Defaults for what a file does not declare.
    special_ids: Mapping[str, int] = field(default_factory=dict)
    add_bos: bool = False
    add_eos: bool = False
    add_sep: bool = False
    add_space_prefix: bool = False
    clean_spaces: bool = False
    escape_whitespaces: bool = True
    lowercase: bool = False
    strips_accents_if_lowercase: bool = False
    """Whether `strip_accents` is on by default wherever `lowercase` is."""
    pre: str | None = None
    """The pre-tokenizer that the model implies, regardless of what the file declares."""
    ignore_merges: bool = False

    # How texts are encoded.
    ranking: Ranking
    uses_pre_tokenizer: bool = False
    """Whether `tokenizer.ggml.pre` and the merge list have an effect."""
    is_bpe: bool = False
    """Whether the model is byte-pair encoding of pre-tokens by merge rank, and nothing else."""
    flags: tuple[str, ...] = ()
    """The settings, besides those for affixes, that change how a text is encoded."""
    affixes: Affixes = Affixes.BY_FLAG
    closing_role: str = "eos"
    """The role of the token after a text."""
    prefixes_space: bool = False
    """Whether the encoder adds a space before each stretch of text if `add_space_prefix` is on."""
    space_escaping: SpaceEscaping = SpaceEscaping.NOWHERE
    uses_charsmap: bool = False
    """Whether the model normalizes texts by `tokenizer.ggml.precompiled_charsmap`."""
    splits_words: bool = False
    """Whether the model cleans up texts and splits them into words by itself, as BERT's normalizer does."""
    reads_types: bool = False
    """Whether the model depends on token types beyond which tokens are added tokens."""
    equivalent_pre_tokenizers: frozenset[str] = frozenset()
    """The pre-tokenizers of a tokenizer.json that the model reproduces by itself."""

    # How pieces are written.
    alphabet: Alphabet = Alphabet.OWN
    byte_fallback: ByteFallback | None = None
    """How missing characters are encoded; None unless the model's files must contain the 256 byte pieces."""
    has_byte_pieces: bool = False
    """Whether vocabularies contain byte pieces."""
    ignores_byte_pieces: bool = False
    """Whether originals may fall back to bytes and llama.cpp does not."""
    replaces_unknown: bool = False
    """Whether what no piece matches becomes the unknown token."""
    declares_types: bool = True
    """Whether converters write `tokenizer.ggml.token_type`."""

    @abstractmethod
    def make_model(self, spec: TokenizerSpec, settings: Settings) -> Model:
        """Build the model from the declared tokenizer and its effective settings."""

    def requires_merges(self, pre: str | None) -> bool:
        """Whether llama.cpp refuses a file that declares the pre-tokenizer `pre` and no merges."""
        return self.uses_pre_tokenizer and (self.pre is not None or pre != PRE_WITHOUT_MERGES)

    def affix_roles(self, settings: Settings) -> tuple[list[str], list[str]]:
        """Return the roles of the tokens that `add_special` adds before and after a text."""
        if self.affixes is Affixes.NEVER:
            return [], []
        always = self.affixes is Affixes.ALWAYS
        before = ["bos"] if always or settings.add_bos else []
        return before, [self.closing_role] if always or settings.add_eos else []

    def displayed_pieces(self, pieces: Sequence[str], ids: Mapping[str, int]) -> Sequence[str]:
        """Return the pieces in the form in which they are displayed; `ids` maps the stored strings to ids."""
        del ids
        return pieces

    def lookup_text(self, text: str, settings: Settings) -> str | None:
        """Return the piece that the model would look up for the whole text; None if it never looks up whole texts."""
        del text, settings
        return None

    def significant_text(self, normalized: str, *, whole: bool) -> str:
        """Leave out the spaces of a normalized text that the model, or a reference, handles in a later stage.

        `whole` is True for a whole text, False for a stretch between added tokens.
        """
        del whole
        return normalized

    def merge_costs(self, spec: TokenizerSpec, settings: Settings) -> MergeCosts | None:
        """Return the merges by which pieces are formed; None if the model does anything besides merging."""
        del spec, settings
        return None

    def join_pair(self, left: str, right: str) -> str:
        """Return the piece that a merge of two pieces forms."""
        return left + right

    def refuses_byte_token(self, piece: str) -> bool:
        """Whether llama.cpp aborts on a file in which `piece` is typed BYTE."""
        return len(to_bytes(piece)) < len("<0x")

    def decodes_characters(self, attribute: int, *, escape_whitespaces: bool) -> bool:
        """Whether llama.cpp decodes the characters of a token on loading; an earlier one fails beyond U+10FFFF."""
        del attribute, escape_whitespaces
        return False

    def token_bytes(self, piece: str, attribute: int, settings: Settings) -> bytes:
        """Return the bytes that a token represents; unused and undefined tokens mostly represent none."""
        if attribute & VERBATIM:
            return to_bytes(piece)
        if attribute & Attribute.NORMAL.value:
            return self.piece_bytes(piece, settings)
        return bytes([_hex_byte(piece)]) if attribute & Attribute.BYTE.value else b""

    def piece_bytes(self, piece: str, settings: Settings) -> bytes:
        """Return the bytes that an ordinary piece represents."""
        del settings
        return to_bytes(unescape_spaces(piece))

    def token_category(self, id: int, piece: str) -> str:
        """Name what kind of thing a token stands for, such as `keywords`; empty where the family knows no kinds."""
        del id, piece
        return ""

    def make_joiner(self) -> PieceJoiner | None:
        """Return the joiner for the pieces of one text; None if they are concatenated."""
        return None

    def make_document_joiner(self) -> PieceJoiner | None:
        """Return the joiner that does the same as the decoder of an equivalent tokenizer.json."""
        return self.make_joiner()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The effective settings of a tokenizer."""

    family: Family
    build: int
    """The build of llama.cpp that these are the settings of."""
    pre: str
    """The name of the pre-tokenizer; a placeholder if the family uses none."""
    pieces: Sequence[str]
    """The stored strings by id, as llama.cpp reads them."""
    ids: Mapping[str, int]
    """The id of each string that texts are matched with, in the order of the ids.

    The inverse of `pieces`, except that some families display pieces in another form. Single lookups may be native; see
    `id_by_piece`.
    """
    attributes: bytes
    """The attributes by id, one byte each."""
    added_tokens: tuple[AddedToken, ...]
    """In the order in which llama.cpp splits the text at them: longest first, in bytes."""
    special_ids: Mapping[str, int]
    """Role -> id; a role without a token has no entry."""
    eog_ids: frozenset[int]
    """The tokens that end a generation."""
    add_bos: bool
    add_eos: bool
    add_sep: bool
    add_space_prefix: bool
    escape_whitespaces: bool
    remove_extra_whitespaces: bool
    clean_spaces: bool
    ignore_merges: bool
    lowercase: bool
    strip_accents: bool
    nfc: bool
    overrides: tuple[Override, ...] = ()
    """What llama.cpp does not use as declared, in the order in which it loads a file."""

    @property
    def id_by_piece(self) -> Mapping[str, int]:
        """The same ids as a dictionary, which is faster in the loops of a model."""
        return self.ids.dictionary if isinstance(self.ids, PieceIndex) else self.ids

    @property
    def decodes_overlong(self) -> bool:
        """Whether this build decodes bytes that have only the form of UTF-8."""
        return self.build < STRICT_UTF8_SINCE

    @property
    def keeps_marks(self) -> bool:
        """Whether this build keeps combining marks where it strips accents from words."""
        return self.build < DROPS_MARKS_SINCE

    @property
    def pre_tokenizer(self) -> PreTokenizer:
        """The pre-tokenizer called `pre`, as this build has it."""
        pre_tokenizer = PRE_TOKENIZERS[self.pre]
        return pre_tokenizer if self.build >= TILDE_IS_SYMBOL_SINCE else without_tilde(pre_tokenizer)

    @property
    def algorithm(self) -> str:
        """The name of the family's algorithm, for reports."""
        return self.family.algorithm


def _hex_byte(piece: str) -> int:
    """Read the fourth and fifth byte of a piece as C's `strtol` does, which reads zero if there is no number."""
    match = re.match(rb"[ \t-\r]*([+-]?[0-9A-Fa-f]+)", to_bytes(piece)[3:5])
    return int(match[1], 16) % 256 if match else 0
