"""The step-by-step trainer: the example of the SheepOp document, ties, and agreement with HuggingFace's trainer."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.train.merge_learner import MergeLearner, Step, Ties, merge_pair


def trace(chunks: list[str], count: int, ties: Ties = Ties.IDS, min_frequency: int = 1) -> list[Step]:
    steps: list[Step] = []
    list(MergeLearner(chunks, ties).learn(count, min_frequency, steps.append, traced=count))
    return steps


def learn_literally(text: str, count: int, min_frequency: int, ties: Ties) -> list[tuple[int, int]]:
    """Learn merges from one chunk exactly as the equations say."""
    ids, merges = list(text.encode()), []
    for new_id in range(256, 256 + count):
        counts = Counter(pairwise(ids))
        if not counts or max(counts.values()) < min_frequency:
            break
        most = [pair for pair, number in counts.items() if number == max(counts.values())]
        pair = min(most) if ties is Ties.IDS else most[0]
        ids = merge_pair(ids, pair, new_id)
        merges.append(pair)
    return merges


def test_the_example_of_section_3_4():
    first, second = trace(["aaab"], 2, Ties.FIRST)
    assert first == Step((((97, 97), 2), ((97, 98), 1)), 2, (97, 97), 256, (256, 97, 98), 3)
    assert (dict(second.counts), second.pair, second.new_id, second.tokens) == (
        {(256, 97): 1, (97, 98): 1},
        (256, 97),
        257,
        (257, 98),
    )


def test_ties_go_to_the_lowest_ids_or_to_the_first_occurrence():
    assert trace(["aaab"], 2)[1].pair == (97, 98)
    assert trace(["zy", "ab"], 1)[0].pair == (97, 98)
    assert trace(["zy", "ab"], 1, Ties.FIRST)[0].pair == (ord("z"), ord("y"))


def test_a_pair_that_is_too_rare_ends_the_training():
    assert len(trace(["ab", "ab", "cd"], 5, min_frequency=2)) == 1


def test_the_tokens_at_the_beginning_and_the_total_are_those_after_the_merge():
    (step,) = trace(["ab", "c", "ab"], 1)
    assert (step.tokens, step.total) == ((256, 99, 256), 3)


def test_two_ways_to_form_a_piece_share_its_id():
    learner = MergeLearner(["abc"] * 4 + ["bcx"] * 9 + ["aby"] * 5, Ties.IDS)
    merges = list(learner.learn(10, 1))
    pieces = [left + right for left, right in merges]
    assert len(set(pieces)) <= 10


@pytest.mark.parametrize("ties", Ties)
@given(text=st.text("abc", min_size=1, max_size=40), count=st.integers(1, 12), least=st.integers(1, 3))
def test_the_queue_chooses_as_the_equations_do(ties: Ties, text: str, count: int, least: int):
    steps = trace([text], count, ties, least)
    distinct = learn_literally(text, count, least, ties)
    learned = [step.pair for step in steps]
    # Where two pairs form the same piece, the ids differ from then on.
    if len({step.new_id for step in steps}) == len(steps):
        assert learned[: len(distinct)] == distinct


@given(ids=st.lists(st.integers(0, 2), max_size=12))
def test_merging_never_overlaps(ids: list[int]):
    merged = merge_pair(ids, (0, 0), 9)
    assert [id for piece in merged for id in ((0, 0) if piece == 9 else (piece,))] == ids
