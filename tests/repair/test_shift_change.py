"""Insertions and deletions, which move tokens together with their types and scores."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from support.bare_tokenizer import Bare, IdsOnly
from support.spec_maker import BYTE_PIECES, CONTROL, USER_DEFINED, spm_spec
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.opened import Opened
from tokverify.compare.shift import Shift, find_shift
from tokverify.engine.encoder import Encoder
from tokverify.repair.evidence import Evidence, Target
from tokverify.repair.search import diagnose
from tokverify.repair.shift_change import shifts
from tokverify.spec import TokenizerSpec

LETTERS = list("abcdefghijklmnop")
SPM = spm_spec(
    {"▁": -30.0, **{letter: -float(rank) for rank, letter in enumerate(LETTERS)}, "ab": -20.0, "  ": 0.0, "<x>": 0.0},
    {"  ": USER_DEFINED, "<x>": CONTROL},
)
TEXTS = ("ab", "a  b", "d<x>e", "fgh", "klmno p")


@pytest.mark.parametrize(
    ("ours", "theirs", "shift"),
    [
        (["a", "new", *LETTERS[1:]], LETTERS, Shift(1, 1, True, 16)),
        ([*LETTERS[:2], *LETTERS[4:]], LETTERS, Shift(2, 2, False, 16)),
        # One of the tokens that moved has another text, too.
        ([LETTERS[0], "new", LETTERS[1], "other", *LETTERS[3:]], LETTERS, Shift(1, 1, True, 16)),
        # The size stayed the same, because the last token was dropped.
        (["a", "new", *LETTERS[1:-1]], LETTERS, Shift(1, 1, True, 16)),
        # Our vocabulary is longer for another reason.
        (["a", "new", *LETTERS[1:], "1", "2", "3"], LETTERS, Shift(1, 1, True, 19)),
        (LETTERS, LETTERS, None),
        (LETTERS[::-1], LETTERS, None),
        (["new", *LETTERS[:4]], LETTERS[:4], None),
    ],
)
def test_a_shift_is_recognized_by_its_first_difference(ours: list[str], theirs: list[str], shift: Shift | None):
    assert find_shift(ours, theirs) == shift


def test_undoing_a_shift_restores_every_value():
    shift = Shift(1, 1, True, 4)
    assert shift.undo(["a", "new", "b", "c"], "fill {}".format) == ["a", "b", "c", "fill 3"]
    assert [shift.move_id(id) for id in range(4)] == [0, 1, 1, 2]
    assert Shift(1, 2, False, 5).undo(["a", "d", "e"], "fill {}".format) == ["a", "fill 1", "fill 2", "d", "e"]


def inserted(spec: TokenizerSpec) -> TokenizerSpec:
    at = 265
    return replace(
        spec,
        tokens=[*spec.tokens[:at], "zz", *spec.tokens[at:]],
        types=[*spec.types[:at], 1, *spec.types[at:]],
        scores=[*spec.scores[:at], -1.0, *spec.scores[at:]],
    )


def deleted(spec: TokenizerSpec) -> TokenizerSpec:
    at = 265
    return replace(
        spec,
        tokens=[*spec.tokens[:at], *spec.tokens[at + 1 :]],
        types=[*spec.types[:at], *spec.types[at + 1 :]],
        scores=[*spec.scores[:at], *spec.scores[at + 1 :]],
    )


@pytest.mark.parametrize("damage", [inserted, deleted])
@pytest.mark.parametrize("bare", [False, True])
def test_a_shift_is_named_as_one_cause(damage: Callable[[TokenizerSpec], TokenizerSpec], bare: bool):
    wrong, right = damage(SPM), Encoder(SPM, "right")
    expected = Bare(right) if bare else right
    cases = [Case(id=text, suite="s", text=text) for text in TEXTS]
    results = verify_tokenizers(Encoder(wrong), expected, cases).results
    found = diagnose(wrong, Opened(expected), results, encoder=Encoder(wrong))
    best = found.diagnosis.explanations[0]
    assert (best.kind, best.unexplained) == ("shift", ())
    new = found.changes[0].transform(wrong)
    assert (new.tokens, new.types) == (list(SPM.tokens), list(SPM.types))
    assert len(BYTE_PIECES) < len(new.scores) == len(SPM.scores)


@pytest.mark.parametrize(("moved", "ending"), [(False, ", but not the ids of special tokens"), (True, " back")])
def test_the_ids_of_special_tokens_move_only_if_they_are_the_references_then(moved: bool, ending: str):
    eos = len(SPM.tokens) - 2
    right = replace(SPM, special_ids={"eos": eos})
    wrong = replace(deleted(right), special_ids={"eos": eos - moved})
    (change,) = shifts(Evidence(wrong, Encoder(wrong), Opened(Encoder(right)), ()))
    assert change.sentence.endswith(ending)
    assert change.transform(wrong).special_ids == right.special_ids


def test_a_constant_id_stays_at_the_special_token_that_is_restored():
    # As converters write RWKV's BOS and EOS, which the vocabulary's file does not contain.
    right = spm_spec(dict.fromkeys(LETTERS, -1.0), special_ids={"bos": 1, "eos": 1, "eot": 260})
    wrong = replace(
        right,
        tokens=[right.tokens[0], *right.tokens[2:]],
        types=[right.types[0], *right.types[2:]],
        scores=[right.scores[0], *right.scores[2:]],
        special_ids={"bos": 1, "eos": 1, "eot": 259},
    )
    wrong = replace(wrong, types=[2, 1, *wrong.types[2:]])
    reference = Bare(Encoder(right))
    first = next(shifts(Evidence(wrong, Encoder(wrong), Opened(reference), ())))
    assert first.transform(wrong).special_ids == right.special_ids


@pytest.mark.parametrize(("fault", "at", "text"), [(inserted, 265, None), (deleted, 265, "[PAD265]")])
def test_a_shift_is_found_by_ids_alone_but_not_the_text_of_a_lost_token(
    fault: Callable[[TokenizerSpec], TokenizerSpec], at: int, text: str | None
):
    wrong = fault(SPM)
    texts = (*"fghijklmnop", "ab", "d e", "kl mn")
    targets = [Target(one, one, False, False, tuple(Encoder(SPM).encode(one, add_special=False))) for one in texts]
    change, *_ = shifts(Evidence(wrong, Encoder(wrong), Opened(IdsOnly(Encoder(SPM))), targets))
    tokens = list(SPM.tokens)
    tokens[at] = text or tokens[at]
    assert change.transform(wrong).tokens == tokens


def test_ids_that_differ_in_other_ways_are_no_shift():
    order = [*range(260), *range(len(SPM.tokens) - 1, 259, -1)]
    wrong = replace(SPM, tokens=[SPM.tokens[id] for id in order])
    texts = (*LETTERS, "d e")
    targets = [Target(one, one, False, False, tuple(Encoder(SPM).encode(one, add_special=False))) for one in texts]
    assert not list(shifts(Evidence(wrong, Encoder(wrong), Opened(IdsOnly(Encoder(SPM))), targets)))
