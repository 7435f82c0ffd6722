"""Deviations: what a reference may do that no GGUF file can ask of llama.cpp, so that it can be tried all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tokverify.engine.attribute import VERBATIM, Attribute
from tokverify.engine.encoder import Encoder
from tokverify.engine.models.bpe import Bpe
from tokverify.engine.models.longest import LongestPiece
from tokverify.engine.models.wordpiece import WORD_START, WordPiece
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.engine.settings import resolve

if TYPE_CHECKING:
    from tokverify.engine.family import Settings
    from tokverify.engine.model import Model
    from tokverify.spec import AddedToken, TokenizerSpec


_CONTINUATION_MASK, _CONTINUATION = 0b1100_0000, 0b1000_0000
"""Of a byte of UTF-8 that does not begin a character."""

_SINGLE = ("cut_words", "longest_word", "plain_marker", "ignore_merges", "fuse_unknown", "stripping", "join_words")
"""The fields of a deviation that cannot be joined: one or the other counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """How an encoder departs from llama.cpp; a field that is empty or None leaves it as it is.

    `normalizers` work on the text between added tokens before anything else does. `cut_words` takes the place of
    llama.cpp's own clean-up for BERT and returns the words of a text, and a word of more than `longest_word` characters
    is unknown to it. With `plain_marker` a `▁` in a word is a character like others, and begins no other word.
    `stripping` maps ids of added tokens to (lstrip, rstrip). With `fuse_unknown` what would be written in byte pieces
    is unknown instead: if True a whole run of it is one token, if False each character.

    `decoded` maps ids to what they decode to, and where that is nothing it is as if they were not there. `join_words`
    makes the decoded text of the bytes of each token, and whether it stands for its own text.
    """

    normalizers: tuple[Callable[[str], str], ...] = ()
    cut_words: Callable[[str], list[str]] | None = None
    longest_word: int | None = None
    plain_marker: bool | None = None
    ignore_merges: bool | None = None
    fuse_unknown: bool | None = None
    stripping: dict[int, tuple[bool, bool]] | None = None
    decoded: Mapping[int, bytes] = field(default_factory=dict)
    join_words: Callable[[Iterable[tuple[bytes, bool]]], bytes] | None = None

    def __bool__(self) -> bool:
        return self != Deviation()

    def joined(self, other: Deviation) -> Deviation:
        """Return both together; where they contradict each other, `other` counts."""
        made = replace(
            self, normalizers=self.normalizers + other.normalizers, decoded={**self.decoded, **other.decoded}
        )
        for name in _SINGLE:
            if getattr(other, name) is not None:
                made = replace(made, **{name: getattr(other, name)})
        return made

    def stripped(self, tokens: Sequence[AddedToken]) -> tuple[AddedToken, ...]:
        """Return added tokens with the flags of `stripping`."""
        flags = self.stripping or {}
        return tuple(
            replace(token, lstrip=flags[token.id][0], rstrip=flags[token.id][1]) if token.id in flags else token
            for token in tokens
        )


class DeviatingEncoder(Encoder):
    """Encodes as llama.cpp would if it did a few things otherwise."""

    def __init__(self, spec: TokenizerSpec, deviation: Deviation, model: Model | None = None) -> None:
        settings = resolve(spec)
        settings = replace(settings, added_tokens=deviation.stripped(settings.added_tokens))
        super().__init__(spec, settings=settings, model=_model(spec, settings, deviation, model))
        self._deviation = deviation

    def encode(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """Encode `text` to ids."""
        ids = super().encode(text, add_special=add_special, parse_special=parse_special)
        return ids if self._deviation.fuse_unknown is None else self._without_bytes(ids)

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes a token stands for."""
        known = self._deviation.decoded.get(id)
        return super().token_bytes(id) if known is None else known

    def decode(self, ids: Sequence[int], *, clean_up: bool = False) -> bytes:
        """Decode ids to bytes."""
        ids = [id for id in ids if self._deviation.decoded.get(id) != b""]
        if self._deviation.join_words is None:
            return super().decode(ids, clean_up=clean_up)
        attributes = self.settings.attributes
        return self._deviation.join_words((self.token_bytes(id), bool(attributes[id] & VERBATIM)) for id in ids)

    def _normalize(self, text: str) -> str:
        for normalize in self._deviation.normalizers:
            text = normalize(text)
        return super()._normalize(text)

    def _without_bytes(self, ids: Sequence[int]) -> list[int]:
        unknown = self.settings.special_ids.get("unk")
        made: list[int] = []
        for id in ids:
            if not self.settings.attributes[id] & Attribute.BYTE.value:
                made.append(id)
            elif unknown is not None and self._begins_unknown(id, made[-1:] == [unknown]):
                made.append(unknown)
        return made

    def _begins_unknown(self, id: int, is_after_unknown: bool) -> bool:
        """Whether a byte begins another unknown token: after one, only if it begins a character, and is not fused."""
        begins_character = self.token_bytes(id)[0] & _CONTINUATION_MASK != _CONTINUATION
        return not is_after_unknown or (begins_character and not self._deviation.fuse_unknown)


def _model(spec: TokenizerSpec, settings: Settings, deviation: Deviation, model: Model | None) -> Model | None:
    if deviation.ignore_merges is not None and settings.family.is_bpe:
        pre_tokenizer = replace(PRE_TOKENIZERS[settings.pre], ignore_merges=deviation.ignore_merges)
        base = model if isinstance(model, Bpe) else Bpe(settings.ids, spec.merges or (), pre_tokenizer)
        return base.with_pre_tokenizer(pre_tokenizer)
    if settings.family.cuts_words and (deviation.cut_words or deviation.longest_word or deviation.plain_marker):
        return _OtherWordPiece(settings, deviation)
    return model


class _OtherWordPiece(WordPiece):
    def __init__(self, settings: Settings, deviation: Deviation) -> None:
        unknown_id = settings.special_ids.get("unk", -1)
        super().__init__(settings.ids, unknown_id, lowercase=settings.lowercase, strip_accents=settings.strip_accents)
        self._cut_words = deviation.cut_words
        self._longest_word = deviation.longest_word
        within = {piece: id for piece, id in settings.ids.items() if not piece.startswith(ESCAPED_SPACE)}
        self._within = LongestPiece(_by_bytes(within)) if deviation.plain_marker else None

    def encode(self, text: str) -> list[int]:
        if self._cut_words is None:
            return super().encode(text)
        return [id for word in self._cut_words(text) for id in self._encode_word(word)]

    def _encode_word(self, word: str) -> tuple[int, ...]:
        if self._longest_word is not None and len(word) > self._longest_word:
            return (self._unknown_id,)
        if self._within and ESCAPED_SPACE in word:
            return self._encode_marked(word, self._within)
        return super()._encode_word(word)

    def _encode_marked(self, word: str, within: LongestPiece) -> tuple[int, ...]:
        """Encode a word with a `▁` of its own: after the first piece, only those that do not begin words count."""
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
