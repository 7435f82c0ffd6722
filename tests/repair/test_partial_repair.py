"""An explanation that GGUF can express in part: the repair is that part, and the report says what is left."""

from dataclasses import replace

import pytest

from support.explanation_maker import explanation
from tokverify.engine.deviation import Deviation
from tokverify.repair.change import TokenizerChange
from tokverify.repair.repair import add_repairs
from tokverify.report.diagnosis import Diagnosis, Explanation, command_line
from tokverify.report.run import Report
from tokverify.report.side import Side

PRE = TokenizerChange(kind="pre", sentence="setting pre", cost=1.0, gguf_command="gguf-new-metadata MODEL FIXED")
SEP = replace(PRE, kind="sep_id", sentence="setting sep")
NFC = TokenizerChange(kind="nfc", sentence="normalizing", cost=1.0, deviation=Deviation(normalizers=(str,)))


def repairs(*explanations: Explanation) -> list[tuple[str, list[str]]]:
    sides = (Side("m", "m.gguf"), Side("tokenizers", "r.json"))
    options = {"model": "m.gguf", "reference": "r.json"}
    report = Report(*sides, vocabulary=None, results=(), options=options, diagnosis=Diagnosis(explanations, 1, 1))
    found = add_repairs(report).diagnosis
    assert found is not None
    return [(each.repair.remark, list(map(command_line, each.repair.commands))) for each in found.explanations]


def test_a_change_is_split_into_what_gguf_can_express_and_the_rest():
    found = PRE.then(NFC).then(SEP).split()
    assert found is not None
    can, cannot = found
    assert (can.sentence, can.expressible) == ("setting pre, and setting sep", True)
    assert (cannot.sentence, cannot.expressible) == ("normalizing", False)
    single = PRE.then(NFC).split()
    assert single is not None
    assert single[0].gguf_command == PRE.gguf_command


@pytest.mark.parametrize("change", [PRE, NFC, PRE.then(SEP)])
def test_a_change_of_one_kind_is_not_split(change: TokenizerChange):
    assert change.split() is None


def test_the_part_that_gguf_can_express_has_a_command():
    part = explanation(expressible=False, expressible_part="setting sep", inexpressible_part="normalizing")
    ((remark, commands),) = repairs(part)
    assert remark == "GGUF can express only a part: setting sep; the runtime would have to do the rest: normalizing"
    assert commands == ["tokverify fix m.gguf -r r.json -o m-fixed.gguf"]


def test_an_explanation_that_gguf_can_express_is_repaired_before_a_part_of_another():
    part = explanation(expressible=False, expressible_part="setting sep", inexpressible_part="normalizing")
    (_, first), (_, second) = repairs(part, explanation())
    assert first == []
    assert second == ["tokverify fix m.gguf -r r.json -o m-fixed.gguf"]


def test_a_combination_is_promised_only_as_far_as_nothing_gets_worse():
    ((remark, commands),) = repairs(explanation(kind="charsmap+types"))
    assert (
        remark == "tokverify fix leaves out a part that makes anything else worse, such as types of tokens, and says so"
    )
    assert len(commands) == 1
