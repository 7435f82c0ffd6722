"""Each row of the table in docs/parity.md: a file that only llama.cpp or only tokverify loads."""

import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from hostile.llama_cpp import ask_llama_cpp
from hostile.parity import ENGINES
from support.gguf_maker import make_gguf, numbers, string, strings, uint32
from support.paths import ROOT, SAMPLE
from support.selection import thinned
from support.spec_file import write_spec
from support.spec_maker import BYTE, BYTE_PIECES, bpe_spec, spec_of, spm_spec
from tokverify.commands.cli import main
from tokverify.engine.byte_level import byte_alphabet
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import VARIABLE
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError, TokverifyError
from tokverify.references.llama_cpp import LlamaCppTokenizer
from tokverify.references.llama_cpp_library import Library
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.patch import write_patched
from tokverify.spec import MAX_TOKENS, TokenizerSpec
from tokverify.text.utf8 import to_text

GGUF = SAMPLE / "sample.gguf"
ARCHITECTURE, MODEL, TOKENS = "general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.tokens"


def unknown_architecture(path: Path) -> None:
    write_patched(GGUF, path, {ARCHITECTURE: string("nonsense")})


def no_architecture(path: Path) -> None:
    write_patched(GGUF, path, {ARCHITECTURE: None, "general.name": string("x")})


def name_that_is_no_string(path: Path) -> None:
    write_patched(GGUF, path, {"general.name": uint32(7)})


def other_byte_order(path: Path) -> None:
    fields = {ARCHITECTURE: string("llama"), MODEL: string("bert"), TOKENS: strings(["[UNK]", "[CLS]", "[SEP]", "▁a"])}
    path.write_bytes(make_gguf(fields, order=">"))


def long_token_of_plamo(path: Path) -> None:
    tokens = ["<|plamo:unk|>", *BYTE_PIECES, "a", "".join(map(chr, range(0x4E00, 0x4E00 + 5_000)))]
    write_spec(spec_of("plamo2", tokens, dict.fromkeys(BYTE_PIECES, BYTE), scores=[0.0] * 259), path)


def cpp_hybrid(path: Path) -> None:
    write_spec(bpe_spec(["a b"], {"<|endoftext|>": 3}), path)
    write_patched(path.rename(path.with_name("bpe.gguf")), path, {MODEL: string("cpp-hybrid")})


def more_scores_than_tokens(path: Path) -> None:
    scores = [*(read_spec(GGUF).scores or ()), 1.0]
    write_patched(GGUF, path, {"tokenizer.ggml.scores": numbers(ValueType.FLOAT32, scores)})


def score_that_is_no_number(path: Path) -> None:
    write_spec(spm_spec({"a": float("nan")}), path)


def template_that_is_no_string(path: Path) -> None:
    write_patched(GGUF, path, {"tokenizer.chat_template": strings(["a"])})


def merges_of_another_type(path: Path) -> None:
    write_patched(GGUF, path, {"tokenizer.ggml.merges": numbers(ValueType.BOOL, [True])})


def no_tokens(path: Path) -> None:
    path.write_bytes(make_gguf({ARCHITECTURE: string("llama"), MODEL: string("rwkv"), TOKENS: strings([])}))


def no_tokenizer(path: Path) -> None:
    write_patched(GGUF, path, {MODEL: string("none")})


def too_many_tokens(path: Path) -> None:
    tokens = ["[UNK]", "[CLS]", "[SEP]", *map(str, range(MAX_TOKENS))]
    path.write_bytes(make_gguf({ARCHITECTURE: string("llama"), MODEL: string("bert"), TOKENS: strings(tokens)}))


