"""The family `llama`: sentencepiece's byte-pair encoding by score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.family import Alphabet, ByteFallback, Family, MergeCosts, Ranking, Settings, SpaceEscaping
from tokverify.engine.normalizer import escape_spaces
from tokverify.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokverify.engine.model import Model


class _SpmFamily(Family):
    def make_model(self, spec: TokenizerSpec, settings: Settings) -> Model:
        from tokverify.engine.models.spm import Spm

        return Spm(settings.id_by_piece, spec.scores or [0.0] * len(settings.ids))

    def lookup_text(self, text: str, settings: Settings) -> str:
        return escape_spaces(text) if settings.escape_whitespaces else text

    def merge_costs(self, spec: TokenizerSpec, settings: Settings) -> MergeCosts:
        """Count each ordinary piece of several characters as one merge: the last one that forms it."""
        scores = spec.scores or [0.0] * len(settings.pieces)
        costs = {piece: -score for piece, score in zip(settings.pieces, scores, strict=True)}
        normal = Attribute.NORMAL.value
        attributes = zip(settings.pieces, settings.attributes, strict=True)
        merges = frozenset(piece for piece, attribute in attributes if attribute == normal and len(piece) > 1)
        return MergeCosts(merges, costs, separator="")


LLAMA = _SpmFamily(
    model="llama",
    algorithm="spm",
    summary="merges neighbors that form a piece, in descending order of its score",
    special_ids={"bos": 1, "eos": 2, "unk": 0},
    add_bos=True,
    add_space_prefix=True,
    ranking=Ranking.SCORE,
    flags=("add_space_prefix",),
    prefixes_space=True,
    space_escaping=SpaceEscaping.IN_ENCODER,
    equivalent_pre_tokenizers=frozenset({"Metaspace"}),
    alphabet=Alphabet.ESCAPED,
    byte_fallback=ByteFallback("stops with an exception", accepts_raw_bytes=True),
    has_byte_pieces=True,
)
