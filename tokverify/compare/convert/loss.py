"""Losses: what one format can express and another cannot, and how to compare two tokenizers without it.

A loss can be undone by removing the feature on one side or imitating it on the other. If the two tokenizers then agree
on a text, this loss is the reason why they differed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokverify.engine.attribute import Attribute
from tokverify.engine.deviation import Deviation
from tokverify.engine.settings import resolve
from tokverify.spec import TokenizerSpec
from tokverify.text.visible import visible
from tokverify.text.wording import plural

_SHOWN = 3


@dataclass(slots=True)
class Sides:
    """What the two sides of a comparison are made from."""

    spec: TokenizerSpec
    """The tokenizer that was written."""
    content: Any
    """The content of the source file, in a form that depends on its kind."""
    deviation: Deviation = field(default_factory=Deviation)
    """How the encoder of the written tokenizer deviates from llama.cpp."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that is lost."""

    sentence: str
    """What is lost, and what happens instead."""
    undo: Callable[[Sides], object] | None = None
    """Changes the sides so that the loss has no effect; None if it affects no ids or cannot be undone."""
    excuse: Callable[[Sequence[int], Sequence[int]], bool] | None = None
    """Whether the loss explains two lists of ids that still differ."""


def find_made_control(spec: TokenizerSpec, types: Collection[int]) -> list[int]:
    """Return the tokens declared with one of these types that llama.cpp turns into control tokens."""
    attributes = resolve(spec).attributes
    return [
        id for id, type in enumerate(spec.types or ()) if type in types and attributes[id] & Attribute.CONTROL.value
    ]


def name_texts(texts: Sequence[str]) -> str:
    """Name tokens by their texts; of many tokens, name the first few and count all."""
    shown = ", ".join(f"`{visible(text)}`" for text in texts[:_SHOWN])
    return shown if len(texts) <= _SHOWN else f"{plural(len(texts), 'token')} such as {shown}"
