"""Tokens that llama.cpp takes for control tokens by their text, and how to tell of tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.settings import resolve
from tokverify.text.visible import visible
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.spec import TokenizerSpec

_SHOWN = 3


def retyped_ids(spec: TokenizerSpec, types: Collection[int]) -> list[int]:
    """Return the tokens declared to be of one of these types that llama.cpp makes control tokens."""
    attributes = resolve(spec).attributes
    return [
        id for id, type in enumerate(spec.types or ()) if type in types and attributes[id] & Attribute.CONTROL.value
    ]


def such(texts: Sequence[str]) -> str:
    """Name tokens by their texts; of many, the first few and how many there are."""
    shown = ", ".join(f"`{visible(text)}`" for text in texts[:_SHOWN])
    return shown if len(texts) <= _SHOWN else f"{plural(len(texts), 'token')} such as {shown}"
