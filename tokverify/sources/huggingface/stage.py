"""Read the stages of a HuggingFace tokenizer in the normal form of the library."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any, cast

Stage = dict[str, Any]
"""A normalizer, pre-tokenizer, post-processor or decoder: its `type`, and its options by name."""


def stages_of(component: object) -> list[Stage]:
    """Return the stages of a normalizer, pre-tokenizer, post-processor or decoder, with sequences flattened."""
    # The pickled state of a component is its part of the tokenizer.json.
    return [] if component is None else _flatten(json.loads(cast("bytes", component.__getstate__())))


def _flatten(stage: Stage) -> list[Stage]:
    if stage["type"] != "Sequence":
        return [stage]
    parts = next(value for value in stage.values() if isinstance(value, list))
    return list(chain.from_iterable(map(_flatten, parts)))
