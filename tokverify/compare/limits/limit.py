"""Limit: one thing that llama.cpp does differently from a reference, whatever a GGUF file says; and its manual."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.errors import answer_or
from tokverify.report.finding import Severity
from tokverify.report.tokenizer_difference import Origin
from tokverify.tokenizer import Tokenizer

SECTIONS = ("What llama.cpp does", "Which models", "How to live with it", "What it does not explain")
"""The sections of every limit's docstring, after the first line."""

_HEADING = re.compile(rf"^({'|'.join(SECTIONS)}):\n", re.MULTILINE)


class Text(NamedTuple):
    """A text that the two sides encode differently."""

    text: str
    add_special: bool
    parse_special: bool
    expected: tuple[int, ...]
    """The ids of the reference."""

    def encode(self, tokenizer: Tokenizer) -> tuple[int, ...] | None:
        """Return its ids in a tokenizer; None if that cannot encode it."""
        ids = answer_or(
            None, tokenizer.encode, self.text, add_special=self.add_special, parse_special=self.parse_special
        )
        return None if ids is None else tuple(ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual:
    """What would be different if llama.cpp did one thing as the reference does."""

    reason: str
    """What llama.cpp does, as a clause that completes `because`."""
    sentence: str
    """What the deviation does, as a gerund phrase, such as `normalizing texts with NFC first`."""
    deviation: Deviation
    applies: Callable[[Text], bool] = lambda _: True
    """Whether it can change the ids of a text; cheap, and wrong only by saying yes."""
    is_guess: bool = False
    """Whether the reference does not declare it, so that only its ids speak for it."""
    details: Callable[[], tuple[str, Origin]] | None = None
    """Returns the reason, and where the difference comes from, if it takes long to find out more than is said here."""

    def applies_to(self, text: Text) -> bool:
        """Whether it can change the ids of a text; not if the reference fails at telling."""
        return answer_or(False, self.applies, text)


@dataclass(frozen=True, slots=True)
class Limit:
    """An entry of the table."""

    code: str
    name: str
    origin: Origin
    severity: Severity
    summary: str
    manual: dict[str, str]
    """The sections of the manual."""
    _find: Callable[[Sides], Iterator[Counterfactual]]

    def find(self, sides: Sides) -> list[Counterfactual]:
        """Return what applies to two tokenizers; nothing if the reference fails on a sample, which proves nothing."""
        return answer_or([], lambda: list(self._find(sides)))

    @property
    def advice(self) -> str:
        """How to live with it."""
        return self.manual["How to live with it"]


def limit(
    *, code: str, name: str, origin: Origin, severity: Severity
) -> Callable[[Callable[[Sides], Iterator[Counterfactual]]], Limit]:
    """Turn a function into a limit; its docstring becomes the manual."""

    def decorate(find: Callable[[Sides], Iterator[Counterfactual]]) -> Limit:
        summary, *parts = _HEADING.split(inspect.cleandoc(find.__doc__ or ""))
        sections = zip(parts[::2], parts[1::2], strict=True)
        manual = {heading: " ".join(text.split()) for heading, text in sections}
        return Limit(code, name, origin, severity, " ".join(summary.split()), manual, find)

    return decorate
