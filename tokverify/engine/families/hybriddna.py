"""The family `hybriddna`: byte-pair encoding, and one token for six bases of DNA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.engine.families.bpe import ByteLevelFamily, make_bpe
from tokverify.engine.family import Ranking, Settings, SpaceEscaping
from tokverify.engine.models.hybriddna import OUT_OF_VOCABULARY, HybridDna
from tokverify.engine.special_text import KMER_MARKER
from tokverify.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokverify.engine.model import Model


class _HybridDnaFamily(ByteLevelFamily):
    def make_model(self, spec: TokenizerSpec, settings: Settings) -> Model:
        return HybridDna(settings.id_by_piece, make_bpe(spec, settings), overlong=settings.decodes_overlong)

    def displayed_pieces(self, pieces: Sequence[str], ids: Mapping[str, int]) -> Sequence[str]:
        """Show DNA tokens, which follow `<oov>`, without the marker that ends them in the file."""
        first = ids.get(OUT_OF_VOCABULARY, len(pieces)) + 1
        return [*pieces[:first], *(piece.removesuffix(KMER_MARKER) or piece for piece in pieces[first:])]


HYBRIDDNA = _HybridDnaFamily(
    model="hybriddna",
    algorithm="hybriddna",
    summary="merges neighbors in the order of the merge list; six bases of DNA are one token",
    special_ids={"bos": 11, "eos": 11},
    clean_spaces=True,
    escape_whitespaces=False,
    ranking=Ranking.MERGE_RANK,
    uses_pre_tokenizer=True,
    space_escaping=SpaceEscaping.IN_ENCODER,
)
