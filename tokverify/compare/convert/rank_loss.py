"""List what llama.cpp does differently from tiktoken with the same ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tokverify.compare.convert.loss import Loss, Sides, find_made_control, name_texts
from tokverify.engine.byte_level import from_byte_level
from tokverify.engine.deviation import Deviation
from tokverify.engine.pre_pattern import COVERING
from tokverify.engine.pre_search import PROBES, describe_difference
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.engine.unicode_version import leave_out_unassigned
from tokverify.sources.tiktoken.reader import count_unmerged, split_probes
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.wording import plural

_PROBES = (*PROBES, "ỰC ƠNG éA ЖЗи ÀÉé")
"""One more text, because llama.cpp knows uppercase from lowercase only in ASCII."""


@dataclass(slots=True)
class Ranks:
    """What losses change in a file of ranks."""

    pattern: str
    """The regular expression that matches the pre-tokens, in the syntax of tiktoken."""
    more_special: dict[str, int] = field(default_factory=dict)
    """Further special tokens: text -> id."""


def made_control_losses(spec: TokenizerSpec) -> Iterator[Loss]:
    """Yield the loss that llama.cpp treats some ordinary tokens as control tokens."""
    ids = {spec.tokens[id]: id for id in find_made_control(spec, {TokenType.NORMAL.value})}
    if ids:
        yield Loss(
            f"{name_texts(list(ids))}: llama.cpp treats it as a control token, regardless of what the file declares",
            lambda sides: sides.content.more_special.update(ids),
        )


def pattern_losses(file: Path, spec: TokenizerSpec, pattern: str) -> Iterator[Loss]:
    """Yield what llama.cpp's pre-tokenizer does differently from tiktoken with a file's pattern."""
    name = spec.pre or "default"
    pre_tokenizer = PRE_TOKENIZERS[name]
    if difference := describe_difference(name, _PROBES, split_probes(file, pattern, _PROBES)):
        theirs = pre_tokenizer.patterns[0]
        yield Loss(
            f"the pattern: llama.cpp's pre-tokenizer {name} {difference}",
            lambda sides: setattr(sides.content, "pattern", theirs) if theirs in COVERING else None,
        )
    if unmerged := 0 if pre_tokenizer.ignore_merges else count_unmerged(_ranks_of(spec)):
        yield Loss(
            f"{plural(unmerged, 'token')} that no merge produces: llama.cpp's pre-tokenizer {name} does not look up "
            "whole words before it merges",
            _look_up_words,
        )
    yield Loss(
        "characters newer than Unicode 15.1: they are neither letters nor digits for llama.cpp",
        _leave_out_unassigned,
    )


def _ranks_of(spec: TokenizerSpec) -> dict[bytes, int]:
    types = spec.types or ()
    return {from_byte_level(piece): id for id, piece in enumerate(spec.tokens) if types[id] == TokenType.NORMAL}


def _look_up_words(sides: Sides) -> None:
    sides.deviation = sides.deviation.combine(Deviation(ignore_merges=True))


def _leave_out_unassigned(sides: Sides) -> None:
    sides.content.pattern = leave_out_unassigned(sides.content.pattern)
