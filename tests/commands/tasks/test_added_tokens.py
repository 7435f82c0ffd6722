"""A .model with added tokens that only the files beside it declare: what `convert` writes is right everywhere."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.sentencepiece_maker import train_model
from tokverify.case import Case
from tokverify.commands.cli import main
from tokverify.commands.tasks.fix import fix_model
from tokverify.commands.tasks.run import verify_model
from tokverify.report.finding import ERROR, INFO
from tokverify.report.fix import FixReport, fix_exit_code
from tokverify.report.run import Status
from tokverify.report.tokenizer_difference import Aspect
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.sentencepiece.reader import append_tokens, read_with_added_tokens
from tokverify.sources.sentencepiece.reader import read_spec as read_model
from tokverify.spec import TokenType

ADDED = {"<|im_start|>": 90, "<|im_end|>": 91, "<tool>": 92}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.model").write_bytes(
        train_model(vocab_size=90, model_type="unigram", user_defined_symbols=[".", "-"])
    )
    (tmp_path / "added_tokens.json").write_text(json.dumps(ADDED))
    decoder = {str(id): {"content": text, "special": text != "<tool>"} for text, id in ADDED.items()}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder}))
    return tmp_path


def run(*arguments: str) -> int:
    return CliRunner().invoke(main, arguments).exit_code


@pytest.mark.process
def test_a_converted_file_passes_every_command(folder: Path):
    made, source = str(folder / "made.gguf"), str(folder / "tokenizer.model")
    assert run("convert", source, "-o", made) == 0
    assert list(read_spec(made).tokens[90:]) == list(ADDED)
    codes = {command: run(command, made, "-r", source) for command in ("run", "check", "audit", "fix")}
    assert codes == dict.fromkeys(codes, 0)


@pytest.mark.process
def test_the_file_of_the_converter_is_faithful(folder: Path):
    made, source = folder / "made.gguf", folder / "tokenizer.model"
    declared = {id: (text, 4 if text == "<tool>" else 3) for text, id in ADDED.items()}
    write_gguf(made, append_tokens(read_model(source), declared))
    assert run("run", str(made), "-r", str(source)) == 0


@pytest.mark.process
def test_markers_that_only_added_tokens_json_lists_may_be_control_tokens(folder: Path):
    made, source = folder / "made.gguf", folder / "tokenizer.model"
    (folder / "tokenizer_config.json").unlink()
    declared = {id: (text, 4 if text == "<tool>" else 3) for text, id in ADDED.items()}
    write_gguf(made, append_tokens(read_model(source), declared))
    # The library finds <|im_start|> in every text, and <s> in none, so no text with both is encoded alike.
    case = Case(id="both", suite="made", text="<s>a<|im_start|>")
    report = verify_model(made, source, [case])
    (result,) = report.results
    assert (result.status, result.explained_by) == (Status.MISMATCH, ("TL002",))


CASES = [Case(id=text, suite="made", text=text, add_special=False) for text in ("the <tool> fox", "<tool>", "fox")]


@pytest.mark.process
def test_markers_that_only_added_tokens_json_lists_have_no_type_to_repair(folder: Path):
    """Converters write them as USER_DEFINED, publishers also as CONTROL; llama.cpp finds both in texts."""
    made, source = folder / "made.gguf", folder / "tokenizer.model"
    (folder / "tokenizer_config.json").unlink()
    right = read_with_added_tokens(source)
    write_gguf(made, replace(right, types=[*(right.types or ())[:90], 3, 3, 3]))
    report = fix_model(made, None, source, CASES)
    assert report.repair is None
    assert "types of tokens" not in [check.name for check in report.checks if check.before]


@pytest.mark.process
def test_stripping_by_the_name_of_the_model_is_a_limit_where_added_tokens_json_is_all_that_lists_tokens(folder: Path):
    """llama.cpp strips spaces after the markers of Phi-3, as its tokenizer_config.json says, and no other file."""
    made, source = folder / "made.gguf", folder / "tokenizer.model"
    source.write_bytes(train_model(vocab_size=90, model_type="bpe", remove_extra_whitespaces=False))
    right = read_with_added_tokens(source)
    # It refuses the name without this token.
    named = append_tokens(read_model(source), {90: ("<|im_start|>", 3), 91: ("<|im_end|>", 3), 92: ("<tool>", 3)})
    named = replace(named, tokens=[*named.tokens, "<|endoftext|>"], general={"name": "Phi-3"})
    named = replace(named, types=[*(named.types or ()), 3], scores=[*(right.scores or ()), -1000.0])
    write_gguf(made, named)
    (folder / "tokenizer_config.json").unlink()
    case = Case(id="marker", suite="made", text="<|im_start|> fox", add_special=False)
    assert verify_model(made, source, [case]).results[0].explained_by == ("TL007",)


@pytest.mark.process
def test_added_tokens_with_the_ids_of_each_other_are_exchanged(folder: Path):
    made, fixed, source = folder / "made.gguf", folder / "fixed.gguf", folder / "tokenizer.model"
    right = read_with_added_tokens(source)
    write_gguf(made, replace(right, tokens=[*right.tokens[:90], "<|im_end|>", "<|im_start|>", "<tool>"]))
    failing = [found for found in verify_model(made, source, CASES).differences if found.severity == ERROR]
    assert [(found.aspect, found.ids) for found in failing] == [(Aspect.BYTES, (90, 91))]
    assert failing[0].message.startswith("ids 90 and 91 are swapped")
    assert fix_exit_code(fix_model(made, fixed, source, CASES)) == 0
    assert list(read_spec(fixed).tokens[90:]) == list(ADDED)


def compare_behind(folder: Path, tokens: list[str], listed: list[str]) -> list[tuple[Aspect, tuple[int, ...]]]:
    """Return the errors of a file with some tokens behind those of its model, where added_tokens.json lists others."""
    made, source = folder / "made.gguf", folder / "tokenizer.model"
    (folder / "tokenizer_config.json").unlink()
    model = read_model(source)
    size = len(model.tokens)
    (folder / "added_tokens.json").write_text(json.dumps({text: size + at for at, text in enumerate(listed)}))
    write_gguf(
        made, append_tokens(model, {size + at: (text, TokenType.USER_DEFINED) for at, text in enumerate(tokens)})
    )
    found = verify_model(made, source, CASES).differences
    return [(each.aspect, tuple(id - size for id in each.ids)) for each in found if each.severity == ERROR]


@pytest.mark.process
def test_reserved_tokens_that_only_added_tokens_json_lists_are_right(folder: Path):
    listed = ["<|reserved_special_token_0|>", "<unused0>"]
    assert compare_behind(folder, listed, listed) == []


@pytest.mark.process
def test_a_token_with_another_text_than_in_added_tokens_json_is_reported_once(folder: Path):
    assert compare_behind(folder, ["<|wrong|>"], ["<|listed|>"]) == [(Aspect.BYTES, (0,))]


@pytest.mark.process
def test_tokens_that_a_file_lacks_are_appended(folder: Path):
    made, fixed, source = folder / "made.gguf", folder / "fixed.gguf", folder / "tokenizer.model"
    write_gguf(made, read_model(source))
    fix_model(made, fixed, source, CASES)
    assert list(read_spec(fixed).tokens[90:]) == list(ADDED)


TEMPLATE = (
    "{% for m in messages %}{{ '<|assistant|>' + m.content + '<|stop|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


@pytest.fixture
def chat_model(tmp_path: Path) -> Path:
    """A .model of merges; the files beside it add the token that ends turns, and call `</s>` not special."""
    source = tmp_path / "tokenizer.model"
    source.write_bytes(train_model(vocab_size=300, model_type="bpe", byte_fallback=True))
    special = {"<|assistant|>": (300, False), "<|stop|>": (301, True), "</s>": (2, False)}
    config = {
        "add_bos_token": True,
        "add_eos_token": False,
        "eos_token": "<|stop|>",
        "chat_template": TEMPLATE,
        "added_tokens_decoder": {str(id): {"content": text, "special": flag} for text, (id, flag) in special.items()},
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [300, 301]}))
    return source


def write_chat(source: Path, **changes: object) -> Path:
    """Write what llama.cpp's converter makes of it."""
    spec = append_tokens(read_model(source), {300: ("<|assistant|>", 3), 301: ("<|stop|>", 3)})
    types = list(spec.types or ())
    types[2] = TokenType.USER_DEFINED
    special_ids = {**spec.special_ids, "eos": 301}
    made = source.with_name("made.gguf")
    write_gguf(made, replace(spec, **{"types": types, "special_ids": special_ids, **changes}))
    return made


