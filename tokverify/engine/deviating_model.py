"""Models that deviate from llama.cpp's as a `Deviation` says, in the Python engine."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from tokverify.engine.deviating_unigram import DeviatingUnigram
from tokverify.engine.deviation import Deviation
from tokverify.engine.families.bpe import make_bpe
from tokverify.engine.family import Ranking, Settings
from tokverify.engine.model import Model
from tokverify.engine.models.bpe import Bpe
from tokverify.engine.models.longest import LongestPiece
from tokverify.engine.models.merge import merge
from tokverify.engine.models.spm import Spm
from tokverify.engine.models.unigram import Unigram, make_unigram
from tokverify.engine.models.wordpiece import WORD_START, WordPiece
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.spec import TokenizerSpec
from tokverify.text.utf8 import to_bytes


def deviate(spec: TokenizerSpec, settings: Settings, deviation: Deviation, model: Model | None) -> Model | None:
    """Return the model that deviates; `model`, or the usual one if it is None, is returned if nothing in it does."""
    changes_spm = deviation.fuse_unknown is not None or deviation.merge_ranks is not None
    if changes_spm and settings.family.ranking is Ranking.SCORE:
        return _DeviatingSpm(spec, settings, deviation)
    hidden = {id for id, is_usable in deviation.usable.items() if not is_usable}
    missing = deviation.missing
    changes_words = deviation.ignore_merges is not None or deviation.split_pre_tokens or hidden or missing is not None
    if changes_words and settings.family.is_bpe:
        pre_tokenizer = deviation.change_pre_tokenizer(settings.pre_tokenizer)
        base = model if isinstance(model, Bpe) else make_bpe(spec, settings)
        return base.with_pre_tokenizer(
            pre_tokenizer,
            deviation.split_pre_tokens,
            hidden,
            missing=missing,
            fuse_missing=bool(deviation.fuse_unknown),
        )
    if settings.family.ranking is Ranking.SCORE_SUM and deviation.changes_unigram:
        return deviate_unigram(spec, settings, deviation, model)
    if settings.family.ranking is Ranking.LENGTH and deviation.usable:
        usable = {piece: id for piece, id in settings.id_by_piece.items() if deviation.usable.get(id, True)}
        return settings.family.make_model(spec, replace(settings, ids=usable))
    if settings.family.splits_words and (deviation.split_words or deviation.longest_word or deviation.plain_marker):
        return _DeviatingWordPiece(settings, deviation)
    return model


def deviate_unigram(
    spec: TokenizerSpec, settings: Settings, deviation: Deviation, model: Model | None = None
) -> DeviatingUnigram:
    """Build the unigram model that deviates from `model`, or from the usual one."""
    return DeviatingUnigram(
        model if isinstance(model, Unigram) else make_unigram(spec, settings),
        replace(spec, charsmap=None) if deviation.ignore_charsmap else spec,
        replace(settings, remove_extra_whitespaces=False) if deviation.keep_spaces else settings,
        usable=deviation.usable,
        scores=deviation.scores or (),
        user_defined_inside=bool(deviation.user_defined_inside),
        single_precision=bool(deviation.single_precision),
        byte_fallback=bool(deviation.byte_fallback),
        keeps_marker=bool(deviation.keeps_marker),
        whole_pieces=bool(deviation.whole_pieces),
    )


class _DeviatingSpm(Spm):
    def __init__(self, spec: TokenizerSpec, settings: Settings, deviation: Deviation) -> None:
        super().__init__(settings.id_by_piece, spec.scores or [0.0] * len(settings.pieces))
        self._ranks = deviation.merge_ranks
        self._first_byte = None if deviation.fuse_unknown is None else len(settings.pieces)

    def encode(self, text: str) -> list[int]:
        return super().encode(text) if self._ranks is None else self._spell(merge(list(text), self._ranks, " "))

    def _byte_id(self, byte: int) -> int:
        """Return an id beyond the vocabulary where bytes are to be unknown, whether there are byte tokens or not."""
        return super()._byte_id(byte) if self._first_byte is None else self._first_byte + byte


class _DeviatingWordPiece(WordPiece):
    def __init__(self, settings: Settings, deviation: Deviation) -> None:
        unknown_id = settings.special_ids.get("unk", -1)
        lowercase, strip_accents = settings.lowercase, settings.strip_accents
        super().__init__(settings.id_by_piece, unknown_id, lowercase=lowercase, strip_accents=strip_accents)
        self._split_words = deviation.split_words
        self._longest_word = deviation.longest_word
        within = {to_bytes(piece): id for piece, id in settings.ids.items() if not piece.startswith(ESCAPED_SPACE)}
        self._within = LongestPiece(within) if deviation.plain_marker else None

    def encode(self, text: str) -> list[int]:
        if self._split_words is None:
            return super().encode(text)
        return list(chain.from_iterable(map(self._encode_word, self._split_words(text))))

    def _encode_word(self, word: str) -> tuple[int, ...]:
        if self._longest_word is not None and len(word) > self._longest_word:
            return (self._unknown_id,)
        if self._within and ESCAPED_SPACE in word:
            return self._encode_marked(word, self._within)
        return super()._encode_word(word)

    def _encode_marked(self, word: str, within: LongestPiece) -> tuple[int, ...]:
        """Encode a word that contains a `▁`: after the first piece, only pieces that do not begin words are allowed."""
        text = WORD_START + word.encode()
        ids: list[int] = []
        found = self._longest.at(text, 0)
        while found:
            id, place = found
            ids.append(id)
            if place == len(text):
                return tuple(ids)
            found = within.at(text, place)
        return (self._unknown_id,)
