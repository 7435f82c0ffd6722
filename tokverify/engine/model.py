"""The interfaces of models: what every model can do, and what some can; the models are in `tokverify.engine.models`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from tokverify.engine.trace import ModelTrace


class Model(Protocol):
    """Encodes a normalized stretch of text that contains no added tokens."""

    def encode(self, text: str) -> list[int]:
        """Encode `text` to ids."""


@runtime_checkable
class TracingModel(Model, Protocol):
    """A model that can record how it encodes, as all built-in models can."""

    def trace(self, text: str) -> ModelTrace:
        """Encode `text`, slower than `encode` but to the same ids, and record every step."""


@runtime_checkable
class CuttableModel(Model, Protocol):
    """A model that encodes bytes that are not UTF-8; other models get the code points that llama.cpp reads there."""

    def encode_cut(self, text: str) -> list[int]:
        """Encode `text` with lone bytes: it is not UTF-8, or an added token matched a part of a character."""


@runtime_checkable
class CutTracingModel(CuttableModel, Protocol):
    """A model that can also record how it encodes bytes that are not UTF-8."""

    def trace_cut(self, text: str) -> ModelTrace:
        """Encode `text` with lone bytes to the ids of `encode_cut`, and record every step."""
