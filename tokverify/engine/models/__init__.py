"""The models: one encoding algorithm a file, each made from a tokenizer's data by the entry in `MODELS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tokverify.engine.models.bpe import Bpe
from tokverify.engine.models.cpp.model import CppHybrid
from tokverify.engine.models.hybriddna import HybridDna
from tokverify.engine.models.plamo2 import Plamo2
from tokverify.engine.models.plamo3 import Plamo3
from tokverify.engine.models.rwkv import Rwkv
from tokverify.engine.models.spm import Spm
from tokverify.engine.models.unigram import make_unigram
from tokverify.engine.models.whitespace import Whitespace
from tokverify.engine.models.wordpiece import WordPiece
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.spec import TokenType

if TYPE_CHECKING:
    from tokverify.engine.settings import Settings
    from tokverify.engine.trace import ModelTrace
    from tokverify.spec import TokenizerSpec


NO_TOKEN = -1
"""What llama.cpp gives as the unknown token of a vocabulary that has none (`LLAMA_TOKEN_NULL`)."""


class Model(Protocol):
    """Encodes a normalized stretch of text that holds no added tokens."""

    def encode(self, text: str) -> list[int]:
        """Encode `text` to ids."""


@runtime_checkable
class TracingModel(Model, Protocol):
    """A model that can show its way, as all in `MODELS` can."""

    def trace(self, text: str) -> ModelTrace:
        """Encode `text` at a slower pace, noting how; the ids are those of `encode`."""


@runtime_checkable
class CuttableModel(Model, Protocol):
    """A model that takes what is left of a character as it is; the others take U+FFFD for each byte of it."""

    def encode_cut(self, text: str) -> list[int]:
        """Encode `text` that an added token has cut inside a character, with lone bytes at either end."""


def _spm(spec: TokenizerSpec, settings: Settings) -> Model:
    return Spm(settings.ids, spec.scores or [0.0] * len(settings.ids))


def _bpe(spec: TokenizerSpec, settings: Settings) -> Bpe:
    merges = [merge.partition("\0")[0] for merge in spec.merges or ()]
    return Bpe(settings.ids, merges, PRE_TOKENIZERS[settings.pre])


def _hybriddna(spec: TokenizerSpec, settings: Settings) -> Model:
    return HybridDna(settings.ids, _bpe(spec, settings))


def _whitespace(spec: TokenizerSpec, settings: Settings) -> Model:
    return Whitespace(_bpe(spec, settings), lowercase=settings.lowercase)


def _wordpiece(_spec: TokenizerSpec, settings: Settings) -> Model:
    unknown_id = settings.special_ids.get("unk", NO_TOKEN)
    return WordPiece(settings.ids, unknown_id, lowercase=settings.lowercase, strip_accents=settings.strip_accents)


def _rwkv(_spec: TokenizerSpec, settings: Settings) -> Model:
    return Rwkv(settings.ids, settings.special_ids.get("unk", NO_TOKEN))


def _unigram(spec: TokenizerSpec, settings: Settings) -> Model:
    return make_unigram(spec, settings, settings.special_ids.get("unk", NO_TOKEN))


def _plamo2(spec: TokenizerSpec, settings: Settings) -> Plamo2:
    # subtle: llama.cpp goes by the types as declared here, before the tokens' texts override any.
    byte_ids = {id for id, type in enumerate(spec.types or ()) if type == TokenType.BYTE}
    return Plamo2(settings.ids, spec.scores or [0.0] * len(settings.ids), byte_ids)


def _plamo3(spec: TokenizerSpec, settings: Settings) -> Model:
    return Plamo3(_plamo2(spec, settings))


def _cpp_hybrid(spec: TokenizerSpec, settings: Settings) -> Model:
    return CppHybrid(settings.ids, spec.merges or (), settings.special_ids.get("unk"))


MODELS: Mapping[str, Callable[[TokenizerSpec, Settings], Model]] = {
    "spm": _spm,
    "bpe": _bpe,
    "hybriddna": _hybriddna,
    "whitespace": _whitespace,
    "wordpiece": _wordpiece,
    "unigram": _unigram,
    "rwkv": _rwkv,
    "plamo2": _plamo2,
    "plamo3": _plamo3,
    "cpp-hybrid": _cpp_hybrid,
}
"""Algorithm -> the model, from the declared tokenizer, and its effective settings."""
