"""Another tokenizer at hand that contradicts the reference does not go unmentioned."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tokverify.commands.tasks.fix as fix_task
from support.rule_maker import bpe_json, good_bpe
from tokverify.case import Case
from tokverify.commands.tasks.fix import fix_model
from tokverify.commands.tasks.run import verify_model
from tokverify.errors import TokverifyError
from tokverify.render.fix import verdict
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.fix import FixReport
from tokverify.sources.gguf.writer import write_gguf
from tokverify.spec import TokenizerSpec

pytestmark = pytest.mark.process  # takes seconds
BPE = good_bpe()
OTHER = replace(BPE, merges=list(BPE.merges or ())[1:])
THIRD = replace(BPE, merges=list(BPE.merges or ())[2:])
CASES = [Case(id=text, suite="s", text=text) for text in ("ab a", "ab", "12", "x")]


def _document(spec: TokenizerSpec) -> str:
    return json.dumps(bpe_json(spec, merges=spec.merges or ()))


def fix(directory: Path, spec: TokenizerSpec, *, beside_model: TokenizerSpec | None = None) -> FixReport:
    """Repair a file with a reference elsewhere, and perhaps another tokenizer beside the file."""
    (directory / "publisher").mkdir()
    reference = directory / "publisher" / "tokenizer.json"
    reference.write_text(_document(BPE))
    if beside_model:
        (directory / "tokenizer.json").write_text(_document(beside_model))
    write_gguf(directory / "model.gguf", spec)
    return fix_model(directory / "model.gguf", directory / "fixed.gguf", str(reference), CASES)


@pytest.mark.parametrize("beside", [None, BPE])
def test_tokenizers_that_agree_are_not_mentioned(tmp_path: Path, beside: TokenizerSpec | None):
    assert fix(tmp_path, OTHER, beside_model=beside).others == ()


def test_no_repair_is_searched_for_if_a_file_agrees_with_a_tokenizer_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fix_task, "make_plan", None)
    with pytest.raises(TokverifyError, match=r"not repaired: the file agrees with .*disagrees about 2 of 4 cases"):
        fix(tmp_path, OTHER, beside_model=OTHER)
    assert not (tmp_path / "fixed.gguf").exists()
    report = verify_model(tmp_path / "model.gguf", tmp_path / "publisher" / "tokenizer.json", CASES, diagnose=True)
    assert "the reference of another version of the model" in report.undiagnosed


@pytest.mark.parametrize("spec", [BPE, THIRD], ids=["intact", "repaired"])
def test_a_tokenizer_beside_the_model_that_disagrees_is_reported(tmp_path: Path, spec: TokenizerSpec):
    report = fix(tmp_path, spec, beside_model=OTHER)
    (other,) = report.others
    path = str(tmp_path / "tokenizer.json")
    assert (other.source, other.cases, other.disputed, other.differing) == (path, 4, 2, 2)
    shown = " ".join(FORMATS["fix"]["table"](report, RenderOptions()).split())
    warning = f"warning {path} and the reference encode 2 of 4 cases differently; it and the file that is left, 2"
    assert warning.replace(" ", "") in shown.replace(" ", "")
    assert verdict(report).endswith(f"; {path} disagrees")


def test_an_unrelated_tokenizer_in_the_same_folder_is_not_mentioned(tmp_path: Path):
    unrelated = replace(BPE, tokens=[*BPE.tokens[1:256], BPE.tokens[0], *BPE.tokens[256:]])
    assert fix(tmp_path, OTHER, beside_model=unrelated).others == ()


@pytest.mark.parametrize("spec", [BPE, THIRD], ids=["agrees", "agrees with none"])
def test_a_tokenizer_beside_the_reference_counts_too(tmp_path: Path, spec: TokenizerSpec):
    (tmp_path / "publisher").mkdir()
    for name, other in (("tokenizer.json", BPE), ("model.tokenizer.json", OTHER)):
        (tmp_path / "publisher" / name).write_text(_document(other))
    write_gguf(tmp_path / "model.gguf", spec)
    reference = str(tmp_path / "publisher" / "model.tokenizer.json")
    if spec is BPE:
        with pytest.raises(TokverifyError, match=r"not repaired: the files of the reference contradict each other"):
            fix_model(tmp_path / "model.gguf", None, reference, CASES)
        return
    report = fix_model(tmp_path / "model.gguf", None, reference, CASES)
    assert [Path(other.source).name for other in report.others] == ["tokenizer.json"]
