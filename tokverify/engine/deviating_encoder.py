"""Encoders that deviate from llama.cpp as a `Deviation` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

from tokverify.engine.added_token import Fragment, selector, split_leftmost
from tokverify.engine.attribute import VERBATIM
from tokverify.engine.deviation import Deviation
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE
from tokverify.engine.family import Ranking, Settings
from tokverify.engine.model import Model
from tokverify.engine.pre_tokenizer import splitter
from tokverify.engine.settings import resolve
from tokverify.engine.text_pipeline import TextPipeline
from tokverify.spec import AddedToken, TokenizerSpec

_CONTINUATION_MASK, _CONTINUATION = 0b1100_0000, 0b1000_0000
"""Recognize a UTF-8 byte that does not begin a character."""


class DeviatingEncoder(Encoder):
    """Encodes like llama.cpp, except for a deviation; `deviates` says whether the given model already does."""

    def __init__(  # noqa: PLR0913 - the optional ones are given by name
        self,
        spec: TokenizerSpec,
        deviation: Deviation,
        model: Model | None = None,
        settings: Settings | None = None,
        base: Encoder | None = None,
        *,
        deviates: bool = False,
    ) -> None:
        settings = settings or resolve(spec)
        # subtle: Encoder reads it; the native engine takes any added tokens, but changes nothing else.
        self.can_be_native = deviation.only_changes_added_tokens
        if deviation.pieces:
            settings, model, deviates = _rename(settings, deviation.pieces), None, False
        settings = replace(settings, added_tokens=deviation.change_added_tokens(spec, settings))
        if not (deviation.keeps_model or deviates):
            model = _deviate(spec, settings, deviation, model)
        super().__init__(spec, settings=settings, model=model, normalizers=deviation.normalizers, base=base)
        if deviation.leftmost or deviation.flags or deviation.prefix or deviation.normalized_tokens:
            self._python = _DeviatingPipeline(spec, settings, deviation, model)
        self._deviation = deviation

    @classmethod
    def of(cls, encoder: Encoder, deviation: Deviation, alike: Encoder | None = None) -> DeviatingEncoder:
        """Return the encoder that does the same as another one, except for a deviation; they share the model.

        `alike` is such an encoder, whose model deviates in the same way.
        """
        if deviation.is_native_like(encoder):
            return cls(encoder.spec, deviation, None, encoder.settings, encoder)
        model = alike.model if alike else _share_model(encoder, deviation)
        deviates = alike is not None or isinstance(model, _NativeModel)
        return cls(encoder.spec, deviation, model, encoder.settings, encoder, deviates=deviates)

    def encode(self, text: str | bytes, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """Encode a text to ids."""
        if self._deviation.rewrite and isinstance(text, str):
            text = self._deviation.rewrite(text)
        around = self._deviation.around if add_special else None
        ids = super().encode(text, add_special=add_special and not around, parse_special=parse_special)
        if around:
            ids = [*around[0], *ids, *around[1]]
        if self._deviation.cut:
            most, after = self._deviation.cut
            end = len(ids) - (after if add_special else 0)
            ids = ids if len(ids) <= most else [*ids[: most - len(ids) + end], *ids[end:]]
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


def _share_model(encoder: Encoder, deviation: Deviation) -> Model:
    """Return a model for texts between added tokens: the native one if it can do what the deviation says."""
    settings = encoder.settings
    gets_texts_as_they_are = settings.family.is_bpe and not settings.escape_whitespaces
    can_be_native = gets_texts_as_they_are and (deviation.keeps_model or deviation.keeps_merging)
    return _NativeModel(encoder, deviation) if can_be_native and encoder.engine.name == NATIVE else encoder.model


class _NativeModel:
    """A byte-pair model, run by the native engine, that may get other pre-tokens, or look for whole ones or not."""

    def __init__(self, encoder: Encoder, deviation: Deviation) -> None:
        self._encoder, self._deviation = encoder, deviation
        pre_tokenizer = deviation.change_pre_tokenizer(encoder.settings.pre_tokenizer)
        self._split = None
        if not deviation.keeps_model:
            self._split = deviation.split_pre_tokens or splitter(pre_tokenizer)
            pre_tokenizer = replace(pre_tokenizer, patterns=())
        self._native = encoder.build_native_model(pre_tokenizer)

    def encode(self, text: str) -> list[int]:
        try:
            ids, _, failed = self._native.encode_batch(
                tuple(self._split(text) if self._split else [text]), False, False, 1
            )
        except ValueError:
            failed = 0
        # The Python engine also encodes surrogates, and parts of characters; and it says on what llama.cpp aborts.
        return memoryview(ids).cast("I").tolist() if failed is None else self._in_python.encode(text)

    @cached_property
    def _in_python(self) -> Model:
        encoder = self._encoder
        return _deviate(encoder.spec, encoder.settings, self._deviation, encoder.model) or encoder.model


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
        tokens = self._select(text)
        return split_leftmost(text, tokens, parse_special=parse_special, single_words=self._single_words)

    @cached_property
    def _select(self) -> Callable[[str], Sequence[AddedToken]]:
        return selector(self._settings.added_tokens)

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
        from tokverify.engine.deviating_model import deviate_unigram
        from tokverify.engine.deviating_unigram import DeviatingUnigram

        model = self.model
        if not isinstance(model, DeviatingUnigram):
            model = deviate_unigram(self._spec, self._settings, self._deviation, model)
        return model.without_prefix()


def _rename(settings: Settings, renamed: Mapping[int, str]) -> Settings:
    pieces = [renamed.get(id, piece) for id, piece in enumerate(settings.pieces)]
    ids = {renamed.get(id, piece): id for piece, id in settings.id_by_piece.items()}
    return replace(settings, pieces=pieces, ids=ids)


def _deviate(spec: TokenizerSpec, settings: Settings, deviation: Deviation, model: Model | None) -> Model | None:
    # The Python engine's models take long to import, and the native engine needs none of them.
    from tokverify.engine.deviating_model import deviate

    return deviate(spec, settings, deviation, model)
