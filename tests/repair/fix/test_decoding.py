"""Differences in decoding that only the reference's own decoder makes do not prevent success; others do."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from support.bare_tokenizer import Bare
from support.spec_maker import BYTE, spm_spec
from tokverify.case import Case
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.repair.fix.fixing import make_plan, to_report
from tokverify.report.fix import fix_exit_code
from tokverify.sources.gguf.declaration import Declaration
from tokverify.spec import TokenType

pytestmark = pytest.mark.process  # takes seconds
SPM = spm_spec({"▁": -5, "a": -1, "b": -2, "ab": -3, "▁a": -4})
CASES = [Case(id=text, suite="s", text=text, add_special=True) for text in ("ab", "é", " a")]


class Garbling(Bare):
    """Decodes texts that are not plain in a way that no change explains."""

    def decode(self, ids: Sequence[int]) -> bytes:
        text = super().decode(ids)
        return text if text.isascii() and len(ids) > len("ab") + 1 else text[::-1] + bytes(len(ids))


class Broken(Bare):
    """Decodes no text to itself."""

    def decode(self, ids: Sequence[int]) -> bytes:
        return b" " + super().decode(ids)


def test_byte_tokens_of_another_type_are_repaired_by_decoding_alone():
    types = [TokenType.NORMAL.value if type == BYTE else type for type in SPM.types]
    facts = Opened(Bare(Encoder(SPM)))
    plan = make_plan(Path("model.gguf"), Declaration(spec=replace(SPM, types=types)), facts, CASES)
    assert plan.before.verification().fail == 0
    assert plan.change.transform(SPM).types == SPM.types
    assert fix_exit_code(to_report(plan, is_written=True)) == 0


def test_decoding_that_nothing_explains_prevents_success():
    plan = make_plan(Path("model.gguf"), Declaration(spec=SPM), Opened(Garbling(Encoder(SPM))), CASES)
    assert plan.before.verification().fail == 0
    assert fix_exit_code(to_report(plan)) == 1


def test_a_decoder_that_restores_no_plain_text_is_not_the_fault_of_the_file():
    plan = make_plan(Path("model.gguf"), Declaration(spec=SPM), Opened(Broken(Encoder(SPM))), CASES)
    assert plan.change is None
    assert fix_exit_code(to_report(plan)) == 0