SLOW = "a vocabulary of PLaMo with tokens of thousands of characters"
ROWS: dict[str, tuple[Callable[[Path], None], bool, str]] = {
    "`general.architecture` that llama.cpp does not know": (unknown_architecture, True, "TV130"),
    "no `general.architecture`": (no_architecture, True, "TV130"),
    "`general.name` that is not a string": (name_that_is_no_string, True, ""),
    "the other byte order": (other_byte_order, True, ""),
    SLOW: (long_token_of_plamo, True, ""),
    "`tokenizer.ggml.model` is `cpp-hybrid`": (cpp_hybrid, True, ""),
    "more scores or types than tokens": (more_scores_than_tokens, False, "TV105"),
    "a score that is not a number": (score_that_is_no_number, False, "TV100"),
    "a chat template that is not a string": (template_that_is_no_string, False, "TV100"),
    "merges, or a charsmap, that are of another type and that the family does not use": (
        merges_of_another_type,
        False,
        "TV100",
    ),
    "a vocabulary of RWKV without a token": (no_tokens, False, ""),
    "`tokenizer.ggml.model` is `no_vocab`, `none` or `test`": (no_tokenizer, False, ""),
    "more than 1,048,576 tokens, or anything else beyond a [limit](limits.md)": (too_many_tokens, False, ""),
}
"""The first column -> what makes the file, whether tokverify loads it, and the rule that reports it."""


def test_the_table_has_exactly_these_rows():
    page = (ROOT / "docs" / "parity.md").read_text("utf-8")
    table = page.partition("\n## ")[0]
    cells = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")]
    assert cells[2:] == list(ROWS)


@pytest.mark.parametrize("row", thinned(2, sorted(ROWS.keys() - {SLOW})))
def test_only_one_of_the_two_loads_the_file(tmp_path: Path, library: Library, row: str):
    make, is_loaded, code = ROWS[row]
    path = tmp_path / "model.gguf"
    make(path)
    if is_loaded:
        assert Encoder(read_spec(path)).encode("a", add_special=False, parse_special=True)
        with pytest.raises(BrokenFileError, match=r"llama\.cpp cannot load it"):
            LlamaCppTokenizer(path, library)
    else:
        with pytest.raises(TokverifyError):
            Encoder(read_spec(path))
        LlamaCppTokenizer(path, library).close()
    if code:
        page = (ROOT / "docs" / "parity.md").read_text("utf-8")
        assert re.search(rf"^\| {re.escape(row)} \|.*{code}", page, re.MULTILINE)
        result = CliRunner().invoke(main, ["audit", str(path), "-f", "json"])
        assert f'"{code}"' in result.stdout, result.output


@pytest.mark.slow
def test_only_llama_cpp_takes_very_long_to_load_long_tokens_of_plamo(tmp_path: Path):
    path = tmp_path / "model.gguf"
    ROWS[SLOW][0](path)
    assert Encoder(read_spec(path)).encode("a", add_special=False, parse_special=True)
    assert "s of processor time" in ask_llama_cpp(path).refusal


@pytest.mark.parametrize("kind", [kind for kind in ValueType if kind not in {ValueType.STRING, ValueType.ARRAY}])
def test_merges_that_are_not_strings_are_refused_by_both(tmp_path: Path, library: Library, kind: ValueType):
    tokens = [byte_alphabet()[byte] for byte in range(256)]
    fields = {ARCHITECTURE: string("llama"), MODEL: string("gpt2"), "tokenizer.ggml.pre": string("gpt-2")}
    path = tmp_path / "model.gguf"
    path.write_bytes(make_gguf({**fields, TOKENS: strings(tokens), "tokenizer.ggml.merges": numbers(kind, [1, 0])}))
    with pytest.raises(BrokenFileError, match=f"ARRAY of {kind.name}, must be ARRAY of STRING"):
        read_spec(path)
    with pytest.raises(BrokenFileError, match=r"llama\.cpp cannot load it"):
        LlamaCppTokenizer(path, library)


def spec_with_token(model: str, token: str, type: int) -> TokenizerSpec:
    """Return a small vocabulary of a family with a token of a type."""
    types = {**dict.fromkeys(BYTE_PIECES, BYTE), token: type}
    bpe = bpe_spec(["a b"], {token: type}, tokens=[token])
    specs = {
        "llama": lambda: spm_spec({"a": -1.0, token: -2.0}, {token: type}),
        "gpt2": lambda: bpe,
        "escaping spaces": lambda: replace(bpe, pre="gemma4"),
        "whitespace": lambda: replace(bpe, model="whitespace"),
        "hybriddna": lambda: replace(bpe, model="hybriddna"),
        "bert": lambda: spec_of("bert", ["[UNK]", "[CLS]", "[SEP]", "▁a", token], {token: type}),
        "plamo2": lambda: spec_of("plamo2", ["<|plamo:unk|>", *BYTE_PIECES, "a", token], types, scores=[0.0] * 259),
    }
    return specs[model]()


