"""What a measure costs, and when one is better than another."""

from dataclasses import replace

import pytest

from support.bare_tokenizer import Bare
from support.spec_maker import bpe_spec
from tokverify.case import Case
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import AUTO, NATIVE, PYTHON, available_engine
from tokverify.engine.engine_choice import VARIABLE as ENGINE
from tokverify.repair.budget import Budget
from tokverify.repair.fix.measure import (
    BYTES,
    CASES,
    DECODING,
    DECODING_TEXTS,
    TEXTS,
    TYPES,
    Measure,
    Measuring,
)
from tokverify.report.fix import FINDINGS, UNCONFIRMED
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


def test_a_candidate_that_llama_cpp_refuses_improves_nothing():
    spec = bpe_spec(["a b"])
    measuring = Measuring(Declaration(spec=spec), "m", Opened(Bare(Encoder(spec))), [], Budget())
    loaded, refused = measuring.measure(spec), measuring.measure(replace(spec, pre="unknown"))
    assert refused.refusal
    assert not refused.improves(loaded)
    assert loaded.improves(refused)
    assert loaded.counts.keys() == refused.counts.keys()


@pytest.mark.parametrize(
    ("cases", "decoding", "improves"),
    [(-2, 0, True), (-2, 2, True), (-2, 3, False), (0, -1, True), (0, 1, False), (1, -9, False)],
)
def test_what_decodes_differently_may_be_as_many_texts_more_as_match_at_last(cases: int, decoding: int, improves: bool):
    assert measure({CASES: cases, DECODING_TEXTS: decoding}).improves(measure({})) is improves


@pytest.mark.parametrize(("texts", "types", "improves"), [(-2, 2, True), (-2, 3, False), (0, 1, False)])
def test_as_many_types_may_differ_more_as_tokens_have_the_right_text_at_last(texts: int, types: int, improves: bool):
    assert measure({BYTES: texts, TYPES: types}).improves(measure({})) is improves


def measure(changes: dict[str, int]) -> Measure:
    counts = dict.fromkeys((CASES, TEXTS, DECODING, DECODING_TEXTS, BYTES, TYPES), 9)
    none = {FINDINGS: 0, UNCONFIRMED: 0}
    compared = {name: count + changes.get(name, 0) for name, count in counts.items()}
    return Measure(compared, lambda: none, frozenset({DECODING, DECODING_TEXTS, FINDINGS}), (), None)
