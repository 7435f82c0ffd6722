"""The family `bert`: WordPiece."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.engine.family import NO_TOKEN, Affixes, Family, Ranking, Settings
from tokverify.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokverify.engine.model import Model


class _WordPieceFamily(Family):
    def make_model(self, spec: TokenizerSpec, settings: Settings) -> Model:
        from tokverify.engine.models.wordpiece import WordPiece

        del spec
        unknown_id = settings.special_ids.get("unk", NO_TOKEN)
        lowercase, strip_accents = settings.lowercase, settings.strip_accents
        return WordPiece(
            settings.id_by_piece,
            unknown_id,
            lowercase=lowercase,
            strip_accents=strip_accents,
            keeps_marks=settings.keeps_marks,
        )

    def significant_text(self, normalized: str, *, whole: bool) -> str:
        """Drop all spaces: they only mark where to split."""
        del whole
        return normalized.replace(" ", "")

    def refuses_byte_token(self, piece: str) -> bool:
        del piece
        return True


BERT = _WordPieceFamily(
    model="bert",
    algorithm="wordpiece",
    summary="takes the longest piece at each position of a word, which begins with ▁",
    special_ids={"bos": 101, "unk": 100, "sep": 102, "pad": 0, "mask": 103},
    add_bos=True,
    add_sep=True,
    clean_spaces=True,
    lowercase=True,
    strips_accents_if_lowercase=True,
    ranking=Ranking.LENGTH,
    flags=("lowercase", "strip_accents"),
    affixes=Affixes.ALWAYS,
    closing_role="sep",
    splits_words=True,
    equivalent_pre_tokenizers=frozenset({"BertPreTokenizer"}),
    replaces_unknown=True,
    declares_types=False,
)
