import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tokverify import load_gguf, load_model
from tokverify.commands.cli import main
from tokverify.compare.convert import convert
from tokverify.errors import BrokenFileError, EncodeError, UnsupportedError
from tokverify.references import open_reference
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.rwkv import read_spec
from tokverify.spec import TokenType

WORDS = [b"\n\n", b"ab", b"abc", b" f", b"\xc3\xa9", b"'", b"\xf0\x9f"]


def text_vocabulary(path: Path, tokens: list[bytes], first: int = 1) -> Path:
    """Write tokens as in rwkv_vocab_v20230424.txt: as text if they are UTF-8, and otherwise as bytes."""
    lines = []
    for id, token in enumerate(tokens, first):
        try:
            literal = repr(token.decode())
        except UnicodeDecodeError:
            literal = repr(token)
        lines.append(f"{id} {literal} {len(token)}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def path(tmp_path) -> Path:
    singles = [bytes([byte]) for byte in range(256) if bytes([byte]) not in WORDS]
    return text_vocabulary(tmp_path / "rwkv_vocab_v20230424.txt", [*singles, *WORDS])


def encode(tokenizer, text):
    return tokenizer.encode(text, add_special=False, parse_special=False)


def test_a_vocabulary_becomes_escaped_pieces(path):
    spec = read_spec(path)
    assert (spec.model, len(spec.tokens)) == ("rwkv", 263)
    assert spec.tokens[0] == "<s>"
    assert spec.tokens[1] == r"\x00"
    assert spec.tokens[256:] == [r"\n\n", "ab", "abc", " f", r"\xc3\xa9", "'", r"\xf0\x9f"]
    assert spec.types == [TokenType.CONTROL, *[TokenType.NORMAL] * 262]
    assert spec.special_ids == {"bos": 0, "eos": 0, "eot": 256}


def test_the_reference_takes_the_longest_token(path):
    found = open_reference(path)
    rwkv = found.tokenizer
    assert (rwkv.name, rwkv.vocab_size, rwkv.parses_special) == ("rwkv", 263, False)
    assert "published algorithm" in found.caveat
    assert len(found.sha256) == 64
    assert encode(rwkv, "abcab\n\n\n") == [258, 257, 256, ord("\n") + 1]
    assert [rwkv.piece(id) for id in encode(rwkv, "aé🦙")] == ["a", r"\xc3\xa9", r"\xf0\x9f", r"\xa6", r"\x99"]
    assert encode(rwkv, "") == []
    assert rwkv.decode([258, 260, 0]) == "abcé<s>".encode()
    assert (rwkv.piece(263), rwkv.token_bytes(263)) == ("", b"")


def test_errors_of_one_text(tmp_path):
    rwkv = open_reference(text_vocabulary(tmp_path / "v.txt", [b"a", b"bc"])).tokenizer
    with pytest.raises(EncodeError, match="no token begins with the byte 0x62"):
        encode(rwkv, "ab")
    with pytest.raises(EncodeError, match="no token with the id 3"):
        rwkv.decode([3])
    with pytest.raises(EncodeError, match="lone surrogate"):
        encode(rwkv, "\ud800")


def test_both_sides_agree(path):
    model, reference = load_model(path), open_reference(path).tokenizer
    for text in ("", "abcab  f'\n\n x", "é🦙\0\r\t\\", "aaabbbccc"):
        assert model.encode(text) == encode(reference, text)
        assert model.decode(model.encode(text)) == text.encode()
    run = CliRunner().invoke(main, ["run", str(path), "-r", str(path), "--suite", "seed", "-q"])
    assert (run.exit_code, run.stderr) == (0, "")
    encoded = CliRunner().invoke(main, ["encode", str(path), "abc", "--json"])
    assert json.loads(encoded.stdout)["ids"] == [258]


def test_a_converted_vocabulary_differs_only_by_the_text_of_the_id_0(path, tmp_path):
    done = convert(path, tmp_path / "out.gguf", count=300)
    assert (done.written, done.unexplained, done.kinds) == (True, 0, ("rwkv", "gguf"))
    assert [limit.code for limit in done.report.limits] == ["TL015"]
    made = load_gguf(tmp_path / "out.gguf")
    assert made.encode("abc<s>") == [258, 0]
    assert list(made.spec.tokens) == list(read_spec(path).tokens)


def test_gaps_are_unused(tmp_path):
    spec = read_spec(text_vocabulary(tmp_path / "v.txt", [b"a", b"\n"], first=3))
    assert spec.tokens == ["<s>", "[PAD1]", "[PAD2]", "a", r"\n"]
    assert spec.types[1:3] == [TokenType.UNUSED] * 2


@pytest.mark.parametrize("name", ["rwkv_vocab_v20230424.txt", "vocab.txt", "other"])
def test_it_is_recognized_by_its_content(path, name):
    renamed = path.rename(path.with_name(name))
    assert open_reference(renamed).tokenizer.name == "rwkv"
    assert read_spec(renamed).model == load_model(renamed).spec.model == "rwkv"
    if name != "other":
        assert open_reference(path.parent).tokenizer.name == "rwkv"


def test_the_chat_template_beside_it_is_the_references(path, tmp_path):
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].content }}\n\n")
    made = tmp_path / "made.gguf"
    write_gguf(made, replace(read_spec(path), chat_template="{{ messages[0].content }}"))
    tried = CliRunner().invoke(main, ["chat", str(made), "-r", str(path)])
    assert (tried.exit_code, "writes different white space" in " ".join(tried.stdout.split())) == (1, True), (
        tried.stdout
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"2 'b\0' 2", ":2: not an id, a token as a Python literal, and its length"),
        (b"2 '\\x1' 1", ":2: not an id, a token as a Python literal, and its length"),
        (b"2 '\\N{no}' 1", ":2: not an id, a token as a Python literal, and its length"),
        (b"2 'b' 2", ":2: 'b' has 1 byte, not 2 as it says"),
        (b"2 b 1", ":2: not an id"),
        (b"2 'b", ":2: not an id"),
        (b"2 '' 0", ":2: not an id"),
        (b"2 f'{1}' 1", ":2: not an id"),
        (b"2 'b' 'c' 2", ":2: not an id"),
        (b"2 __import__('os') 1", ":2: not an id"),
        (b"2 '\\d' 2", ":2: not an id"),
        (b"2 '\\ud800' 3", ":2: not an id"),
        (b"2 b'\\u0041' 6", ":2: not an id"),
        (b"2 '\xff' 1", ":2: not an id"),
        ("2 b'é' 2".encode(), ":2: not an id"),
        (b"2 '" + b"a" * 10_000 + b"' 10000", ":2: not an id"),
        (b"1 'b' 1", ":2: the id 1 is used twice"),
        (b"0 'b' 1", ":2: the id 0 is not between 1 and 1,048,575"),
        (b"9999999 'b' 1", ":2: the id 9999999 is not between"),
        (b"2 'a' 1", "two ids have the same token"),
    ],
)
def test_a_broken_line_gives_one_clear_line(tmp_path, line, problem):
    path = tmp_path / "v.txt"
    path.write_bytes(b"1 'a' 1\n" + line + b"\n")
    for read in (read_spec, open_reference):
        with pytest.raises(BrokenFileError, match=problem) as raised:
            read(path)
        assert str(raised.value).startswith(str(path))
        assert "\n" not in str(raised.value)


def test_a_file_or_a_token_that_is_too_large_is_refused(tmp_path):
    with pytest.raises(UnsupportedError, match=":1: a token of more than 1,024 bytes"):
        read_spec(text_vocabulary(tmp_path / "v.txt", [b"a" * 1025]))
    path = tmp_path / "v.txt"
    path.write_bytes(b"1 'a' 1\n" + b"\n" * (1 << 21))
    with pytest.raises(UnsupportedError, match="larger than 1,048,576 tokens or 16 MiB"):
        read_spec(path)
