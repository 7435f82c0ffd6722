"""The family `cpp-hybrid`: tokverify's own tokenizer for C++, which llama.cpp does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.engine.attribute import VERBATIM
from tokverify.engine.family import Family, PieceJoiner, Ranking, Settings
from tokverify.engine.models.cpp.joiner import LineJoiner
from tokverify.engine.models.cpp.model import CppHybrid
from tokverify.engine.models.cpp.spacing import Spacing, piece_bytes
from tokverify.engine.models.cpp.vocabulary import CONTINUATION, token_category
from tokverify.spec import TokenizerSpec
from tokverify.text.utf8 import to_bytes

if TYPE_CHECKING:
    from tokverify.engine.model import Model


class _CppHybridFamily(Family):
    def make_model(self, spec: TokenizerSpec, settings: Settings) -> Model:
        return CppHybrid(settings.id_by_piece, spec.merges or (), settings.special_ids.get("unk"))

    def token_bytes(self, piece: str, attribute: int, settings: Settings) -> bytes:
        del settings
        return to_bytes(piece) if attribute & VERBATIM else piece_bytes(piece)

    def join_pair(self, left: str, right: str) -> str:
        return left + right.removeprefix(CONTINUATION)

    def token_category(self, id: int, piece: str) -> str:
        return token_category(id, piece)

    def make_joiner(self) -> PieceJoiner:
        """Return the joiner that restores the spaces without which the ids would change."""
        return LineJoiner()

    def make_document_joiner(self) -> PieceJoiner:
        return Spacing()


CPP_HYBRID = _CppHybridFamily(
    model="cpp-hybrid",
    algorithm="cpp-hybrid",
    summary="keeps words that are pieces, and merges neighbors in all others by the merge list",
    in_llama_cpp=False,
    escape_whitespaces=False,
    pre="cpp-hybrid",
    ignore_merges=True,
    ranking=Ranking.MERGE_RANK,
)
