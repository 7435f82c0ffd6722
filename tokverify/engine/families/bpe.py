"""The families `gpt2` and `gemma4`: byte-pair encoding by merge rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.byte_level import from_byte_level, to_byte_level
from tokverify.engine.family import Alphabet, ByteFallback, Family, MergeCosts, Ranking, Settings, SpaceEscaping
from tokverify.engine.joined_strings import JoinedStrings
from tokverify.engine.normalizer import escape_spaces
from tokverify.spec import TokenizerSpec
from tokverify.text.utf8 import replace_lone_bytes

if TYPE_CHECKING:
    from tokverify.engine.model import Model
    from tokverify.engine.models.bpe import Bpe


def make_bpe(spec: TokenizerSpec, settings: Settings) -> Bpe:
    """Build the model; llama.cpp reads a merge up to its first NUL."""
    from tokverify.engine.models.bpe import Bpe

    if isinstance(spec.merges, JoinedStrings):
        merges = spec.merges.strings  # contain no NUL
    else:
        merges = [merge.partition("\0")[0] for merge in spec.merges or ()]
    return Bpe(settings.id_by_piece, merges, settings.pre_tokenizer)


class ByteLevelFamily(Family):
    """A family whose pieces are written in the GPT-2 alphabet, unless the pre-tokenizer escapes spaces."""

    def piece_bytes(self, piece: str, settings: Settings) -> bytes:
        """Return the bytes that an ordinary piece represents."""
        if settings.escape_whitespaces:
            return super().piece_bytes(piece, settings)
        return from_byte_level(piece, overlong=settings.decodes_overlong)

    def decodes_characters(self, attribute: int, *, escape_whitespaces: bool) -> bool:
        """Whether llama.cpp reads a token in the GPT-2 alphabet on loading."""
        return bool(attribute & Attribute.NORMAL.value) and not escape_whitespaces


class _BpeFamily(ByteLevelFamily):
    def make_model(self, spec: TokenizerSpec, settings: Settings) -> Model:
        return make_bpe(spec, settings)

    def lookup_text(self, text: str, settings: Settings) -> str:
        written = escape_spaces(text) if settings.escape_whitespaces else text
        return to_byte_level(replace_lone_bytes(written)) if settings.pre_tokenizer.byte_level else written

    def merge_costs(self, spec: TokenizerSpec, settings: Settings) -> MergeCosts:
        """Return the rank of each merge; of a merge that is listed twice, the first rank."""
        del settings
        merges = [*(spec.merges or ())]
        ranks = dict(zip(merges[::-1], reversed(range(len(merges))), strict=True))
        return MergeCosts(ranks.keys(), ranks, separator=" ")


_SUMMARY = "merges neighbors in the order of the merge list"

GPT2 = _BpeFamily(
    model="gpt2",
    algorithm="bpe",
    summary=_SUMMARY,
    special_ids={"bos": 11, "eos": 11},
    clean_spaces=True,
    escape_whitespaces=False,
    ranking=Ranking.MERGE_RANK,
    uses_pre_tokenizer=True,
    is_bpe=True,
    space_escaping=SpaceEscaping.IN_ENCODER,
    alphabet=Alphabet.BYTE_LEVEL,
)
GEMMA4 = _BpeFamily(
    model="gemma4",
    algorithm="bpe",
    summary=_SUMMARY,
    clean_spaces=True,
    escape_whitespaces=False,
    pre="gemma4",
    ranking=Ranking.MERGE_RANK,
    uses_pre_tokenizer=True,
    is_bpe=True,
    space_escaping=SpaceEscaping.IN_ENCODER,
    alphabet=Alphabet.ESCAPED,
    byte_fallback=ByteFallback("drops the character"),
    has_byte_pieces=True,
)
