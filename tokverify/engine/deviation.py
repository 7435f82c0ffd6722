"""Deviations: what a reference may do that GGUF cannot express, as encoders that do it anyway, to prove a cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from tokverify.engine.added_token import Fragment, sort_longest_first, split_leftmost
from tokverify.engine.attribute import VERBATIM
from tokverify.engine.deviating_unigram import DeviatingUnigram
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE
from tokverify.engine.family import Ranking, Settings
from tokverify.engine.model import Model
from tokverify.engine.models.bpe import Bpe
from tokverify.engine.models.longest import LongestPiece
from tokverify.engine.models.merge import merge
from tokverify.engine.models.spm import Spm
from tokverify.engine.models.wordpiece import WORD_START, WordPiece
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.settings import resolve
from tokverify.engine.text_pipeline import TextPipeline
from tokverify.spec import AddedToken, TokenizerSpec, TokenType, ids_of_type

_CONTINUATION_MASK, _CONTINUATION = 0b1100_0000, 0b1000_0000
"""Recognize a UTF-8 byte that does not begin a character."""

_SINGLE = (
    "rewrite", "split_pre_tokens", "flags", "leftmost", "byte_fallback", "split_words", "longest_word", "plain_marker",
    "ignore_merges", "fuse_unknown", "join_words", "prefix", "user_defined_inside", "single_precision", "around",
    "scores", "ignore_charsmap", "keep_spaces", "missing", "keeps_marker", "merge_ranks", "normalized_tokens",
)  # fmt: skip
"""The fields that cannot be combined; the later deviation takes precedence."""


@dataclass(frozen=True, slots=True)
class MatchFlags:
    """How an added token is matched in HuggingFace tokenizers, beyond what GGUF can say."""

    lstrip: bool = False
    """Whether a match includes the whitespace before it."""
    rstrip: bool = False
    """Whether a match includes the whitespace after it."""
    single_word: bool = False
    """Whether it is matched only where no letter, digit or underscore touches it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """How an encoder deviates from llama.cpp; empty fields and None mean that it does not."""

    rewrite: Callable[[str], str] | None = None
    """Applied to the whole text, before added tokens are looked for."""
    normalizers: tuple[Callable[[str], str], ...] = ()
    """Applied in turn to the text between added tokens, before anything else."""
    split_words: Callable[[str], list[str]] | None = None
    """Returns the words of a text, in place of llama.cpp's clean-up for BERT."""
    longest_word: int | None = None
    """WordPiece treats words of more characters as unknown."""
    plain_marker: bool | None = None
    """WordPiece treats a `▁` in a word as an ordinary character that does not begin another word."""
    ignore_merges: bool | None = None
    """Whether BPE encodes a pre-token that is a piece as one token."""
    missing: str | None = None
    """The piece for which BPE takes each character that is no piece, before it merges; if empty, it drops these."""
    fuse_unknown: bool | None = None
    """If set, text that would be encoded as bytes is unknown: one token for a whole run (True) or per character."""
    merge_ranks: Mapping[str, int] | None = None
    """If set, SPM merges these pairs, by `left right`, and no others, in the order of their ranks."""
    byte_fallback: bool | None = None
    """If True, the unigram model encodes what is unknown as bytes."""
    single_precision: bool | None = None
    """If True, the unigram model rounds each sum of scores to single precision."""
    scores: Sequence[float] | None = None
    """The scores of the unigram model by id, in double precision, as far as they are listed."""
    ignore_charsmap: bool | None = None
    """If True, the unigram model does not apply the charsmap; a normalizer does what it stands for."""
    keep_spaces: bool | None = None
    """If True, the unigram model merges and removes no spaces; a normalizer does what the reference does."""
    keeps_marker: bool | None = None
    """If True, the charsmap of the unigram model does not apply to a literal `▁`."""
    user_defined_inside: bool | None = None
    """If True, the unigram model finds user-defined pieces in the normalized text, which is not split at them."""
    usable: Mapping[int, bool] = field(default_factory=dict)
    """Whether the model itself uses tokens, by id, where that is not what their types imply."""
    prefix: Callable[[str, bool], bool] | None = None
    """Returns whether a space is added before a normalized stretch of text, given also whether it begins the text.

    It is asked about the empty stretch before an added token that begins a text, too.
    """
    split_pre_tokens: Callable[[str], list[str]] | None = None
    """Returns the pre-tokens of a text, in place of the patterns of BPE's pre-tokenizer."""
    flags: Mapping[int, MatchFlags] | None = None
    """How added tokens are matched, by id; implies `leftmost`."""
    normalized_tokens: tuple[AddedToken, ...] | None = None
    """Added tokens that are looked for in normalized text, with their normalized texts; others are found before."""
    leftmost: bool | None = None
    """If True, added tokens are found from left to right, the longest at each position."""
    specials: Mapping[int, bool | None] = field(default_factory=dict)
    """Whether tokens are special, which means matched only with `parse_special`, by id; None for never matched."""
    pieces: Mapping[int, str] = field(default_factory=dict)
    """What pieces are, by id, where that is not what llama.cpp reads."""
    around: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """The ids that are added before and after a text."""
    texts: Mapping[int, str] = field(default_factory=dict)
    """The texts for which added tokens are looked, by id, where they are not what the file stores."""
    decoded: Mapping[int, bytes] = field(default_factory=dict)
    """What ids decode to; if that is empty, the token is ignored."""
    join_words: Callable[[Iterable[tuple[bytes, bool]]], bytes] | None = None
    """Joins the decoded tokens, given their bytes and whether each represents its text verbatim."""

    def __bool__(self) -> bool:
        return self != Deviation()

    def combine(self, other: Deviation) -> Deviation:
        """Combine two deviations; if they contradict each other, `other` takes precedence."""
        combined = replace(
            self,
            normalizers=self.normalizers + other.normalizers,
            specials={**self.specials, **other.specials},
            texts={**self.texts, **other.texts},
            decoded={**self.decoded, **other.decoded},
            usable={**self.usable, **other.usable},
            pieces={**self.pieces, **other.pieces},
        )
        for name in _SINGLE:
            if getattr(other, name) is not None:
                combined = replace(combined, **{name: getattr(other, name)})
        return combined

    @property
    def only_changes_added_tokens(self) -> bool:
        """Whether nothing else is changed than which added tokens there are."""
        return replace(self, specials={}, texts={}) == Deviation()

    def is_native_like(self, base: Encoder) -> bool:
        """Whether the native engine can encode with it, if it encodes for `base`, a similar tokenizer without it."""
        return base.engine.name == NATIVE and self.only_changes_added_tokens

    def change_added_tokens(self, spec: TokenizerSpec, settings: Settings) -> tuple[AddedToken, ...]:
        """Return added tokens as `specials` and `flags` specify, longest first."""
        tokens = {token.id: token for token in settings.added_tokens}
        if self.user_defined_inside:
            # Also those that llama.cpp makes control tokens because of their texts.
            inside = set(ids_of_type(spec.types, TokenType.USER_DEFINED))
            tokens = {id: token for id, token in tokens.items() if token.special and id not in inside}
        for id, special in self.specials.items():
            if special is None:
                tokens.pop(id, None)
            else:
                tokens[id] = replace(tokens.get(id) or AddedToken(id, settings.pieces[id], special), special=special)
        for id, text in self.texts.items():
            if id in tokens:
                tokens[id] = replace(tokens[id], text=text)
        for id, flags in (self.flags or {}).items():
            if id in tokens:
                tokens[id] = replace(tokens[id], lstrip=flags.lstrip, rstrip=flags.rstrip)
        if not self.texts and tokens.keys() == {token.id for token in settings.added_tokens}:
            return tuple(tokens[token.id] for token in settings.added_tokens)
        return tuple(
            tokens[id] for id in sort_longest_first(sorted(tokens), {id: token.text for id, token in tokens.items()})
        )


