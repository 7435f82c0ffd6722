"""Types that a tokenizer.json declares are repaired as its conversion would write them, and count as verified."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.limits import added
from support.rule_maker import gemma_json
from support.sentencepiece_maker import train_model
from tokverify.case import Case
from tokverify.commands.tasks.fix import fix_model
from tokverify.compare.opened import Opened
from tokverify.references import open_reference
from tokverify.repair.type_change import converted_types
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.sentencepiece.reader import read_spec as read_sentencepiece
from tokverify.spec import TokenizerSpec, TokenType

NORMAL, CONTROL, USER_DEFINED = TokenType.NORMAL, TokenType.CONTROL, TokenType.USER_DEFINED
TOKENS = ["<unk>", "<bos>", "▁", "▁▁", "a", "▁a", "<unused0>", "\t\t", *"<>unsed0b", "ab", "bb", "abb"]


@pytest.mark.process
def test_runs_that_merges_make_stay_ordinary_and_unused_tags_become_control_tokens(tmp_path: Path):
    right = [TokenType.UNKNOWN, CONTROL, NORMAL, NORMAL, NORMAL, NORMAL, CONTROL, USER_DEFINED]
    spec = TokenizerSpec(
        model="gemma4",
        tokens=TOKENS,
        types=[type.value for type in right] + [NORMAL.value] * 12,
        merges=["▁ ▁", "▁ a", "a b", "b b", "ab b"],  # not "a bb", so the order of merges cannot be scores
        special_ids={"unk": 0, "bos": 1},
    )
    document = gemma_json(
        TOKENS,
        spec.merges or (),
        [added(1, "<bos>"), *(added(id, TOKENS[id], special=False) for id in (3, 6, 7))],
        pre_tokenizer={"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
        post_processor={
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<bos>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<bos>": {"id": "<bos>", "ids": [1], "tokens": ["<bos>"]}},
        },
        decoder={"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    )
    reference = tmp_path / "tokenizer.json"
    reference.write_text(json.dumps(document))
    types = [NORMAL.value if id in (6, 7) else type for id, type in enumerate(spec.types or ())]
    write_gguf(tmp_path / "model.gguf", replace(spec, types=types))
    texts = ("a  a", "a<unused0>a", "a\t\ta")
    cases = [Case(id=str(at), suite="made", text=text, add_special=False) for at, text in enumerate(texts)]
    fixed = fix_model(tmp_path / "model.gguf", tmp_path / "fixed.gguf", reference, cases)
    assert list(read_spec(tmp_path / "fixed.gguf").types or ()) == list(spec.types or ())
    assert fixed.repair
    assert fixed.repair.inferred_tokens == 0


def test_the_pieces_of_a_sentencepiece_model_are_typed_as_it_declares(tmp_path: Path):
    # The converter makes markers control tokens only if a tokenizer_config.json adds them.
    path = tmp_path / "tokenizer.model"
    path.write_bytes(train_model(vocab_size=90, model_type="bpe", user_defined_symbols="<|user|>"))
    spec = read_sentencepiece(path)
    wrong = replace(spec, types=[NORMAL if type == USER_DEFINED else type for type in spec.types])
    found = open_reference(path)
    assert converted_types(wrong, spec.types, Opened(found.tokenizer, found.path)) == spec.types
    assert converted_types(wrong, spec.types, Opened(None)) != spec.types


def test_a_marker_that_the_converter_of_gemma_4_leaves_visible_stays_user_defined():
    markers = ["<|turn>", "<turn|>", "<|tool_call>", "<tool_call|>", '<|"|>', "<|other|>"]
    spec = TokenizerSpec(model="gemma4", tokens=["<bos>", *markers])
    expected = [CONTROL, *[USER_DEFINED] * 5, CONTROL]
    assert converted_types(spec, [CONTROL, *[USER_DEFINED] * 6], Opened(None)) == expected
    without_sign = replace(spec, tokens=['<|"|>', "a"])
    assert converted_types(without_sign, [USER_DEFINED, NORMAL], Opened(None)) == [CONTROL, NORMAL]
