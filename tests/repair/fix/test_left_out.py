"""A repair says why it does not contain what the diagnosis names."""

from dataclasses import dataclass, replace

import pytest

from support.spec_maker import spm_spec
from tokverify.repair.change import TokenizerChange
from tokverify.repair.fix.fixing import explain_left_out
from tokverify.repair.fix.measure import Measure
from tokverify.repair.search import DiagnosisResult
from tokverify.report.diagnosis import Diagnosis
from tokverify.spec import TokenizerSpec

SPEC = spm_spec({"a": 0.0}, add_bos=False)
BOS = TokenizerChange(
    kind="add_bos", sentence="turning add_bos on", cost=1.0, transform=lambda s: replace(s, add_bos=True)
)
EOS = TokenizerChange(
    kind="add_eos", sentence="turning add_eos on", cost=1.0, transform=lambda s: replace(s, add_eos=True)
)


def measure(types: int) -> Measure:
    return Measure({"cases": 0, "types of tokens": types}, dict, frozenset(), (), None)


@dataclass
class Measuring:
    types: int

    def measure(self, _: TokenizerSpec) -> Measure:
        return measure(self.types)


@pytest.mark.parametrize(
    ("types", "reason"),
    [
        (0, "makes no difference after the repair"),
        (3, "would add differences: types of tokens (3, not 0)"),
    ],
)
def test_each_change_that_is_not_made_has_a_reason(types, reason):
    result = DiagnosisResult(Diagnosis((), 1, 1), (BOS.then(EOS),))
    found = explain_left_out(result, [BOS], Measuring(types), BOS.transform(SPEC), measure(0))
    assert list(found) == [f"turning add_eos on: {reason}"]


def test_a_change_that_is_made_in_another_way_is_not_mentioned():
    result = DiagnosisResult(Diagnosis((), 1, 1), (BOS,))
    assert list(explain_left_out(result, [EOS], Measuring(0), BOS.transform(SPEC), measure(0))) == []
    assert list(explain_left_out(None, [EOS], Measuring(0), SPEC, measure(0))) == []
