"""A change that explains all failing cases is named even if llama.cpp then deviates elsewhere."""

import json
from pathlib import Path

from support.rule_maker import bpe_json
from support.spec_maker import bpe_spec
from tokverify.case import Case
from tokverify.commands.tasks.run import verify_model
from tokverify.engine.byte_level import to_byte_level
from tokverify.sources.gguf.writer import write_gguf

# Kimi's pattern also ends a word before a capital, which llama.cpp's names that split at Han letters do not.
HAN = r"[\p{Han}]+"
LOWER, UPPER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
PATTERN = rf"{HAN}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*|\p{{N}}{{1,3}}|\s+"
LETTER = to_byte_level("東")
MERGES = (f"Ġ {LETTER[0]}", "y I")
SPLIT = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
TEXTS = ("a 東", "b 東", "c 東", "ById to")


def test_a_name_that_explains_everything_and_breaks_less_is_named(tmp_path: Path):
    spec = bpe_spec(MERGES, pre="gpt-4o")
    stages = {"type": "Sequence", "pretokenizers": [SPLIT, BYTES]}
    write_gguf(tmp_path / "model.gguf", spec)
    (tmp_path / "tokenizer.json").write_text(json.dumps(bpe_json(spec, merges=MERGES, pre_tokenizer=stages)))
    cases = [Case(id=text, suite="made", text=text, add_special=False) for text in TEXTS]
    report = verify_model(tmp_path / "model.gguf", tmp_path / "tokenizer.json", cases, diagnose=True)
    assert [result.case.text for result in report.results if result.fails] == list(TEXTS[:3])
    (best, *_) = report.diagnosis.explanations
    assert (best.kind, best.explained, best.failing, best.broken) == ("pre", 3, 3, 1)
