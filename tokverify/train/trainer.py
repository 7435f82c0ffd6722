"""What a trainer is given and gives back; every algorithm is one module with a function from a plan to a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from tokverify.errors import TokverifyError

Progress = Callable[[str], None]
"""Told what is being done now, in a few words."""

DEFAULT_VOCAB_SIZE = 8_000
DEFAULT_MIN_FREQUENCY = 2
LARGEST_VOCAB_SIZE = 10_000_000
"""The libraries set memory aside for as many tokens as are asked for, and abort where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """What to train on, and how.

    A pair of pieces that occurs less than `min_frequency` times is not learned. `preset` names a variant of the
    algorithm.
    """

    corpus: tuple[Path, ...]
    vocab_size: int = DEFAULT_VOCAB_SIZE
    seed: int = 0
    min_frequency: int = DEFAULT_MIN_FREQUENCY
    preset: str | None = None
    on_progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Trained:
    """A tokenizer as its library writes it.

    `name` is `tokenizer.json` or `tokenizer.model`; `notes` tell the user what the files do not. `config` is the
    content of the `tokenizer_config.json` that goes with it: what its special tokens are for.
    """

    name: str
    data: bytes
    notes: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """An algorithm; calling it trains.

    `module` has the function `train`, and is imported when that is called. `counts` tells whether `min_frequency` can
    be honored. `vocab_size` and, for a preset by its name, the one in `presets` are the default sizes.
    """

    module: str
    summary: str
    vocab_size: int = DEFAULT_VOCAB_SIZE
    counts: bool = True
    presets: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, plan: TrainingPlan) -> Trained:
        """Train in this process; it may take long, and native code cannot be interrupted.

        Raises:
            TokverifyError: If this cannot be trained.
        """
        if plan.preset is not None and plan.preset not in self.presets:
            raise TokverifyError(f"{plan.preset}: no such preset; there is {', '.join(self.presets) or 'none'}")
        train = cast("Callable[[TrainingPlan], Trained]", import_module(self.module).train)
        return train(plan)
