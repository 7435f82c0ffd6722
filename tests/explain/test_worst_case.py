"""The worst case: by hand for small vocabularies, and never exceeded by texts that try to."""

import random
from dataclasses import replace

import pytest

from support.spec_maker import bpe_spec, spm_spec, unigram_spec
from tokverify.engine.encoder import Encoder
from tokverify.explain.inspection import inspect
from tokverify.explain.worst_case import find_worst_case
from tokverify.report.inspect import WorstCase

BPE = bpe_spec(["a b", "Ġ a"], {"<s>": 3, "<x>": 4}, special_ids={"bos": 258}, add_bos=True)
SPM = spm_spec({"▁": -1.0, "▁a": -1.0, "ab": -2.0, "a": -3.0}, {"<x>": 4}, add_bos=True)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (BPE, WorstCase(1, 4, around=1, text="\U00010000")),
        (bpe_spec(["ð Ĳ"]), WorstCase(1, 4, around=0, text="\U00011000")),
        (SPM, WorstCase(1, 4, around=2, text="\U00010000")),
        # Without a token for a space, it becomes three bytes.
        (spm_spec({"a": -1.0}), None),
        # After each newline, a space would be added.
        (spm_spec({"▁": -1.0, "\n": -1.0}, {"\n": 4}), None),
        (unigram_spec({"▁a": -1.0}), None),
    ],
)
def test_it_is_proven_or_not_claimed(spec, expected):
    assert find_worst_case(Encoder(spec).settings) == expected


def test_nothing_is_claimed_for_a_file_of_which_a_part_is_left_out():
    assert inspect(BPE).worst_case is not None
    assert inspect(replace(BPE, left_out=("normalizer NFC: GGUF cannot express it",))).worst_case is None


@pytest.mark.parametrize("spec", [BPE, SPM])
def test_its_text_attains_it_and_no_text_exceeds_it(spec):
    encoder = Encoder(spec)
    worst = find_worst_case(encoder.settings)
    ids = encoder.encode(worst.text, add_special=True)
    assert len(ids) == worst.per_character + worst.around == len(worst.text.encode()) + worst.around
    choose = random.Random(1)  # noqa: S311 - not for cryptography
    for _ in range(500):
        text = "".join(choose.choices(["a", "b", " ", "\n", "<s>", "<x>", "é", "日", "\U0001f999", "▁"], k=8))
        assert len(encoder.encode(text, add_special=True)) <= len(text.encode()) + worst.around


@pytest.mark.parametrize("name", ["qwen2", "gemma-4", "llama-spm", "gpt-2", "mpt"])
def test_it_is_attained_with_real_vocabularies(encoder_of, name):
    encoder = encoder_of(name)
    worst = find_worst_case(encoder.settings)
    assert len(encoder.encode(worst.text, add_special=True)) == worst.per_character + worst.around
