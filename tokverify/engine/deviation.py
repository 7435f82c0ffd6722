"""Deviations: what a reference may do that GGUF cannot express, so that a diagnosis can try it anyway."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from tokverify.engine.added_token import sort_longest_first
from tokverify.engine.attribute import VERBATIM, Attribute
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Settings
from tokverify.engine.model import Model
from tokverify.engine.models.bpe import Bpe
from tokverify.engine.models.longest import LongestPiece
from tokverify.engine.models.wordpiece import WORD_START, WordPiece
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.engine.settings import resolve
from tokverify.spec import AddedToken, TokenizerSpec

_CONTINUATION_MASK, _CONTINUATION = 0b1100_0000, 0b1000_0000
"""Recognize a UTF-8 byte that does not begin a character."""

_SINGLE = ("split_words", "longest_word", "plain_marker", "ignore_merges", "fuse_unknown", "stripping", "join_words")
"""The fields that cannot be combined; the later deviation takes precedence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """How an encoder deviates from llama.cpp; empty fields and None mean that it does not."""

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
    fuse_unknown: bool | None = None
    """If set, text that would be encoded as bytes is unknown: one token for a whole run (True) or per character."""
    stripping: dict[int, tuple[bool, bool]] | None = None
    """The flags (lstrip, rstrip) of added tokens, by id."""
    specials: Mapping[int, bool | None] = field(default_factory=dict)
    """Whether tokens are special, which means matched only with `parse_special`, by id; None for never matched."""
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
            decoded={**self.decoded, **other.decoded},
        )
        for name in _SINGLE:
            if getattr(other, name) is not None:
                combined = replace(combined, **{name: getattr(other, name)})
        return combined

    def change_added_tokens(self, settings: Settings) -> tuple[AddedToken, ...]:
        """Return added tokens as `specials` and `stripping` specify, longest first."""
        tokens = {token.id: token for token in settings.added_tokens}
        for id, special in self.specials.items():
            if special is None:
                tokens.pop(id, None)
            else:
                tokens[id] = replace(tokens.get(id) or AddedToken(id, settings.pieces[id], special), special=special)
        for id, (lstrip, rstrip) in (self.stripping or {}).items():
            if id in tokens:
                tokens[id] = replace(tokens[id], lstrip=lstrip, rstrip=rstrip)
        return tuple(tokens[id] for id in sort_longest_first(sorted(tokens), settings.pieces))


class DeviatingEncoder(Encoder):
    """Encodes like llama.cpp, except for a deviation."""

    can_be_native = False

    def __init__(self, spec: TokenizerSpec, deviation: Deviation, model: Model | None = None) -> None:
        settings = resolve(spec)
        settings = replace(settings, added_tokens=deviation.change_added_tokens(settings))
        model = _model(spec, settings, deviation, model)
        super().__init__(spec, settings=settings, model=model, normalizers=deviation.normalizers)
        self._deviation = deviation

    def encode(self, text: str | bytes, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """Encode a text to ids."""
        ids = super().encode(text, add_special=add_special, parse_special=parse_special)
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
        kept: list[int] = []
        for id in ids:
            if not self.settings.attributes[id] & Attribute.BYTE.value:
                kept.append(id)
            elif unknown is not None and self._begins_unknown(id, is_after_unknown=kept[-1:] == [unknown]):
                kept.append(unknown)
        return kept

    def _begins_unknown(self, id: int, *, is_after_unknown: bool) -> bool:
        """Whether a byte begins another unknown token; right after one, only if it begins an unfused character."""
        begins_character = self.token_bytes(id)[0] & _CONTINUATION_MASK != _CONTINUATION
        return not is_after_unknown or (begins_character and not self._deviation.fuse_unknown)


def _model(spec: TokenizerSpec, settings: Settings, deviation: Deviation, model: Model | None) -> Model | None:
    if deviation.ignore_merges is not None and settings.family.is_bpe:
        pre_tokenizer = replace(PRE_TOKENIZERS[settings.pre], ignore_merges=deviation.ignore_merges)
        base = model if isinstance(model, Bpe) else Bpe(settings.id_by_piece, spec.merges or (), pre_tokenizer)
        return base.with_pre_tokenizer(pre_tokenizer)
    if settings.family.splits_words and (deviation.split_words or deviation.longest_word or deviation.plain_marker):
        return _DeviatingWordPiece(settings, deviation)
    return model


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
