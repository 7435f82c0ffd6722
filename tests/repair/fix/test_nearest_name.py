"""The name of a pre-tokenizer that repairs all failing cases is written, even if it splits another text differently."""

import json
from pathlib import Path

import pytest

from support.rule_maker import bpe_json
from support.spec_maker import bpe_spec
from tokverify.case import Case
from tokverify.commands.tasks.fix import fix_model
from tokverify.commands.tasks.run import verify_model
from tokverify.report.fix import fix_exit_code
from tokverify.sources.gguf.writer import write_gguf

# Kimi's pattern keeps Han letters apart and splits words before capitals; no name of llama.cpp stands for both.
HAN, LOWER = r"[\p{Han}]+", r"[\p{Ll}&&[^\p{Han}]]"
PATTERN = rf"{HAN}| ?\p{{Lu}}?{LOWER}+| ?\p{{Lu}}+|\p{{N}}{{1,3}}|[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)|\s+"
MERGES = ["Ġ ä", "a B"]
SPLIT = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


@pytest.mark.process
def test_the_name_is_written_and_what_is_left_is_said(tmp_path: Path):
    spec = bpe_spec(MERGES, pre="gpt-4o")
    stages = {"type": "Sequence", "pretokenizers": [SPLIT, BYTE_LEVEL]}
    reference = tmp_path / "tokenizer.json"
    reference.write_text(json.dumps(bpe_json(spec, merges=MERGES, pre_tokenizer=stages)))
    write_gguf(tmp_path / "model.gguf", spec)
    cases = [Case(id=text, suite="made", text=text, add_special=False) for text in ("a 中", "b 中", "aB")]
    report = verify_model(tmp_path / "model.gguf", reference, cases, diagnose=True)
    assert [result.case.text for result in report.results if result.fails] == ["a 中", "b 中"]
    named = next(each for each in report.diagnosis.explanations if each.is_repair)
    assert (named.kind, named.explained, named.broken) == ("pre", 2, 1)
    fixed = fix_model(tmp_path / "model.gguf", tmp_path / "fixed.gguf", reference, cases)
    assert fixed.repair.sentence == named.sentence
    assert (fixed.after.fail, fix_exit_code(fixed)) == (1, 1)
