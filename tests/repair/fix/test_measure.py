"""What a measure costs."""

import pytest

from support.bare_tokenizer import Bare
from support.spec_maker import bpe_spec
from tokverify.case import Case
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import AUTO, NATIVE, PYTHON, available_engine
from tokverify.engine.engine_choice import VARIABLE as ENGINE
from tokverify.repair.budget import Budget
from tokverify.repair.fix.measure import Measuring
from tokverify.sources.gguf.declaration import Declaration


def cost(*texts: str) -> int:
    spec, budget = bpe_spec(["a b"]), Budget()
    before = budget.left
    cases = [Case(id=str(index), suite="s", text=text) for index, text in enumerate(texts)]
    Measuring(Declaration(spec=spec), "m", Opened(Bare(Encoder(spec))), cases, budget).measure(spec)
    return before - budget.left


@pytest.mark.parametrize("engine", [AUTO, PYTHON])
def test_long_texts_cost_more(monkeypatch, engine):
    monkeypatch.setenv(ENGINE, engine)
    assert 0 < cost("ab") * 2 == cost("ab", "a") < cost("ab", "a" * 1000) < cost("ab", "a" * 9000)


@pytest.mark.skipif(available_engine().name != NATIVE, reason="the native engine is not installed")
def test_the_python_engine_costs_more(monkeypatch):
    costs = []
    for engine in (AUTO, PYTHON):
        monkeypatch.setenv(ENGINE, engine)
        costs.append(cost("ab", "a" * 1000))
    assert costs[0] < costs[1]