class DeviatingEncoder(Encoder):
    """Encodes like llama.cpp, except for a deviation."""

    def __init__(
        self,
        spec: TokenizerSpec,
        deviation: Deviation,
        model: Model | None = None,
        settings: Settings | None = None,
        base: Encoder | None = None,
    ) -> None:
        settings = settings or resolve(spec)
        # subtle: Encoder reads it; the native engine takes any added tokens, but changes nothing else.
        self.can_be_native = deviation.only_changes_added_tokens
        if deviation.pieces:
            settings, model = _rename(settings, deviation.pieces), None
        settings = replace(settings, added_tokens=deviation.change_added_tokens(spec, settings))
        model = _model(spec, settings, deviation, model)
        super().__init__(spec, settings=settings, model=model, normalizers=deviation.normalizers, base=base)
        if deviation.leftmost or deviation.flags or deviation.prefix or deviation.normalized_tokens:
            self._python = _DeviatingPipeline(spec, settings, deviation, model)
        self._deviation = deviation

    @classmethod
    def of(cls, encoder: Encoder, deviation: Deviation) -> DeviatingEncoder:
        """Return the encoder that does the same as another one, except for a deviation; they share the model."""
        model = None if deviation.is_native_like(encoder) else encoder.model
        return cls(encoder.spec, deviation, model, encoder.settings, encoder)

    def encode(self, text: str | bytes, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """Encode a text to ids."""
        if self._deviation.rewrite and isinstance(text, str):
            text = self._deviation.rewrite(text)
        around = self._deviation.around if add_special else None
        ids = super().encode(text, add_special=add_special and not around, parse_special=parse_special)
        if around:
            ids = [*around[0], *ids, *around[1]]
        return ids if self._deviation.fuse_unknown is None else self._replace_bytes(ids)

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that a token represents."""
        known = self._deviation.decoded.get(id)
        return super().token_bytes(id) if known is None else known

    def decode(self, ids: Sequence[int], *, clean_up: bool = False) -> bytes:
        """Decode ids to bytes."""
        ids = [id for id in ids if self._deviation.decoded.get(id) != b""]
        if self._deviation.join_words is None:
            return super().decode(ids, clean_up=clean_up)
        attributes = self.settings.attributes
        return self._deviation.join_words((self.token_bytes(id), bool(attributes[id] & VERBATIM)) for id in ids)

    def _replace_bytes(self, ids: Sequence[int]) -> list[int]:
        unknown = self.settings.special_ids.get("unk")
        first_byte = len(self.settings.pieces)
        kept: list[int] = []
        for id in ids:
            if id < first_byte:
                kept.append(id)
            elif unknown is not None and self._begins_unknown(id - first_byte, is_after_unknown=kept[-1:] == [unknown]):
                kept.append(unknown)
        return kept

    def _begins_unknown(self, byte: int, *, is_after_unknown: bool) -> bool:
        """Whether a byte begins another unknown token; right after one, only if it begins an unfused character."""
        begins_character = byte & _CONTINUATION_MASK != _CONTINUATION
        return not is_after_unknown or (begins_character and not self._deviation.fuse_unknown)


class _DeviatingPipeline(TextPipeline):
    """Finds added tokens, and adds spaces before the text between them, as HuggingFace tokenizers does."""

    def __init__(self, spec: TokenizerSpec, settings: Settings, deviation: Deviation, model: Model | None) -> None:
        super().__init__(spec, settings, model=model, normalizers=deviation.normalizers)
        self._deviation = deviation
        self._parses_special = True
        self._single_words = {id for id, flags in (deviation.flags or {}).items() if flags.single_word}

    def _split(self, text: str, *, parse_special: bool) -> list[Fragment]:
        self._parses_special = parse_special
        if not (self._deviation.leftmost or self._deviation.flags):
            return super()._split(text, parse_special=parse_special)
        tokens = self._added_tokens(parse_special=True)
        return split_leftmost(text, tokens, parse_special=parse_special, single_words=self._single_words)

    def _encode_fragments(self, fragments: Sequence[Fragment]) -> list[int]:
        has_space = self._deviation.prefix
        if has_space is None:
            return super()._encode_fragments(fragments)
        if fragments and isinstance(fragments[0], int) and has_space("", True):
            fragments = ["", *fragments]
        ids: list[int] = []
        for index, part in enumerate(chain.from_iterable(map(self._normalize_and_split, fragments))):
            ids += [part] if isinstance(part, int) else self._encode(part, has_space(part, index == 0))
        return ids

    def _normalize_and_split(self, fragment: Fragment) -> Sequence[Fragment]:
        if isinstance(fragment, int):
            return [fragment]
        tokens, normalized = self._deviation.normalized_tokens, self._normalize(fragment)
        return split_leftmost(normalized, tokens, parse_special=self._parses_special) if tokens else [normalized]

    def _encode_stretch(self, fragment: str) -> list[int]:
        tokens = self._deviation.normalized_tokens
        if tokens is None:
            return super()._encode_stretch(fragment)
        ids: list[int] = []
        for part in split_leftmost(self._prepare(fragment), tokens, parse_special=self._parses_special):
            ids += [part] if isinstance(part, int) else self.model.encode(part)
        return ids

    def _encode(self, stretch: str, has_space: bool) -> list[int]:
        if self._plain_model:
            return (self.model if has_space else self._plain_model).encode(stretch)
        return self.model.encode((self._escape(" ") if has_space else "") + stretch)

    @cached_property
    def _plain_model(self) -> Model | None:
        """The model that adds no space before a text, if the model adds it and not the pipeline."""
        if self._settings.family.ranking is not Ranking.SCORE_SUM:
            return None
        return _unigram(self._spec, self._settings, self._deviation, is_prefixed=False)


def _rename(settings: Settings, renamed: Mapping[int, str]) -> Settings:
    pieces = [renamed.get(id, piece) for id, piece in enumerate(settings.pieces)]
    ids = {renamed.get(id, piece): id for piece, id in settings.id_by_piece.items()}
    return replace(settings, pieces=pieces, ids=ids)


def _unigram(
    spec: TokenizerSpec, settings: Settings, deviation: Deviation, *, is_prefixed: bool = True
) -> DeviatingUnigram:
    return DeviatingUnigram(
        replace(spec, charsmap=None) if deviation.ignore_charsmap else spec,
        replace(settings, remove_extra_whitespaces=False) if deviation.keep_spaces else settings,
        usable=deviation.usable,
        scores=deviation.scores,
        user_defined_inside=bool(deviation.user_defined_inside),
        single_precision=bool(deviation.single_precision),
        byte_fallback=bool(deviation.byte_fallback),
        keeps_marker=bool(deviation.keeps_marker),
        is_prefixed=is_prefixed,
    )


def _model(spec: TokenizerSpec, settings: Settings, deviation: Deviation, model: Model | None) -> Model | None:
    changes_spm = deviation.fuse_unknown is not None or deviation.merge_ranks is not None
    if changes_spm and settings.family.ranking is Ranking.SCORE:
        return _DeviatingSpm(spec, settings, deviation)
    hidden = {id for id, is_usable in deviation.usable.items() if not is_usable}
    missing = deviation.missing
    changes_words = deviation.ignore_merges is not None or deviation.split_pre_tokens or hidden or missing is not None
    if changes_words and settings.family.is_bpe:
        own = settings.pre_tokenizer
        ignore_merges = own.ignore_merges if deviation.ignore_merges is None else deviation.ignore_merges
        pre_tokenizer = replace(own, ignore_merges=ignore_merges)
        base = model if isinstance(model, Bpe) else Bpe(settings.id_by_piece, spec.merges or (), pre_tokenizer)
        return base.with_pre_tokenizer(pre_tokenizer, deviation.split_pre_tokens, hidden, missing=missing)
    of_unigram = (
        deviation.byte_fallback,
        deviation.single_precision,
        deviation.user_defined_inside,
        deviation.usable,
        deviation.scores,
        deviation.ignore_charsmap,
        deviation.keep_spaces,
        deviation.keeps_marker,
    )
    if settings.family.ranking is Ranking.SCORE_SUM and any(of_unigram):
        return _unigram(spec, settings, deviation)
    if settings.family.ranking is Ranking.LENGTH and deviation.usable:
        usable = {piece: id for piece, id in settings.id_by_piece.items() if deviation.usable.get(id, True)}
        return settings.family.make_model(spec, replace(settings, ids=usable))
    if settings.family.splits_words and (deviation.split_words or deviation.longest_word or deviation.plain_marker):
        return _DeviatingWordPiece(settings, deviation)
    return model


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
        within = {piece: id for piece, id in settings.ids.items() if not piece.startswith(ESCAPED_SPACE)}
        self._within = LongestPiece(_by_bytes(within)) if deviation.plain_marker else None

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


def _by_bytes(ids: Mapping[str, int]) -> dict[bytes, int]:
    return {piece.encode("utf-8", "surrogateescape"): id for piece, id in ids.items()}
