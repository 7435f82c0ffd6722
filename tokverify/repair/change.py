"""TokenizerChange: a possible change to a tokenizer, as data that can be tried, described and written to a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial, reduce

from tokverify.engine.deviating_encoder import DeviatingEncoder
from tokverify.engine.deviation import Deviation
from tokverify.engine.encoder import Encoder
from tokverify.engine.families import find_family
from tokverify.engine.family import Settings
from tokverify.engine.model import Model
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError
from tokverify.spec import TokenizerSpec

_ARRAYS = ("tokens", "scores", "merges", "charsmap")
_FLAGS = ("algorithm", "lowercase", "strip_accents", "nfc", "remove_extra_whitespaces", "add_space_prefix")


def unchanged(spec: TokenizerSpec) -> TokenizerSpec:
    """Return a spec unchanged."""
    return spec


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerChange:
    """A change to a tokenizer."""

    kind: str
    """A short name, such as `pre` or `types`."""
    sentence: str
    """What the change does, as a gerund phrase, such as `setting the pre-tokenizer to llama-bpe`."""
    cost: float
    """See `tokverify.repair.cost`."""
    transform: Callable[[TokenizerSpec], TokenizerSpec] = unchanged
    """Makes the changed declaration from the original one."""
    deviation: Deviation = field(default_factory=Deviation)
    """What GGUF cannot express."""
    gguf_command: str | None = None
    """The command of the `gguf` package that does the same, if there is one."""
    describe: Callable[[TokenizerSpec], str] | None = None
    """Describes it for the tokenizer that it changes, if that matters; by default, `sentence` does for any."""
    combined: tuple[TokenizerChange, ...] = ()
    """The changes that this one combines; empty for a single one."""

    @property
    def steps(self) -> tuple[TokenizerChange, ...]:
        """The single changes that it consists of."""
        return self.combined or (self,)

    @property
    def expressible(self) -> bool:
        """Whether a GGUF file can express it."""
        return not self.deviation

    def then(self, other: TokenizerChange) -> TokenizerChange:
        """Return this change followed by another one."""
        return TokenizerChange(
            kind=f"{self.kind}+{other.kind}",
            sentence=f"{self.sentence}, and {other.sentence}",
            cost=self.cost + other.cost,
            transform=lambda spec: other.transform(self.transform(spec)),
            deviation=self.deviation.combine(other.deviation),
            combined=(*self.steps, *other.steps),
        )

    def expressible_part(self) -> TokenizerChange:
        """Return the part of it that a GGUF file can express."""
        return replace(self, deviation=Deviation())

    def split(self) -> tuple[TokenizerChange, TokenizerChange] | None:
        """Return the changes that a GGUF file can express, and those that it cannot; None if all are of one kind."""
        can = [step for step in self.steps if step.expressible]
        cannot = [step for step in self.steps if not step.expressible]
        return (reduce(TokenizerChange.then, can), reduce(TokenizerChange.then, cannot)) if can and cannot else None

    def encoder(self, spec: TokenizerSpec, base: Encoder | None = None) -> Encoder:
        """Return the encoder of the changed tokenizer, reusing parts of `base`, the encoder of the unchanged one.

        Raises:
            TokverifyError: If llama.cpp would refuse the changed tokenizer.
        """
        changed = self.transform(spec)
        if base is not None and changed is base.spec and self.deviation:
            return DeviatingEncoder.of(base, self.deviation)
        require_loadable(changed)
        settings = resolve(changed)
        if base is None or not self.deviation.is_native_like(base):
            return self._python_encoder(changed, settings, base)
        if self.deviation:
            return DeviatingEncoder(changed, self.deviation, settings=settings, base=base)
        return Encoder(changed, settings=settings, base=base)

    def _python_encoder(self, changed: TokenizerSpec, settings: Settings, base: Encoder | None) -> Encoder:
        model = None if base is None else _reusable_model(base, changed, settings)
        if self.deviation:
            return DeviatingEncoder(changed, self.deviation, model, settings)
        return Encoder(changed, settings=settings, model=model)


def set_field(name: str, value: object, sentence: str, cost: float) -> TokenizerChange:
    """Return the change that gives one field of the declaration another value."""
    return TokenizerChange(kind=name, sentence=sentence, cost=cost, transform=partial(replace, **{name: value}))


def require_loadable(spec: TokenizerSpec) -> None:
    """Refuse what the reader of GGUF files refuses; a repair must also work on a file that was refused.

    Raises:
        BrokenFileError: If the reader would refuse it.
    """
    size = len(spec.tokens)
    if any(values is not None and len(values) != size for values in (spec.scores, spec.types)):
        raise BrokenFileError("the number of scores or types is not the number of tokens")
    family = find_family(spec.model)
    if spec.merges is None and family and family.requires_merges(spec.pre):
        raise BrokenFileError("there are no merges")


def shares_model(base: Encoder, spec: TokenizerSpec, settings: Settings) -> bool:
    """Whether the model of `base` fits a changed tokenizer, except for the pre-tokenizer; this builds no model.

    Arrays must be identical objects.
    """
    old = base.settings
    return not (
        isinstance(base, DeviatingEncoder)
        or any(getattr(base.spec, name) is not getattr(spec, name) for name in _ARRAYS)
        or any(getattr(old, name) != getattr(settings, name) for name in _FLAGS)
        or (old.family.reads_types and base.spec.types is not spec.types)
        or old.special_ids.get("unk") != settings.special_ids.get("unk")
    )


def _reusable_model(base: Encoder, spec: TokenizerSpec, settings: Settings) -> Model | None:
    """Return the model of `base` if it is also right for the changed tokenizer."""
    if not shares_model(base, spec, settings):
        return None
    if base.settings.pre != settings.pre:
        # With it come the records of `explain`; building a model in Python takes longer than to import them.
        from tokverify.engine.models.bpe import Bpe

        return base.model.with_pre_tokenizer(settings.pre_tokenizer) if isinstance(base.model, Bpe) else None
    return base.model
