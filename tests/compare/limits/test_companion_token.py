"""A file has the added tokens that only the files beside its reference list, as transformers does."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from support.limits import added, assert_different, assert_limit, bpe_document, verify, write_json
from support.spec_maker import CONTROL, USER_DEFINED, bpe_spec
from tokverify.case import Case
from tokverify.compare.opened import Opened
from tokverify.references import open_reference
from tokverify.repair.fix.fixing import make_plan, to_report
from tokverify.report.finding import ERROR
from tokverify.report.fix import fix_exit_code
from tokverify.sources.config import find_left_out
from tokverify.sources.gguf.declaration import Declaration
from tokverify.spec import TokenType

BASE = bpe_spec(["a b"], {"<turn>": CONTROL})
AUDIO = len(BASE.tokens)
MODEL = bpe_spec(["a b"], {"<turn>": CONTROL, "<audio>": CONTROL}, special_ids={"eos": AUDIO - 1})
TEXTS = ("ab<audio>b", "<turn><audio>", "ab")


def reference(tmp_path: Path, name: str = "tokenizer_config.json") -> Path:
    """Write a tokenizer.json that lacks a token which another file beside it lists."""
    listed = {
        "tokenizer_config.json": {"added_tokens_decoder": {str(AUDIO): {"content": "<audio>", "special": True}}},
        "added_tokens.json": {"<audio>": AUDIO},
    }
    write_json(tmp_path / "special_tokens_map.json", {"eos_token": "<turn>"})
    write_json(tmp_path / name, listed[name])
    turn = BASE.tokens.index("<turn>")
    return write_json(tmp_path / "tokenizer.json", bpe_document(BASE, [added(turn, "<turn>")]))


@pytest.mark.parametrize("name", ["tokenizer_config.json", "added_tokens.json"])
@pytest.mark.parametrize("type", [CONTROL, USER_DEFINED])
def test_a_token_that_only_another_file_lists_is_a_limit(tmp_path: Path, name: str, type: int):
    model = replace(MODEL, types=[*(MODEL.types or ())[:-1], type])
    report = verify(model, reference(tmp_path, name), TEXTS)
    assert_limit(report, "TL028")
    (applied,) = report.limits
    assert f'only the files beside the reference list {AUDIO} "<audio>"' in applied.message


def test_another_token_is_a_fault(tmp_path: Path):
    renamed = bpe_spec(["a b"], {"<turn>": CONTROL, "<video>": CONTROL})
    assert_different(verify(renamed, reference(tmp_path), ("ab<video>b",)))
    moved = bpe_spec(["a b"], {"<turn>": CONTROL, "<video>": CONTROL, "<audio>": CONTROL})
    assert_different(verify(moved, reference(tmp_path), TEXTS))


def displacing(tmp_path: Path) -> Path:
    """Write a tokenizer.json beside the tokenizer_config.json of another, which has `<audio>` at the id of a piece."""
    found = reference(tmp_path)
    listed = {"0": {"content": "<audio>", "special": True}}
    write_json(tmp_path / "tokenizer_config.json", {"added_tokens_decoder": listed})
    return found


def test_a_token_listed_at_the_id_of_another_is_appended_as_transformers_does(tmp_path: Path):
    report = verify(MODEL, displacing(tmp_path), TEXTS)
    assert_limit(report, "TL028")
    assert f'only the files beside the reference list {AUDIO} "<audio>"' in report.limits[0].message


def listing(tmp_path: Path, **texts: str) -> Mapping[int, str]:
    """Return what is left out beside a tokenizer_config.json that lists these texts, by ids such as `id5`."""
    found = displacing(tmp_path)
    listed = {id.removeprefix("id"): {"content": text, "special": True} for id, text in texts.items()}
    write_json(tmp_path / "tokenizer_config.json", {"added_tokens_decoder": listed})
    return find_left_out(open_reference(found).tokenizer)


def test_all_tokens_are_appended_in_the_order_of_their_listed_ids(tmp_path: Path):
    listed = {"id2": "<a>", "id3": "<b>", f"id{AUDIO}": "<c>"}
    assert listing(tmp_path, **listed) == {AUDIO: "<a>", AUDIO + 1: "<b>", AUDIO + 2: "<c>"}


def test_nothing_is_appended_if_another_added_token_is_there(tmp_path: Path):
    """One of the two files is wrong, and a right model has this token at the id that they both give it."""
    assert listing(tmp_path, **{f"id{AUDIO - 1}": "<|im_start|>"}) == {}


def test_a_model_without_a_displaced_token_is_right(tmp_path: Path):
    report = verify(replace(BASE, special_ids=MODEL.special_ids), displacing(tmp_path), TEXTS)
    assert not [each.message for each in report.differences if each.ids]
    assert not report.limits


def test_a_displaced_token_with_another_text_is_a_fault(tmp_path: Path):
    renamed = bpe_spec(["a b"], {"<turn>": CONTROL, "<video>": CONTROL})
    assert_different(verify(renamed, displacing(tmp_path), ("ab<video>b",)))


@pytest.mark.parametrize("write", [reference, displacing])
def test_nothing_is_repaired(tmp_path: Path, write: Callable[[Path], Path]):
    found = open_reference(write(tmp_path))
    cases = [Case(id="audio", suite="s", text="ab<audio>b", parse_special=True)]
    plan = make_plan(Path("m.gguf"), Declaration(spec=MODEL), Opened(found.tokenizer, found.path), cases)
    assert plan.change is None
    report = to_report(plan)
    assert fix_exit_code(report) == 0
    assert report.not_compared == ("chat template",)


@pytest.mark.parametrize(
    ("name", "expected"), [("tokenizer_config.json", CONTROL), ("added_tokens.json", USER_DEFINED)]
)
def test_an_ordinary_token_that_another_file_adds_is_a_fault(tmp_path: Path, name: str, expected: int):
    """An image is not seen whose `<|image_pad|>` is split into letters, and no case of a library shows it."""
    model = replace(MODEL, types=[*(MODEL.types or ())[:-1], TokenType.NORMAL])
    path = reference(tmp_path, name)
    report = verify(model, path, ("ab",))
    (found,) = (each for each in report.differences if each.severity == ERROR)
    assert "is an ordinary token in the model, but an added one by the files beside the reference" in found.message
    opened = open_reference(path)
    cases = [Case(id="plain", suite="s", text="ab")]
    plan = make_plan(Path("m.gguf"), Declaration(spec=model), Opened(opened.tokenizer, opened.path), cases)
    repair = to_report(plan).repair
    assert repair is not None
    assert repair.inferred_tokens == 0
    assert plan.change is not None
    assert list(plan.change.transform(model).types or ())[-1] == expected
