"""The families `plamo2` and `plamo3`: pieces of the least total cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.family import Family, Ranking, Settings
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type
from tokverify.text.utf8 import to_bytes

if TYPE_CHECKING:
    from tokverify.engine.model import Model
    from tokverify.engine.models.plamo2 import Plamo2


class _Plamo2Family(Family):
    def make_model(self, spec: TokenizerSpec, settings: Settings) -> Model:
        return _make_plamo2(spec, settings)

    def refuses_byte_token(self, piece: str) -> bool:
        del piece
        return False

    def decodes_characters(self, attribute: int, *, escape_whitespaces: bool) -> bool:
        del escape_whitespaces
        return not attribute & Attribute.BYTE.value

    def token_bytes(self, piece: str, attribute: int, settings: Settings) -> bytes:
        del settings
        is_byte = attribute & Attribute.BYTE.value and BYTE_PIECE.fullmatch(piece)
        return bytes([int(piece[3:5], 16)]) if is_byte else to_bytes(piece)


class _Plamo3Family(_Plamo2Family):
    def make_model(self, spec: TokenizerSpec, settings: Settings) -> Model:
        from tokverify.engine.models.plamo3 import Plamo3

        return Plamo3(_make_plamo2(spec, settings))


def _make_plamo2(spec: TokenizerSpec, settings: Settings) -> Plamo2:
    from tokverify.engine.models.plamo2 import Plamo2

    # subtle: llama.cpp uses the declared types here, before the tokens' texts override any.
    byte_ids = set(ids_of_type(spec.types, TokenType.BYTE))
    scores = spec.scores or [0.0] * len(settings.ids)
    return Plamo2(settings.id_by_piece, scores, byte_ids, overlong=settings.decodes_overlong)


def _make_family(kind: type[_Plamo2Family], name: str) -> Family:
    return kind(
        model=name,
        algorithm=name,
        summary="takes the segmentation with the lowest total cost",
        special_ids={"bos": 1, "eos": 2, "unk": 0, "pad": 3},
        ranking=Ranking.SCORE_SUM,
        reads_types=True,
        has_byte_pieces=True,
    )


PLAMO2 = _make_family(_Plamo2Family, "plamo2")
PLAMO3 = _make_family(_Plamo3Family, "plamo3")