BEYOND_UNICODE = [
    data.decode("utf-8", "surrogateescape")
    for data in (b"\xf4\x90\x80\x80", b"a\xf7\xbf\xbf\xbf", b"\xf5\x80\x80\x80b")
]
FAMILIES = ["llama", "gpt2", "escaping spaces", "whitespace", "hybriddna", "bert", "plamo2"]


@pytest.mark.parametrize("token", BEYOND_UNICODE)
@pytest.mark.parametrize("type", thinned(3, [1, 3, 4, 5]))
@pytest.mark.parametrize("model", FAMILIES)
def test_characters_beyond_unicode_are_refused_where_llama_cpp_refuses_them(
    tmp_path: Path, library: Library, model: str, type: int, token: str
):
    path = tmp_path / "model.gguf"
    write_spec(spec_with_token(model, token, type), path)
    spec = read_spec(path)
    refusals = []
    for load in (lambda: resolve(spec, library.build), lambda: LlamaCppTokenizer(path, library).close()):
        try:
            load()
        except BrokenFileError:
            refusals.append(True)
        else:
            refusals.append(False)
    assert refusals[0] == refusals[1]


@pytest.mark.parametrize("token", BEYOND_UNICODE)
@pytest.mark.parametrize(("model", "is_refused"), [("llama", False), ("bert", False), ("gpt2", True), ("plamo2", True)])
def test_b11739_loads_characters_beyond_unicode_that_earlier_builds_refuse(model: str, is_refused: bool, token: str):
    spec = spec_with_token(model, token, 1)
    # What b11739, and b11549 before it, did with these files.
    assert Encoder(spec, settings=resolve(spec, 11739)).encode("a") == Encoder(spec).encode("a")
    expected = pytest.raises(BrokenFileError, match=r"beyond U\+10FFFF") if is_refused else nullcontext()
    with expected:
        resolve(spec, 11548)


def test_a_byte_of_a_number_beyond_unicode_decodes_to_a_placeholder_of_its_own():
    spec = spec_with_token("gpt2", "a\udcf7\udcbf\udcbf\udcbf", 1)
    id = spec.tokens.index("a\udcf7\udcbf\udcbf\udcbf")
    # What b11739 gave for this token.
    assert Encoder(spec).token_bytes(id) == b"a" + b"[UNK_BYTE_0xefbfbda\xf7\xbf\xbf\xbf]" * 4


@pytest.mark.parametrize(
    ("token", "b11549", "newest"),
    [
        (b"\xc0\xb5", b"5", b"[UNK_BYTE_0xefbfbd\xc0\xb5]" * 2),
        (b"a\xe0\x80\xb5b", b"a5b", b"a" + b"[UNK_BYTE_0xefbfbda\xe0\x80\xb5b]" * 3 + b"b"),
        (b"z\xc1\xbf", b"z[UNK_BYTE_0x7fz\xc1\xbf]", b"z" + b"[UNK_BYTE_0xefbfbdz\xc1\xbf]" * 2),
        (b"\xe0\x84\xa0y", b" y", b"[UNK_BYTE_0xefbfbd\xe0\x84\xa0y]" * 3 + b"y"),
        (b"\xed\xa0\x80x", b"[UNK_BYTE_0xeda080\xed\xa0\x80x]x", b"[UNK_BYTE_0xeda080\xed\xa0\x80x]x"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_overlong_sequences_in_tokens_decode_as_the_build_does(engine, token, b11549, newest, monkeypatch):
    monkeypatch.setenv(VARIABLE, engine)
    spec = spec_with_token("gpt2", to_text(token), 1)
    id = spec.tokens.index(to_text(token))
    # The former are what b11549 gave for these tokens.
    for build, expected in ((11549, b11549), (None, newest)):
        encoder = Encoder(spec, settings=resolve(spec, build))
        assert encoder.decode([id]) == encoder.bytes_of_tokens()[id] == expected
