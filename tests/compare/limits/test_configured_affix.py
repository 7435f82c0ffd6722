"""What a file adds around a text is right if the class of its reference adds it, whatever the tokenizer.json does."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.limits import added, assert_different, assert_limit, bpe_document, verify, write_json
from support.spec_maker import CONTROL, bpe_spec
from tokverify.commands.tasks.fix import fix_model
from tokverify.report.fix import fix_exit_code
from tokverify.report.tokenizer_difference import Aspect, Origin
from tokverify.sources.gguf.writer import write_gguf

MARKERS = ("<bos>", "<eos>", "<turn>")
MODEL = bpe_spec(["a b"], dict.fromkeys(MARKERS, CONTROL), special_ids={"bos": 257, "eos": 258}, add_bos=True)
TEXTS = ("ab", "b<turn>a")
SAYS = {"bos_token": "<bos>", "eos_token": "<eos>", "add_bos_token": True, "add_eos_token": False}


def reference(tmp_path: Path, name: str, *, before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> Path:
    """Write a tokenizer.json that adds tokens around a text, and a configuration that says to add BOS only."""
    tokens = [added(MODEL.tokens.index(text), text) for text in MARKERS]
    first, last = ([{"SpecialToken": {"id": text, "type_id": 0}} for text in side] for side in (before, after))
    template = {
        "type": "TemplateProcessing",
        "single": [*first, {"Sequence": {"id": "A", "type_id": 0}}, *last],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            text: {"id": text, "ids": [MODEL.tokens.index(text)], "tokens": [text]} for text in (*before, *after)
        },
    }
    write_json(tmp_path / "tokenizer_config.json", {**SAYS, "tokenizer_class": name})
    return write_json(tmp_path / "tokenizer.json", bpe_document(MODEL, tokens, post_processor=template))


@pytest.mark.parametrize(
    ("name", "before", "after", "code"),
    [
        ("LlamaTokenizerFast", (), (), "TL027"),  # as DeepSeek-Coder's
        ("CohereTokenizer", ("<bos>",), ("<turn>", "<eos>"), "TL018"),  # as Command R+'s
        ("GemmaTokenizer", (), ("<eos>",), "TL027"),
    ],
)
def test_a_file_that_adds_what_the_class_adds_is_right(tmp_path: Path, name, before, after, code):
    path = reference(tmp_path, name, before=before, after=after)
    report = verify(MODEL, path, TEXTS, add_special=True)
    assert_limit(report, code)
    (around, *_) = (each for each in report.differences if each.aspect is Aspect.AFFIXES)
    assert (around.severity.name, around.origin) == ("WARNING", Origin.REFERENCE)
    write_gguf(tmp_path / "model.gguf", MODEL)
    fixed = fix_model(tmp_path / "model.gguf", None, path)
    assert (fixed.repair, fix_exit_code(fixed)) == (None, 0)


def test_a_class_that_follows_the_tokenizer_json_explains_nothing(tmp_path: Path):
    path = reference(tmp_path, "PreTrainedTokenizerFast")
    assert_different(verify(MODEL, path, TEXTS, add_special=True))


@pytest.mark.parametrize(
    "changes", [{"special_ids": {"bos": 259, "eos": 258}}, {"add_eos": True}, {"add_bos": False, "add_eos": True}]
)
def test_a_file_that_adds_another_token_is_different(tmp_path: Path, changes):
    path = reference(tmp_path, "LlamaTokenizerFast")
    assert_different(verify(replace(MODEL, **changes), path, TEXTS, add_special=True))


def test_a_fault_beside_it_is_found(tmp_path: Path):
    path = reference(tmp_path, "LlamaTokenizerFast")
    assert_different(verify(replace(MODEL, merges=[]), path, TEXTS, add_special=True))
