from functools import reduce

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tokverify.corpus.result import (
    EXAMPLES,
    CauseTally,
    Example,
    GroupTally,
    Place,
    ReasonTally,
    Tally,
    UnitResult,
    add,
)

PLACES = st.builds(Place, st.sampled_from("ab"), st.integers(-1, 9), st.just("text"))
HASHES = st.text("0123456789abcdef", min_size=2, max_size=2)
# The content of an example depends only on its hash, as it does for real documents.
EXAMPLES_MADE = st.builds(lambda hash, place: Example(hash, place, f"text {hash}", (1,), (2,)), HASHES, PLACES)


@st.composite
def documents(draw):
    """Make the tally of one document."""
    place, cause = draw(PLACES), draw(st.sampled_from(["", "x", "y"]))
    differs = int(bool(cause))
    if draw(st.booleans()):
        return Tally(unreadable=1, reasons={"r": ReasonTally(1, (place,))}, sources={place.path: GroupTally(0, 0, 1)})
    group = GroupTally(1, differs)
    causes = {cause: CauseTally(1, (draw(EXAMPLES_MADE),))} if cause else {}
    return Tally(documents=1, differing=differs, causes=causes, sources={place.path: group}, scripts={"Latin": group})


@given(st.lists(documents(), max_size=30), st.randoms(), st.integers(0, 30))
def test_the_sum_does_not_depend_on_order_and_grouping(tallies, random, cut):
    whole = reduce(add, tallies, Tally())
    random.shuffle(tallies)
    assert add(reduce(add, tallies[:cut], Tally()), reduce(add, tallies[cut:], Tally())) == whole
    assert list(whole.causes) == sorted(whole.causes)
    assert sum(cause.documents for cause in whole.causes.values()) == whole.differing


@given(st.lists(EXAMPLES_MADE, max_size=20))
def test_the_examples_with_the_smallest_hashes_are_kept(examples):
    total = reduce(add, (Tally(causes={"x": CauseTally(1, (example,))}) for example in examples), Tally())
    kept = total.causes["x"].examples if examples else ()
    assert [example.hash for example in kept] == sorted({example.hash for example in examples})[:EXAMPLES]


@given(st.lists(documents(), max_size=9))
def test_results_survive_json(tallies):
    result = UnitResult("p", "u", reduce(add, tallies, Tally()), 0.5)
    assert msgspec.json.decode(msgspec.json.encode(result), type=UnitResult) == result
