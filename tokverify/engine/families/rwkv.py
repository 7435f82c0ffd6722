"""The family `rwkv`: the longest token at each position, with tokens stored as escaped bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.engine.family import NO_TOKEN, Affixes, Family, Ranking, Settings
from tokverify.engine.models.rwkv import Rwkv, unescape
from tokverify.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokverify.engine.model import Model


class _RwkvFamily(Family):
    def make_model(self, spec: TokenizerSpec, settings: Settings) -> Model:
        del spec
        return Rwkv(settings.id_by_piece, settings.special_ids.get("unk", NO_TOKEN))

    def refuses_byte_token(self, piece: str) -> bool:
        del piece
        return False

    def token_bytes(self, piece: str, attribute: int, settings: Settings) -> bytes:
        del attribute, settings
        return unescape(piece)


RWKV = _RwkvFamily(
    model="rwkv",
    algorithm="rwkv",
    summary="takes the longest token at each position",
    ranking=Ranking.LENGTH,
    affixes=Affixes.NEVER,
    declares_types=False,
)
