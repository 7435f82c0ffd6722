"""Deviations: what a reference may do that no GGUF file can ask of llama.cpp, so that it can be tried all the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokverify.attribute import Attribute
from tokverify.encoder import Encoder
from tokverify.model.bpe import Bpe
from tokverify.model.wordpiece import WordPiece
from tokverify.pre_tokenizer import PRE_TOKENIZERS
from tokverify.settings import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokverify.model import Model
    from tokverify.settings import Settings
    from tokverify.spec import AddedToken, TokenizerSpec


_CONTINUATION_MASK, _CONTINUATION = 0b1100_0000, 0b1000_0000
"""Of a byte of UTF-8 that does not begin a character."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """How an encoder departs from llama.cpp; a field that is empty or None leaves it as it is.

    `normalizers` work on the text between added tokens before anything else does. `cut_words` takes the place of
    llama.cpp's own clean-up for BERT and returns the words of a text, and a word of more than `longest_word` characters
    is unknown to it. `stripping` maps ids of added tokens to (lstrip, rstrip). With `fuse_unknown` what would be
    written in byte pieces is unknown instead: if True a whole run of it is one token, if False each character.
    """

    normalizers: tuple[Callable[[str], str], ...] = ()
    cut_words: Callable[[str], list[str]] | None = None
    longest_word: int | None = None
    ignore_merges: bool | None = None
    fuse_unknown: bool | None = None
    stripping: dict[int, tuple[bool, bool]] | None = None

    def __bool__(self) -> bool:
        return self != Deviation()

    def joined(self, other: Deviation) -> Deviation:
        """Return both together; where they contradict each other, `other` counts."""
        made = replace(self, normalizers=self.normalizers + other.normalizers)
        for name in ("cut_words", "longest_word", "ignore_merges", "fuse_unknown", "stripping"):
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
    if deviation.ignore_merges is not None and settings.algorithm == "bpe":
        pre_tokenizer = replace(PRE_TOKENIZERS[settings.pre], ignore_merges=deviation.ignore_merges)
        base = model if isinstance(model, Bpe) else Bpe(settings.ids, spec.merges or (), pre_tokenizer)
        return base.with_pre_tokenizer(pre_tokenizer)
    if settings.algorithm == "wordpiece" and (deviation.cut_words or deviation.longest_word):
        return _OtherWordPiece(settings, deviation)
    return model


class _OtherWordPiece(WordPiece):
    def __init__(self, settings: Settings, deviation: Deviation) -> None:
        unknown_id = settings.special_ids.get("unk", -1)
        super().__init__(settings.ids, unknown_id, lowercase=settings.lowercase, strip_accents=settings.strip_accents)
        self._cut_words = deviation.cut_words
        self._longest_word = deviation.longest_word

    def encode(self, text: str) -> list[int]:
        if self._cut_words is None:
            return super().encode(text)
        return [id for word in self._cut_words(text) for id in self._encode_word(word)]

    def _encode_word(self, word: str) -> tuple[int, ...]:
        if self._longest_word is not None and len(word) > self._longest_word:
            return (self._unknown_id,)
        return super()._encode_word(word)