def fix(made: Path, source: Path) -> FixReport:
    texts = ("<|assistant|>the fox<|stop|>", "the</s>", "fox", "the fox jumps over the dog")
    cases = [Case(id=text, suite="made", text=text) for text in texts]
    return fix_model(made, None, source, cases)


@pytest.mark.process
def test_nothing_is_repaired_where_files_beside_a_model_name_its_eos_and_types(chat_model: Path):
    made = write_chat(chat_model)
    (end,) = [each for each in verify_model(made, chat_model, []).differences if each.aspect is Aspect.ENDS]
    # <|assistant|> begins answers, so it ends none, although generation_config.json names it.
    assert (end.severity, '300 "<|assistant|>"' in end.message) == (INFO, True)
    report = fix(made, chat_model)
    assert report.repair is None
    assert fix_exit_code(report) == 0


@pytest.mark.process
def test_another_eos_than_that_of_the_files_beside_a_model_is_found(chat_model: Path):
    made = write_chat(chat_model, special_ids={"unk": 0, "bos": 1, "eos": 2})
    messages = [each.message for each in verify_model(made, chat_model, []).differences]
    assert 'eos is 2 "</s>" in the model, but 301 "<|stop|>" in the reference' in messages
    assert fix_exit_code(fix(made, chat_model)) == 1


@pytest.mark.process
def test_the_type_of_a_token_that_only_files_beside_a_model_declare_is_compared(chat_model: Path):
    types = list(append_tokens(read_model(chat_model), {300: ("<|assistant|>", 1), 301: ("<|stop|>", 3)}).types or ())
    report = fix(write_chat(chat_model, types=types), chat_model)
    (check,) = [each for each in report.checks if each.name == "types of tokens"]
    assert check.before == 1


@pytest.mark.process
def test_a_user_defined_piece_that_the_converter_leaves_ordinary_is_a_fault(tmp_path: Path):
    source, made = tmp_path / "tokenizer.model", tmp_path / "made.gguf"
    source.write_bytes(
        train_model(vocab_size=300, model_type="bpe", byte_fallback=True, user_defined_symbols=["[DOC]"])
    )
    spec = read_model(source)
    assert TokenType.USER_DEFINED in (spec.types or ())
    types = [TokenType.NORMAL if type == TokenType.USER_DEFINED else type for type in spec.types or ()]
    write_gguf(made, replace(spec, types=types))
    report = verify_model(made, source, [Case(id="doc", suite="made", text="the [DOC]")])
    (difference,) = [each for each in report.differences if each.aspect is Aspect.TYPES]
    assert difference.severity is ERROR
    assert "a type that llama.cpp's converter loses when it reads a .model" in difference.message
