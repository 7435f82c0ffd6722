"""Injected faults are found, diagnosed and repaired; docs/mutations.md lists all of them."""

from pathlib import Path

import pytest

from support.mutation import MUTATIONS, Mutation
from support.mutation_trial import is_here, try_mutation
from support.selection import thinned

QUICK = [mutation for mutation in MUTATIONS if mutation.vocabulary in {"sample", "rwkv", "plamo2"}]


def check(mutation: Mutation, directory: Path, *, with_fuzz: bool) -> None:
    if not is_here(mutation.vocabulary):
        pytest.skip(f"no vocabulary {mutation.vocabulary}")
    outcome = try_mutation(mutation, directory, with_fuzz=with_fuzz, with_bare=False)
    assert outcome.found
    assert outcome.right, outcome.best
    assert outcome.repaired


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize("mutation", thinned(9, QUICK), ids=lambda mutation: mutation.id)
def test_a_fault_in_a_small_vocabulary_is_repaired(mutation: Mutation, tmp_path: Path):
    check(mutation, tmp_path, with_fuzz=False)


@pytest.mark.slow  # large vocabularies and up to 30 seconds of fuzzing each
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.id)
def test_a_fault_in_any_vocabulary_is_repaired(mutation: Mutation, tmp_path: Path):
    check(mutation, tmp_path, with_fuzz=True)


def test_there_are_enough_mutations():
    assert len({mutation.id for mutation in MUTATIONS}) == len(MUTATIONS) >= 40
