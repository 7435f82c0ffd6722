"""The name that llama.cpp's converter gives a pattern is written, although llama.cpp splits other texts differently."""

import json
from pathlib import Path

import pytest

from support.rule_maker import bpe_json
from support.spec_maker import bpe_spec
from tokverify.case import Case
from tokverify.commands.tasks.fix import fix_model
from tokverify.commands.tasks.run import verify_model
from tokverify.render.run.verdict import effect
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.original_pattern import ORIGINALS

MERGES = ["Ġ ä", "a b", "A B", "ab AB"]
SPLIT = {"type": "Split", "pattern": {"Regex": ORIGINALS["kimi-k2"]}, "behavior": "Isolated", "invert": False}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


@pytest.mark.process
@pytest.mark.slow
def test_the_name_is_written_and_what_is_left_is_said(tmp_path: Path):
    spec = bpe_spec(MERGES, pre="gpt-4o")
    stages = {"type": "Sequence", "pretokenizers": [SPLIT, BYTE_LEVEL]}
    reference = tmp_path / "tokenizer.json"
    reference.write_text(json.dumps(bpe_json(spec, merges=MERGES, pre_tokenizer=stages)))
    write_gguf(tmp_path / "model.gguf", spec)
    cases = [Case(id=text, suite="made", text=text, add_special=False) for text in ("a 中", "b 中", "abAB")]
    report = verify_model(tmp_path / "model.gguf", reference, cases, diagnose=True)
    assert [result.case.text for result in report.results if result.fails] == ["a 中", "b 中"]
    named = next(each for each in report.diagnosis.explanations if each.is_repair)
    assert (named.kind, named.explained, named.broken) == ("pre", 2, 0)
    fixed = fix_model(tmp_path / "model.gguf", tmp_path / "fixed.gguf", reference, cases)
    assert fixed.repair.sentence == named.sentence
    assert (fixed.after.fail, fixed.after.explained) == (0, 1)


TWO_DIGITS = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


@pytest.mark.process
def test_a_name_that_leaves_only_limits_is_written_although_no_case_matches_with_it(tmp_path: Path):
    spec = bpe_spec(["2 3", "a b"], pre="llama-bpe")
    split = {**SPLIT, "pattern": {"Regex": TWO_DIGITS}}
    stages = {"type": "Sequence", "pretokenizers": [split, BYTE_LEVEL]}
    reference = tmp_path / "tokenizer.json"
    reference.write_text(json.dumps(bpe_json(spec, merges=["2 3", "a b"], pre_tokenizer=stages)))
    write_gguf(tmp_path / "model.gguf", spec)
    cases = [Case(id=text, suite="made", text=text, add_special=False) for text in ("123", "ab 1234", "ab")]
    report = verify_model(tmp_path / "model.gguf", reference, cases, diagnose=True)
    assert [result.case.text for result in report.results if result.fails] == ["123", "ab 1234"]
    (named,) = report.diagnosis.explanations
    assert (named.kind, named.explained, named.unexplained, named.is_repair) == ("pre", 0, (), True)
    assert "leaves only limits of llama.cpp in 2 of 2 failing cases" in effect(named, report.diagnosis)
    fixed = fix_model(tmp_path / "model.gguf", tmp_path / "fixed.gguf", reference, cases)
    assert fixed.repair.sentence == named.sentence
    assert (fixed.after.match, fixed.after.fail, fixed.after.explained) == (1, 0, 2)
