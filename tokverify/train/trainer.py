"""The interface of a training algorithm: a function from a TrainingPlan to a Trained tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokverify.errors import TokverifyError
from tokverify.train.merge_learner import Step, Ties

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder
    from tokverify.report.train import ChecklistPoint

Progress = Callable[[str], None]
"""Called with a few words about the step that begins."""

DEFAULT_VOCAB_SIZE = 8_000
DEFAULT_MIN_FREQUENCY = 2
LARGEST_VOCAB_SIZE = 10_000_000
"""The libraries allocate memory for every requested token and abort if there is not enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """The corpus and the options of a training."""

    corpus: tuple[Path, ...]
    """UTF-8 text files, which may be compressed with gzip."""
    sources: tuple[str, ...] = ()
    """How the user named them, if differently."""
    preparations: tuple[str, ...] = ()
    """What was done to the files before."""
    vocab_size: int = DEFAULT_VOCAB_SIZE
    """The number of tokens, special ones included; a small corpus may yield fewer."""
    seed: int = 0
    """The seed of the generated texts that verify the result; training itself is deterministic."""
    min_frequency: int = DEFAULT_MIN_FREQUENCY
    """Pairs of pieces that occur less often are not learned."""
    preset: str | None = None
    """The name of a variant of the algorithm."""
    ties: Ties = Ties.IDS
    """Which of several equally frequent pairs is merged."""
    trace: int = 0
    """How many of the first merges to trace."""
    on_progress: Progress | None = None

    def report_progress(self, step: str) -> None:
        """Announce the step that begins."""
        if self.on_progress:
            self.on_progress(step)


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained tokenizer, as its library writes it."""

    name: str
    """The file's name: `tokenizer.json` or `tokenizer.model`."""
    data: bytes
    """The file's content."""
    notes: tuple[str, ...] = ()
    """What the user should know beyond the content of the files."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The content of the `tokenizer_config.json` beside it: the roles of its special tokens."""
    trace: tuple[Step, ...] = ()
    """The first merges, as far as the plan asks for them."""


@dataclass(frozen=True, slots=True)
class Trainer:
    """A training algorithm; call it to train."""

    train: Callable[[TrainingPlan], Trained]
    summary: str
    """What it trains, as a noun phrase."""
    vocab_size: int = DEFAULT_VOCAB_SIZE
    """The default vocabulary size."""
    uses_min_frequency: bool = True
    """Whether it honors `min_frequency`."""
    traces_merges: bool = False
    """Whether it honors `ties` and `trace`."""
    preparations: tuple[str, ...] = ()
    """What can be done to the files of the corpus before the training."""
    check_points: Callable[[Encoder], Iterable[ChecklistPoint]] | None = None
    """Checks the points that the description of the algorithm lists, if it does."""
    presets: Mapping[str, int] = field(default_factory=dict)
    """The presets, with their default vocabulary sizes."""

    def __call__(self, plan: TrainingPlan) -> Trained:
        """Train in this process. This may take long, and native code cannot be interrupted.

        Raises:
            TokverifyError: If there is no such preset, or the corpus or the vocabulary size is unsuitable.
        """
        if plan.preset is not None and plan.preset not in self.presets:
            raise TokverifyError(f"{plan.preset}: no such preset; available: {', '.join(self.presets) or 'none'}")
        return self.train(plan)


def notes_on_size(plan: TrainingPlan, size: int) -> tuple[str, ...]:
    """Return a note if a vocabulary is smaller than requested."""
    if size >= plan.vocab_size:
        return ()
    return (f"the corpus yields only {size:,} of the requested {plan.vocab_size:,} tokens",)


def require_size(plan: TrainingPlan, fixed: int, what: str) -> None:
    """Fail if the requested vocabulary is too small for its fixed tokens; `what` names these.

    Raises:
        TokverifyError: With the smallest possible size.
    """
    if plan.vocab_size < fixed:
        raise TokverifyError(
            f"a vocabulary of {plan.vocab_size:,} tokens is too small: {what} take {fixed:,}; "
            "request a larger vocabulary"
        )
