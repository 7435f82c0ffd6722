"""The compiled module neither panics nor contradicts itself, whatever tables, bytes and lengths it gets."""

import random

import pytest

from hostile.native_boundary import run
from tokverify.engine.engine_choice import NATIVE, available_engine

SEEDS = 400


@pytest.mark.skipif(available_engine().name != NATIVE, reason="no native engine")
def test_hostile_calls_are_answered_or_refused():
    for seed in range(SEEDS):
        run(random.Random(seed))  # noqa: S311
