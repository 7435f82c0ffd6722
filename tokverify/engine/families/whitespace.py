"""The family `whitespace`: byte-pair encoding of the words between spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.engine.families.bpe import ByteLevelFamily, make_bpe
from tokverify.engine.family import Ranking, Settings, SpaceEscaping
from tokverify.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokverify.engine.model import Model


class _WhitespaceFamily(ByteLevelFamily):
    def make_model(self, spec: TokenizerSpec, settings: Settings) -> Model:
        from tokverify.engine.models.whitespace import Whitespace

        return Whitespace(make_bpe(spec, settings), lowercase=settings.lowercase)


WHITESPACE = _WhitespaceFamily(
    model="whitespace",
    algorithm="whitespace",
    summary="merges neighbors in the order of the merge list",
    special_ids={"bos": 11, "eos": 11},
    clean_spaces=True,
    escape_whitespaces=False,
    lowercase=True,
    ranking=Ranking.MERGE_RANK,
    uses_pre_tokenizer=True,
    flags=("lowercase",),
    space_escaping=SpaceEscaping.IN_ENCODER,
)
