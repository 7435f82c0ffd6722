"""Probe texts: what rules encode or split on both sides to see whether a difference matters."""

from __future__ import annotations

from functools import cache

from tokverify.engine.unicode_version import has_unassigned

_MAX_LENGTH = 400
"""Characters; longer cases test speed, and are split like shorter ones."""


@cache
def probes() -> tuple[str, ...]:
    """Return the texts of the bundled cases, and texts that distinguish pre-tokenizers.

    Texts with characters that are too new for llama.cpp's Unicode tables are excluded: they differ for every model.
    """
    from tokverify.cases.loading import load_cases
    from tokverify.engine.pre_search import PROBES

    texts = (case.text for case in load_cases() if 0 < len(case.text) <= _MAX_LENGTH)
    return tuple(dict.fromkeys([*PROBES, *(text for text in texts if not has_unassigned(text))]))
