"""Encode texts on both sides, for rules that would raise false alarms if they only compared data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.engine.encoder import Encoder
from tokverify.engine.unicode_version import has_unassigned
from tokverify.errors import EncodeError
from tokverify.report.finding import ERROR, Severity
from tokverify.texts.mode import Mode

_MAX_LENGTH = 400
"""Characters; longer cases test speed, and are cut like shorter ones."""


_PARSING = Mode(add_special=False, parse_special=True)


@cache
def probes() -> tuple[str, ...]:
    """Return the texts of the bundled cases, and texts that distinguish pre-tokenizers.

    Texts with characters that are too new for llama.cpp's Unicode tables are left out: they differ for every model.
    """
    from tokverify.cases.loading import load_cases
    from tokverify.engine.pre_search import PROBES

    texts = (case.text for case in load_cases() if 0 < len(case.text) <= _MAX_LENGTH)
    return tuple(dict.fromkeys([*PROBES, *(text for text in texts if not has_unassigned(text))]))


def encode_both(subject: Subject, text: str) -> tuple[list[int], list[int]]:
    """Return the actual and the expected ids; both are empty if one side cannot encode the text."""
    mode = subject.modes.choose(text, _PARSING)
    try:
        actual = subject.encoder.encode(text, **mode._asdict())
        return actual, subject.expected.encode(text, **mode._asdict())
    except EncodeError:
        return [], []


def find_differing(subject: Subject, texts: Iterable[str]) -> str | None:
    """Return the first text that the two sides encode differently, or None."""
    return next((text for text in texts if is_encoded_differently(subject, text)), None)


def is_encoded_differently(subject: Subject, text: str) -> bool:
    """Whether the two sides can encode a text, and do so differently."""
    actual, expected = encode_both(subject, text)
    return actual != expected


def judge(subject: Subject, texts: Iterable[str]) -> tuple[Severity, str]:
    """Return how serious it is that texts are encoded differently, and why if limits of llama.cpp explain all of them.

    The reason is to be appended to a message; it is empty if there is none.
    """
    from tokverify.compare.limits import LIMITS
    from tokverify.compare.limits.limit import Text

    codes: set[str] = set()
    for text in texts:
        expected = tuple(encode_both(subject, text)[1])
        found = subject.explainer.find(Text(text, *subject.modes.choose(text, _PARSING), expected))
        if not found:
            return ERROR, ""
        codes.update(found)
    return max(LIMITS[code].severity for code in codes), f"; {subject.explainer.describe(sorted(codes))}"


def find_effect(subject: Subject, **fields: Any) -> str | None:  # noqa: ANN401 - fields of the specification
    """Return the first probe text that our side would encode differently with other settings, or None."""
    texts = probes()
    changed = Encoder(replace(subject.spec, **fields), base=subject.encoder)
    sides = (side.encode_many(texts, add_special=False, parse_special=True) for side in (subject.encoder, changed))
    return next((text for text, ours, theirs in zip(texts, *sides, strict=True) if ours != theirs), None)


def require_parsing(subject: Subject) -> None:
    """Require a reference that can recognize special tokens in a text.

    Raises:
        NotEvaluatedError: If it cannot.
    """
    if not subject.expected.parses_special:
        raise NotEvaluatedError(f"{subject.expected.name} does not recognize special tokens in a text")
