"""The family `t5`: sentencepiece's unigram model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.engine.family import Alphabet, Family, Ranking, Settings, SpaceEscaping
from tokverify.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokverify.engine.model import Model


class _UnigramFamily(Family):
    def make_model(self, spec: TokenizerSpec, settings: Settings) -> Model:
        from tokverify.engine.models.unigram import make_unigram

        return make_unigram(spec, settings)

    def significant_text(self, normalized: str, *, whole: bool) -> str:
        """Reduce runs of spaces in a stretch to one: which of them are extra depends on the surrounding text."""
        return normalized if whole else " ".join(normalized.split())


T5 = _UnigramFamily(
    model="t5",
    algorithm="unigram",
    summary="takes the segmentation with the greatest sum of scores",
    special_ids={"eos": 1, "unk": 2, "pad": 0},
    add_eos=True,
    ranking=Ranking.SCORE_SUM,
    flags=("add_space_prefix", "remove_extra_whitespaces", "nfc"),
    space_escaping=SpaceEscaping.IN_MODEL,
    uses_charsmap=True,
    reads_types=True,
    equivalent_pre_tokenizers=frozenset({"Metaspace", "WhitespaceSplit"}),
    alphabet=Alphabet.ESCAPED,
    ignores_byte_pieces=True,
    replaces_unknown=True,
)
