"""Recognize in the names of GGUF files what distinguishes the files of one model: quantization, parts and repairs."""

from __future__ import annotations

import re

from tokverify.text.command_line import REPAIRED

_QUANTIZATION = re.compile(
    r"[-._](?:UD-|i1-|imat-)?(?:I?Q[1-8](?:_[A-Z0-9]+)*(?:-XL)?|TQ[12]_0|BF16|FP?16|FP?32|FP8|INT8|MXFP4(?:_MOE)?|NVFP4)"
    r"(?:[-.]imat(?:rix)?)?$",
    re.IGNORECASE,
)
_PART = re.compile(r"-(\d{5})-of-\d{5}$")


def model_name(stem: str) -> str:
    """Remove all of this from a file's name without its suffix: `gpt2-Q4_K_M` and `gpt2-Q4_K_M-fixed` become `gpt2`."""
    return _QUANTIZATION.sub("", without_part(stem.removesuffix(REPAIRED)))


def without_part(stem: str) -> str:
    """Remove the part from a file's name without its suffix: `gpt2-00001-of-00002` becomes `gpt2`."""
    return _PART.sub("", stem)


def is_later_part(stem: str) -> bool:
    """Whether a file's name without its suffix is that of a split model's second or later file."""
    match = _PART.search(stem)
    return match is not None and int(match[1]) != 1


def has_quantization(name: str, quantization: str) -> bool:
    """Whether a file's name contains a quantization, such as `Q4_K_M`, as a whole word; in any case."""
    return bool(re.search(rf"(?:^|[-._/]){re.escape(quantization)}(?=[-./]|$)", name, re.IGNORECASE))
