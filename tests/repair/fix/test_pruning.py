"""A repair contains only what is needed."""

from dataclasses import replace

import pytest

from support.bare_tokenizer import Bare
from support.spec_maker import bpe_spec
from tokverify.case import Case
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.repair.array_change import set_merges
from tokverify.repair.budget import Budget
from tokverify.repair.change import TokenizerChange
from tokverify.repair.fix.measure import Measuring
from tokverify.repair.fix.pruning import prune, set_types_once
from tokverify.repair.setting_change import set_pre_tokenizer
from tokverify.repair.token_patch import TokenPatch, describe_type, set_type
from tokverify.sources.gguf.declaration import Declaration
from tokverify.spec import TokenizerSpec, TokenType

RIGHT = bpe_spec(["a b", "ab c", "1 2"])
WRONG = replace(RIGHT, merges=["ab c", "1 2"])
CASES = [Case(id="word", suite="s", text="abc")]


def set_fields(kind: str, **values: object) -> TokenizerChange:
    return TokenizerChange(kind=kind, sentence=kind, cost=1.0, transform=lambda spec: replace(spec, **values))


MERGES = set_fields("merges", merges=RIGHT.merges)
DIGITS = set_fields("pre", pre="qwen2")  # splits 12, which no case contains


@pytest.mark.parametrize(
    ("parts", "kinds"),
    [
        ([MERGES], ["merges"]),
        ([DIGITS, MERGES], ["merges"]),
        ([MERGES, DIGITS], ["merges"]),
        ([DIGITS.then(MERGES)], ["merges"]),
    ],
)
def test_what_changes_no_case_is_dropped_if_it_is_not_needed(parts: list[TokenizerChange], kinds: list[str]):
    expected = Bare(Encoder(RIGHT))
    measuring = Measuring(Declaration(spec=WRONG), "m", Opened(expected), CASES, Budget())
    assert [part.kind for part in prune(measuring, WRONG, parts, expected)] == kinds


def test_a_part_that_only_other_texts_need_is_kept():
    wrong = replace(WRONG, pre="qwen2")
    back = set_fields("pre", pre=RIGHT.pre)
    expected = Bare(Encoder(RIGHT))
    measuring = Measuring(Declaration(spec=wrong), "m", Opened(expected), CASES, Budget())
    assert prune(measuring, wrong, [MERGES, back], expected) == [MERGES, back]
    assert not measuring.measure(RIGHT).counts["generated texts"]


def test_nothing_is_dropped_when_the_budget_is_spent():
    expected = Bare(Encoder(RIGHT))
    measuring = Measuring(Declaration(spec=WRONG), "m", Opened(expected), CASES, Budget(0))
    assert prune(measuring, WRONG, [DIGITS, MERGES], expected) == [DIGITS, MERGES]


def typing(spec: TokenizerSpec, type: TokenType, *ids: int) -> TokenizerChange:
    return set_type(spec, {id: TokenPatch(type=type) for id in ids}, type, 1.0)


def test_a_type_that_a_later_part_sets_back_is_not_set():
    spec = bpe_spec([], {"<a>": TokenType.NORMAL, "<b>": TokenType.NORMAL, "<c>": TokenType.NORMAL})
    a, b, c = (spec.tokens.index(text) for text in ("<a>", "<b>", "<c>"))
    parts = [typing(spec, TokenType.USER_DEFINED, a, b, c), DIGITS, typing(spec, TokenType.NORMAL, b)]
    found = set_types_once(parts, spec)
    assert [part.sentence for part in found] == [describe_type(spec, [a, c], TokenType.USER_DEFINED), "pre"]
    apart = [typing(spec, TokenType.USER_DEFINED, a), typing(spec, TokenType.CONTROL, b)]
    assert set_types_once(apart, spec) == apart


def test_merges_are_described_without_the_parts_that_were_dropped():
    right, wrong = bpe_spec(["a b", "ab c", "1 2", "c a"]), bpe_spec(["ab c", "1 2", "c a"])
    some = set_fields("merges", merges=[*wrong.merges, "a b"])
    all_merges = set_merges(some.transform(wrong), right.merges, "4 merges", 1.0)
    assert all_merges.sentence == "using 4 merges (the same merges, in another order from rank 0)"
    expected = Bare(Encoder(right))
    measuring = Measuring(Declaration(spec=wrong), "m", Opened(expected), CASES, Budget())
    (part,) = prune(measuring, wrong, [some, all_merges], expected)
    assert part.sentence == "using 4 merges (1 missing, 0 extra)"


def test_a_part_names_the_pre_tokenizer_of_the_file_and_not_of_a_part_that_was_dropped():
    wrong = replace(RIGHT, pre="qwen2")
    expected = Bare(Encoder(replace(RIGHT, pre="llama-bpe")))
    parts = [
        set_pre_tokenizer("gpt-2", wrong, confirmed=False),
        set_pre_tokenizer("llama-bpe", replace(wrong, pre="gpt-2"), confirmed=False),
    ]
    measuring = Measuring(Declaration(spec=wrong), "m", Opened(expected), CASES, Budget())
    (kept,) = prune(measuring, wrong, parts, expected)
    assert kept.sentence.startswith("setting the pre-tokenizer to llama-bpe instead of qwen2 ")
