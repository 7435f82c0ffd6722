"""Decoded text of the C++ hybrid tokenizer encodes to the same ids, and decoded diffs can be applied."""

import difflib
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cpp_maker import train_cpp
from tokverify.cases.loading import select_cases
from tokverify.commands.tasks.run import verify_model
from tokverify.engine.encoder import Encoder
from tokverify.engine.models.cpp.joiner import write_line
from tokverify.explain.explanation import explain
from tokverify.explain.inspection import find_tokens, inspect
from tokverify.report.run import run_exit_code
from tokverify.sources.load import load_model
from tokverify.train.presets import cpp_tokenizer
from tokverify.train.presets.cpp_tokenizer import CppTokenizer

SYSTEM_HEADERS = Path("/usr/include/c++")
PARTS = [
    *"+-/*\"'\\a<>#=&|_é._ \t\n", "++", "--", "->", "//", "/*", "'a'", '"x y"', "int", "  ", "\n\n", "EOS", "##",
    "include", "@@", "a/", "b/", "---", "+++", "diff", "--git", "42", "1'000", "0x1f", "<DIFF_ADD>", "%d", "u8",
    "<EOS>", "-42,6", "\\n", "\n \n", "\u00a0",
]  # fmt: skip


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_cpp(tmp_path_factory.mktemp("cpp"))


@pytest.fixture(scope="module")
def encoder(gguf: Path) -> Encoder:
    return load_model(gguf)


@pytest.mark.parametrize("parse_special", [True, False])
@given(parts=st.lists(st.sampled_from(PARTS), max_size=14))
def test_the_ids_survive_decoding(encoder: Encoder, parts: list[str], parse_special: bool):
    ids = encoder.encode("".join(parts), parse_special=parse_special)
    decoded = encoder.decode(ids).decode()
    assert encoder.encode(decoded, parse_special=parse_special) == ids


@pytest.mark.slow
@pytest.mark.skipif(not SYSTEM_HEADERS.is_dir(), reason="needs the headers of a C++ compiler")
def test_the_ids_of_real_headers_survive_decoding(encoder: Encoder):
    files = sorted(path for path in SYSTEM_HEADERS.rglob("*") if path.is_file())[::12]
    texts = [path.read_text("utf-8", errors="replace") for path in files]
    changed = [path for path, text in zip(files, texts, strict=True) if not _survives(encoder, text)]
    assert changed == []


def _survives(encoder: Encoder, text: str) -> bool:
    ids = encoder.encode(text)
    return encoder.encode(encoder.decode(ids).decode()) == ids


def test_only_the_spaces_that_matter_are_inserted():
    assert write_line(["x", "=", '"a', "+", 'b"', ";"]) == 'x="a + b";'
    assert write_line(["a", "-", "-", "b"]) == "a- -b"
    assert write_line(["int", "x", "=", "1", ";"]) == "int x=1;"


def test_a_long_literal_is_written_at_once():
    words = ['"a', *["+", "b"] * 500, 'c"']
    assert write_line(words) == " ".join(words)


@pytest.mark.process
@pytest.mark.skipif(not shutil.which("patch"), reason="needs `patch`")
@pytest.mark.parametrize("seed", range(6))
def test_a_decoded_diff_can_be_applied(encoder: Encoder, tmp_path: Path, seed: int):
    choose = random.Random(seed)  # noqa: S311 - texts, not secrets
    source = ["int x = 1;", "return x - 1;", "", "// a comment", "}", "#include <vector>", "x += -1;", "", "f(a, b);"]
    lines = [f"{line}\n" for line in choose.choices(source, k=60)]
    old = encoder.decode(encoder.encode("".join(lines))).decode()
    changed = [line for line in lines if choose.random() > 0.1 or line == "\n"]
    changed.insert(choose.randrange(40), "added_line = 3;\n")
    new = encoder.decode(encoder.encode("".join(changed))).decode()
    diff = "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "a/f.h", "b/f.h"))
    decoded = encoder.decode(encoder.encode(diff))
    assert encoder.encode(decoded) == encoder.encode(diff)
    (tmp_path / "f.h").write_text(old)
    subprocess.run(["patch", "-p1", "-s"], cwd=tmp_path, input=decoded, check=True)  # noqa: S607
    assert (tmp_path / "f.h").read_text() == new


@pytest.mark.process
def test_a_batch_in_several_processes_has_the_same_ids(gguf: Path, monkeypatch: pytest.MonkeyPatch):
    tokenizer = CppTokenizer(gguf)
    texts = [f"int x{index} = {index}; // <EOS>" for index in range(50)]
    expected = tokenizer.encode_ordinary_batch(texts, num_threads=1)
    monkeypatch.setattr(cpp_tokenizer, "WORTHWHILE", 100)
    monkeypatch.setattr(cpp_tokenizer.os, "cpu_count", lambda: 4)
    assert cpp_tokenizer.choose_processes(texts, 3) == 3
    assert tokenizer.encode_ordinary_batch(texts, num_threads=3) == expected


def test_few_texts_are_encoded_in_this_process():
    assert cpp_tokenizer.choose_processes(["a"] * 100, 8) == 1


def test_every_token_has_a_category(encoder: Encoder):
    category = encoder.settings.family.token_category
    found = {id: category(id, encoder.piece(id)) for id in (0, 19, 20, 110, 120, 180, 220, 320, 562, 1520, 1536, 1600)}
    assert found == {
        0: "special tokens", 19: "special tokens", 20: "keywords", 110: "reserved", 120: "operators",
        180: "preprocessor directives", 220: "punctuation", 320: "library names", 562: "numbers", 1520: "diff markers",
        1536: "newlines", 1600: "bytes",
    }  # fmt: skip
    assert category(1968, encoder.piece(1968)) == "learned"


def test_inspect_and_explain_show_categories(encoder: Encoder):
    summary = {category.name: category.count for category in inspect(encoder.spec).categories}
    assert (summary["keywords"], summary["operators"], summary["numbers"], summary["bytes"]) == (90, 30, 1000, 368)
    assert sum(summary.values()) == encoder.vocab_size
    (listed,) = find_tokens(encoder.spec, "120")
    assert listed.category == "operators"
    explained = explain(encoder, "int x::y;")
    assert [token.category for token in explained.tokens][:3:2] == ["keywords", "operators"]


def test_reserved_tokens_are_no_difference_from_the_tokenizer_json(gguf: Path):
    report = verify_model(gguf, gguf.with_name("tokenizer.json"), select_cases(suites=["cpp-hybrid"]))
    assert run_exit_code(report) == 0
