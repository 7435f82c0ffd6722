"""TokenizerChange: a way in which a tokenizer could differ, as data that can be tried, shown and written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tokverify.diagnosis.deviation import DeviatingEncoder, Deviation
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import BY_TYPE_ALGORITHMS
from tokverify.engine.models.bpe import Bpe
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError
from tokverify.files.gguf.declaration import MODELS_WITH_MERGES, PRE_WITHOUT_MERGES

if TYPE_CHECKING:
    from tokverify.engine.models import Model
    from tokverify.engine.settings import Settings
    from tokverify.spec import TokenizerSpec

_ARRAYS = ("tokens", "scores", "merges", "charsmap")
_FLAGS = ("algorithm", "lowercase", "strip_accents", "remove_extra_whitespaces", "add_space_prefix")


def unchanged(spec: TokenizerSpec) -> TokenizerSpec:
    """Return a spec as it is."""
    return spec


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerChange:
    """A change to a tokenizer.

    `kind` is a short name, such as `pre` or `types`; `sentence` says what is done, beginning with a gerund, as in
    `naming the pre-tokenizer llama-bpe`. `cost` orders changes that explain the same, the simplest first. `transform`
    makes the changed tokenizer of the declared one; what GGUF has no key for is in `deviation`. `gguf_command` is
    the command of the `gguf` package that does the same, where there is one.
    """

    kind: str
    sentence: str
    cost: float
    transform: Callable[[TokenizerSpec], TokenizerSpec] = unchanged
    deviation: Deviation = field(default_factory=Deviation)
    gguf_command: str | None = None

    @property
    def expressible(self) -> bool:
        """Whether a GGUF file can say it."""
        return not self.deviation

    def then(self, other: TokenizerChange) -> TokenizerChange:
        """Return this change with another one after it."""
        return TokenizerChange(
            kind=f"{self.kind}+{other.kind}",
            sentence=f"{self.sentence}, and {other.sentence}",
            cost=self.cost + other.cost,
            transform=lambda spec: other.transform(self.transform(spec)),
            deviation=self.deviation.joined(other.deviation),
        )

    def expressed(self) -> TokenizerChange:
        """Return the part of it that a GGUF file can say."""
        return replace(self, deviation=Deviation())

    def encoder(self, spec: TokenizerSpec, base: Encoder | None = None) -> Encoder:
        """Return the encoder of a changed tokenizer; of `base`, that of the unchanged one, parts are used again.

        Raises:
            TokverifyError: If llama.cpp would refuse it.
        """
        changed = self.transform(spec)
        _require_loadable(changed)
        settings = resolve(changed)
        model = None if base is None else _same_model(base, changed, settings)
        if self.deviation:
            return DeviatingEncoder(changed, self.deviation, model)
        return Encoder(changed, settings=settings, model=model)


def _require_loadable(spec: TokenizerSpec) -> None:
    """Refuse what the reader of GGUF files does; a repair has to work on a file that was refused, too."""
    size = len(spec.tokens)
    if any(values is not None and len(values) != size for values in (spec.scores, spec.types)):
        raise BrokenFileError("scores or types are not as many as the tokens")
    if any(id >= size for id in spec.special_ids.values()):
        raise BrokenFileError("a special id is out of range")
    if spec.merges is None and spec.model in MODELS_WITH_MERGES and spec.pre != PRE_WITHOUT_MERGES:
        raise BrokenFileError("there are no merges")


def _same_model(base: Encoder, spec: TokenizerSpec, settings: Settings) -> Model | None:
    """Return the model of `base` if it serves a changed tokenizer too; of arrays, only one and the same is equal."""
    old = base.settings
    differs = (
        isinstance(base, DeviatingEncoder)
        or any(getattr(base.spec, name) is not getattr(spec, name) for name in _ARRAYS)
        or any(getattr(old, name) != getattr(settings, name) for name in _FLAGS)
        or (old.algorithm in BY_TYPE_ALGORITHMS and base.spec.types is not spec.types)
        or old.special_ids.get("unk") != settings.special_ids.get("unk")
    )
    if differs:
        return None
    if old.pre != settings.pre:
        pre_tokenizer = PRE_TOKENIZERS[settings.pre]
        return base.model.with_pre_tokenizer(pre_tokenizer) if isinstance(base.model, Bpe) else None
    return base.model
