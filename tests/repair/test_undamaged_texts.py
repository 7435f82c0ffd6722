"""Texts of tokens that a program changed, beside a reference that returns only ids."""

import html
import json
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

import pytest

from support.bare_tokenizer import IdsOnly
from support.spec_maker import CONTROL, bpe_spec, spm_spec
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence
from tokverify.repair.piece_change import undamaged_texts
from tokverify.spec import TokenizerSpec

BPE = bpe_spec(["a '", "a' <", "Ã ©"], {"<|0.02|>": CONTROL})
SPM = spm_spec({"▁a": -1, "▁b": -2, "a": -3, "b": -4})


def tried(wrong: TokenizerSpec, right: TokenizerSpec) -> list[TokenizerChange]:
    return list(undamaged_texts(Evidence(wrong, None, Opened(IdsOnly(Encoder(right))), ())))


def damaged(spec: TokenizerSpec, damage: Callable[[str], str]) -> TokenizerSpec:
    merges = [" ".join(map(damage, merge.split(" "))) for merge in spec.merges or ()]
    return replace(spec, tokens=list(map(damage, spec.tokens)), merges=merges or None)


@pytest.mark.parametrize(
    ("right", "damage", "reason"),
    [
        (BPE, lambda text: html.escape(text, quote=False), "they were escaped for HTML"),
        (BPE, lambda text: quote(text, safe=""), "they were escaped for a URL"),
        (BPE, lambda text: json.dumps(text)[1:-1], "they were escaped for JSON"),
        (BPE, lambda text: text.replace("'", "''"), "their quotes were doubled, as for SQL"),
        (BPE, lambda text: text.replace("'", "’"), "quotes, dashes and dots became typographic"),
        (BPE, lambda text: text.replace("0.0", "0,0"), "they have decimal commas"),
        (SPM, lambda text: f"{text[1:]}▁" if text[1:] and text[0] == "▁" else text, "▁ was put behind words"),
    ],
)
def test_what_was_done_to_all_texts_and_merges_is_undone(right: TokenizerSpec, damage, reason: str):
    wrong = damaged(right, damage)
    (change,) = [change for change in tried(wrong, right) if f"({reason})" in change.sentence]
    made = change.transform(wrong)
    assert made.tokens == right.tokens
    assert made.merges == right.merges


def test_merges_that_stayed_right_are_kept():
    wrong = replace(BPE, tokens=[text.replace("'", "''") for text in BPE.tokens])
    (change,) = tried(wrong, BPE)
    assert change.transform(wrong) == replace(BPE, tokens=list(BPE.tokens))


def test_a_byte_level_text_stays_in_its_alphabet():
    spec = bpe_spec(["\\ n", "% B", "%B F"])
    assert tried(spec, spec) == []


def test_nothing_is_undone_in_a_vocabulary_that_contains_such_texts_and_what_they_stand_for():
    spec = spm_spec({"%41": -1, "A": -2, "&lt;": -3, "<": -4, "''": -5, "'": -6, '"a"': -7, "a": -8})
    assert tried(spec, spec) == []
