"""Files and references as people have them are judged and repaired as each scenario says; see docs/mutations.md."""

from pathlib import Path

import pytest

from support.scenarios import SCENARIOS, Scenario, try_scenario

QUICK = {"the reference is sorted by text", "a merge copied the base model's EOS"}


@pytest.mark.process
@pytest.mark.parametrize(
    "scenario",
    [pytest.param(each, id=each.name, marks=() if each.name in QUICK else pytest.mark.slow) for each in SCENARIOS],
)
def test_a_scenario_is_judged_and_repaired_as_it_should_be(scenario: Scenario, tmp_path: Path):
    trial = try_scenario(scenario, tmp_path)
    assert trial.missing == []
    assert trial.fix == scenario.fix
