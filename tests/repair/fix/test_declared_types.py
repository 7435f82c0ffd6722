"""Types that a tokenizer.json declares are repaired as its conversion would write them, and count as verified."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.limits import added, bpe_document
from support.made_vocabulary import bpe
from support.mutation import Mutate, cut_tokens, respelled
from support.rule_maker import gemma_json
from support.sentencepiece_maker import train_model
from support.spec_maker import bpe_spec
from tokverify.case import Case
from tokverify.commands.tasks.fix import fix_model
from tokverify.compare.convert.json_writer import write_json
from tokverify.compare.opened import Opened
from tokverify.references import open_reference
from tokverify.repair.type_change import converted_types
from tokverify.report.fix import fix_exit_code
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


def test_markers_that_a_configuration_added_to_a_sentencepiece_model_are_control_tokens(tmp_path: Path):
    """As in a file of Gemma 3 of which only the .model is at hand."""
    path = tmp_path / "tokenizer.model"
    symbols = ["<bos>", "<unused0>", "<unused1>", "<start_of_turn>", "<end_of_turn>", "[run]"]
    path.write_bytes(train_model(vocab_size=90, model_type="bpe", user_defined_symbols=symbols))
    spec = read_sentencepiece(path)
    own = {"<unused0>": CONTROL, "<unused1>": CONTROL, "<start_of_turn>": NORMAL, "[run]": NORMAL}
    wrong = replace(spec, types=[own.get(text, type) for text, type in zip(spec.tokens, spec.types, strict=True)])
    found = open_reference(path)
    types = converted_types(wrong, spec.types, Opened(found.tokenizer, found.path))
    expected = [CONTROL, CONTROL, CONTROL, CONTROL, USER_DEFINED]
    assert [types[spec.tokens.index(symbol)] for symbol in symbols[1:]] == expected


def test_a_marker_that_the_converter_of_gemma_4_leaves_visible_stays_user_defined():
    markers = ["<|turn>", "<turn|>", "<|tool_call>", "<tool_call|>", '<|"|>', "<|other|>"]
    spec = TokenizerSpec(model="gemma4", tokens=["<bos>", *markers])
    expected = [CONTROL, *[USER_DEFINED] * 5, CONTROL]
    assert converted_types(spec, [CONTROL, *[USER_DEFINED] * 6], Opened(None)) == expected
    without_sign = replace(spec, tokens=['<|"|>', "a"])
    assert converted_types(without_sign, [USER_DEFINED, NORMAL], Opened(None)) == [CONTROL, NORMAL]


@pytest.mark.parametrize("wrong", [respelled(lambda token: token.replace("|", "")), cut_tokens(15)])
def test_restored_markers_get_the_types_that_the_converter_gives_them(wrong: Mutate, tmp_path: Path):
    spec = bpe()
    reference = tmp_path / "tokenizer.json"
    write_json(reference, spec)
    document = json.loads(reference.read_text("utf-8"))
    for token in document["added_tokens"]:
        token["special"] &= token["content"] not in {"<|turn|>", "<|end|>"}
    reference.write_text(json.dumps(document), "utf-8")
    write_gguf(tmp_path / "model.gguf", wrong(spec))
    cases = [
        Case(id=f"{text}-{parse_special}", suite="made", text=text, parse_special=parse_special)
        for text in ("a<|turn|>b", "<|end|>", "<|endoftext|>")
        for parse_special in (True, False)
    ]
    fix_model(tmp_path / "model.gguf", tmp_path / "fixed.gguf", reference, cases)
    fixed = read_spec(tmp_path / "fixed.gguf")
    assert list(fixed.tokens) == list(spec.tokens)
    assert list(fixed.types or ()) == list(spec.types or ())


@pytest.mark.process
@pytest.mark.parametrize(
    ("texts", "ends"),
    [
        (["<|reserved_special_token_4|>"], []),
        (["<|stop|>"], ["<|stop|>"]),
        # The generation_config.json of Yi 34B Chat lists all that ChatML needs.
        (["<|im_start|>", "<|im_sep|>"], ["<|im_sep|>"]),
    ],
)
def test_no_reserved_token_and_none_that_marks_a_beginning_becomes_an_end(
    tmp_path: Path, texts: list[str], ends: list[str]
):
    spec = bpe_spec(["a b"], dict.fromkeys(["<eos>", *texts], CONTROL), special_ids={"eos": 257})
    ids = {text: id for id, text in enumerate(spec.tokens)}
    tokens = [added(ids[text], text) for text in ("<eos>", *texts)]
    (tmp_path / "tokenizer.json").write_text(json.dumps(bpe_document(spec, tokens)))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<eos>"}))
    listed = [ids[text] for text in ("<eos>", *texts)]
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": listed}))
    write_gguf(tmp_path / "model.gguf", spec)
    fixed = fix_model(tmp_path / "model.gguf", tmp_path / "fixed.gguf", tmp_path / "tokenizer.json")
    assert fix_exit_code(fixed) == 0
    made = read_spec(tmp_path / "fixed.gguf") if ends else spec
    assert sorted(id for role, id in made.special_ids.items() if role != "eos") == [ids[text] for text in ends]
