"""Find the pre-tokenizer by which a tokenizer agrees with a reference best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokverify.engine.encoder import Encoder
from tokverify.engine.models.bpe import Bpe
from tokverify.engine.pre_search import choose_name
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer
from tokverify.repair.probe.sample import Sample, count_agreements
from tokverify.spec import TokenizerSpec

BYTE_LEVEL_NAMES = tuple(name for name, pre_tokenizer in PRE_TOKENIZERS.items() if pre_tokenizer.byte_level)
ESCAPING_NAMES = tuple(name for name, pre_tokenizer in PRE_TOKENIZERS.items() if pre_tokenizer.escape_whitespaces)


@dataclass(frozen=True, slots=True)
class PreTokenizerChoice:
    """The name of a pre-tokenizer, and how well it agrees."""

    name: str
    agreements: int
    """The number of samples with the same ids."""
    alike: tuple[str, ...]
    """Other names that agree with as many samples, so that nothing tells them apart."""


def choose_pre_tokenizer(
    spec: TokenizerSpec, samples: Sequence[Sample], *, adds_bos: bool | None, cleans_spaces: bool | None
) -> PreTokenizerChoice:
    """Try every byte-level pre-tokenizer with the merges of `spec`.

    Whether BOS is added, and whether decoding removes spaces before punctuation, only decide among names with the same
    ids; None if that is unknown.
    """
    base = Encoder(spec)
    model = base.model
    if not isinstance(model, Bpe):
        raise TypeError(f"{spec.model} has no pre-tokenizer")
    agreements: dict[tuple[object, ...], int] = {}
    by_name: dict[str, int] = {}
    for name in BYTE_LEVEL_NAMES:
        pre_tokenizer = PRE_TOKENIZERS[name]
        key = _behavior(pre_tokenizer)
        if key not in agreements:
            other = model.with_pre_tokenizer(pre_tokenizer)
            agreements[key] = count_agreements(Encoder(spec, settings=base.settings, model=other), samples)
        by_name[name] = agreements[key]
    most = max(by_name.values())
    names = [name for name in BYTE_LEVEL_NAMES if by_name[name] == most]
    decoding_alike = [name for name in names if PRE_TOKENIZERS[name].clean_spaces == cleans_spaces]
    names = decoding_alike or names
    chosen = choose_name(names, adds_bos=adds_bos)
    return PreTokenizerChoice(chosen, most, tuple(name for name in names if name != chosen))


def _behavior(pre_tokenizer: PreTokenizer) -> tuple[object, ...]:
    """Return what determines the ids of a text without special tokens."""
    return pre_tokenizer.patterns, pre_tokenizer.ignore_merges, pre_tokenizer.newline_pieces
