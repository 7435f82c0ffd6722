"""Losses: what one format says of a tokenizer and another cannot, and how to leave it out of a comparison.

What a loss concerns can be undone: left out on one side, or done on the other as well. Where two tokenizers then agree
on a text, it is the loss that made them differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokverify.diagnosis.deviation import Deviation

if TYPE_CHECKING:
    from tokverify.spec import TokenizerSpec


@dataclass(slots=True)
class Sides:
    """What the two sides of a comparison are made of.

    `spec` and `deviation` make the encoder of what was written, `content` the tokenizer that it was made from, which
    only the opener of its kind understands.
    """

    spec: TokenizerSpec
    content: Any
    deviation: Deviation = field(default_factory=Deviation)


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that is lost, as a sentence.

    `undo` changes the sides so that it makes no difference; None where no ids depend on it, or that cannot be done.
    `excuse` says of two lists of ids that still differ whether it is the reason.
    """

    sentence: str
    undo: Callable[[Sides], object] | None = None
    excuse: Callable[[Sequence[int], Sequence[int]], bool] | None = None
