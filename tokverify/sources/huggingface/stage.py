"""Read the stages of a HuggingFace tokenizer in the normal form of the library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from tokenizers.normalizers import Normalizer
    from tokenizers.pre_tokenizers import PreTokenizer

Stage = dict[str, Any]
"""A normalizer, pre-tokenizer, post-processor or decoder: its `type`, and its options by name."""


RUNS_OF_SPACES = {"Regex": " {2,}"}
"""The pattern of a `Replace` that merges spaces."""
SPACES_AROUND = {"Regex": r"\A +| +\z"}
"""The pattern of a `Replace` that removes those around a text, and no other white space, unlike `Strip`."""


def stages_of(component: object) -> list[Stage]:
    """Return the stages of a normalizer, pre-tokenizer, post-processor or decoder, with sequences flattened."""
    # The pickled state of a component is its part of the tokenizer.json.
    return [] if component is None else _flatten(json.loads(cast("bytes", component.__getstate__())))


def normalizer_of(stages: Sequence[Stage]) -> Normalizer:
    """Return the normalizer that consists of these stages."""
    from tokenizers.normalizers import NFC

    made: Normalizer = NFC()
    made.__setstate__(json.dumps({"type": "Sequence", "normalizers": list(stages)}).encode())
    return made


def pre_tokenizer_of(stages: Sequence[Stage]) -> PreTokenizer:
    """Return the pre-tokenizer that consists of these stages."""
    from tokenizers.pre_tokenizers import ByteLevel

    made: PreTokenizer = ByteLevel()
    made.__setstate__(json.dumps({"type": "Sequence", "pretokenizers": list(stages)}).encode())
    return made


def _flatten(stage: Stage) -> list[Stage]:
    if stage["type"] != "Sequence":
        return [stage]
    parts = next(value for value in stage.values() if isinstance(value, list))
    return list(chain.from_iterable(map(_flatten, parts)))
