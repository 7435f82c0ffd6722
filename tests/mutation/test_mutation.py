"""Faults are found, named and repaired; docs/mutations.md has all of them in one table."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mutation import MUTATIONS, Mutation
from trial import is_here, try_mutation

QUICK = [mutation for mutation in MUTATIONS if mutation.vocabulary in {"sample", "rwkv", "plamo2"}]
REST = [mutation for mutation in MUTATIONS if mutation not in QUICK]
ONLY_DECODING = "sample: BYTE typed NORMAL"
"""Changes no ids, so that no diagnosis is made of it."""


def check(mutation: Mutation, directory: Path, *, with_fuzz: bool) -> None:
    if not is_here(mutation.vocabulary):
        pytest.skip(f"no vocabulary {mutation.vocabulary}")
    outcome = try_mutation(mutation, directory, with_fuzz=with_fuzz)
    assert outcome.found
    if mutation.id != ONLY_DECODING:
        assert outcome.right, outcome.diagnosis
        assert outcome.repaired


@pytest.mark.parametrize("mutation", QUICK, ids=lambda mutation: mutation.id)
def test_a_fault_of_a_small_vocabulary(mutation: Mutation, tmp_path: Path):
    check(mutation, tmp_path, with_fuzz=False)


@pytest.mark.slow  # large vocabularies, up to ten seconds each
@pytest.mark.parametrize("mutation", REST, ids=lambda mutation: mutation.id)
def test_a_fault_of_a_real_vocabulary(mutation: Mutation, tmp_path: Path):
    check(mutation, tmp_path, with_fuzz=True)


def test_there_are_enough():
    assert len({mutation.id for mutation in MUTATIONS}) == len(MUTATIONS) >= 40
