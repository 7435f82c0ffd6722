import base64
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tokverify import load_model
from tokverify.commands.cli import main
from tokverify.compare.convert import convert
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.sources.tiktoken.reader import recover_merges
from tokverify.sources.tokenizer_file import file_of, kind_of_model, read_spec
from tokverify.spec import TokenType

BYTES = [bytes([byte]) for byte in range(256)]
WORDS = [b"fo", b"ox", b" f", b" fo", b" fox", b"12", b"123"]


@pytest.fixture
def make(tmp_path: Path):
    def write(*tokens: bytes, name: str = "small.tiktoken", shift: int = 0) -> Path:
        lines = (base64.b64encode(token) + b" %d\n" % (id + shift) for id, token in enumerate([*BYTES, *tokens]))
        (tmp_path / name).write_bytes(b"".join(lines))
        return tmp_path / name

    return write


def ranks(*tokens: bytes) -> dict[bytes, int]:
    return {token: rank for rank, token in enumerate([*BYTES, *tokens])}


def test_each_token_is_merged_from_the_two_tokens_found_by_lower_ranks():
    assert recover_merges(ranks(b"ab", b"bc", b"abc", b"cd", b"abcd")) == [
        (b"a", b"b"),
        (b"b", b"c"),
        # "ab" has a lower rank than "bc".
        (b"ab", b"c"),
        (b"c", b"d"),
        # "ab" and "bc" come before "cd", so "abc" is complete by then.
        (b"abc", b"d"),
    ]


def test_an_unreachable_token_has_no_merge():
    assert recover_merges(ranks(b"abc", b"bc")) == [(b"b", b"c")]


def test_a_file_becomes_a_byte_level_tokenizer(make):
    spec = read_spec(f"{make(*WORDS)}:gpt2")
    assert (spec.model, spec.pre, spec.add_bos, spec.add_eos) == ("gpt2", "gpt-2", False, False)
    assert spec.tokens[ord("a")] == "a"
    assert (spec.tokens[0], spec.tokens[258]) == ("Ā", "Ġf")
    assert spec.merges[:5] == ["f o", "o x", "Ġ f", "Ġ fo", "Ġfo x"]
    assert set(spec.types) == {TokenType.NORMAL}
    assert spec.special_ids == {}


@pytest.mark.parametrize(
    ("pattern", "pre"),
    [("gpt2", "gpt-2"), ("qwen", "qwen2"), ("llama3", "llama-bpe"), ("o200k_base", "granite-embed-multi-97m")],
)
def test_the_pattern_determines_the_pre_tokenizer(make, pattern, pre):
    assert read_spec(f"{make(*WORDS)}:{pattern}").pre == pre


def test_an_explicit_pattern_is_accepted(make):
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    assert read_spec(f"{make(*WORDS)}:{pattern}").pre == "gpt-2"


def test_a_token_without_a_merge_requires_a_pre_tokenizer_that_looks_up_whole_words(make):
    path = make(b"fox")
    assert read_spec(f"{path}:llama3").pre == "llama-bpe"
    with pytest.raises(UnsupportedError, match="no merge of two tokens produces some of the tokens"):
        read_spec(f"{path}:gpt2")


def test_a_config_next_to_it_declares_special_tokens_and_roles(make):
    path = make(*WORDS, name="qwen.tiktoken")
    config = {
        "added_tokens_decoder": {"270": {"content": "<|end|>"}},
        "eos_token": "<|end|>",
        "chat_template": "{{ x }}",
    }
    path.with_name("tokenizer_config.json").write_text(json.dumps(config))
    spec = read_spec(path)
    assert (spec.tokens[270], spec.types[270], spec.special_ids) == ("<|end|>", TokenType.CONTROL, {"eos": 270})
    assert (spec.tokens[269], spec.types[269]) == ("[PAD269]", TokenType.UNUSED)
    assert spec.chat_template == "{{ x }}"


@pytest.mark.parametrize(
    ("rest", "error", "problem"),
    [
        ("", UnsupportedError, "contains no pattern; add its name, as in .*small.tiktoken:cl100k_base"),
        (":nonsense", TokverifyError, "'nonsense' is neither a pattern"),
        (
            r":\w+|\W+",
            UnsupportedError,
            "the pattern: llama.cpp has no pre-tokenizer that splits texts like this; the most similar, ",
        ),
        (":(", UnsupportedError, "the pattern cannot be used"),
    ],
)
def test_an_unusable_pattern_gives_one_clear_line(make, rest, error, problem):
    with pytest.raises(error, match=problem) as raised:
        read_spec(f"{make(*WORDS)}{rest}")
    assert "\n" not in str(raised.value)


def test_implausible_ids_are_an_error(make):
    with pytest.raises(BrokenFileError, match="not a token in base64 and its id, which is below 1,048,576"):
        read_spec(f"{make(shift=2_000_000)}:gpt2")


def test_a_pattern_is_not_part_of_the_file_name(make, tmp_path):
    path = make(*WORDS)
    assert file_of(Path(f"{path}:gpt2")) == path
    assert kind_of_model(Path(f"{path}:gpt2")) == "tiktoken"
    other = tmp_path / "x.json"
    other.write_text("{}")
    assert kind_of_model(Path(f"{other}:gpt2")) == "gguf"
    assert kind_of_model(tmp_path / "absent") == "gguf"


def test_a_tiktoken_file_can_be_the_model_of_any_command(make):
    path = make(*WORDS)
    run = CliRunner().invoke(main, ["run", f"{path}:gpt2", "-r", f"{path}:gpt2", "-q"])
    assert (run.exit_code, run.stderr) == (0, "")
    encoded = CliRunner().invoke(main, ["encode", f"{path}:gpt2", "fox 123", "--json"])
    assert json.loads(encoded.stdout)["ids"] == [256, ord("x"), ord(" "), 262]


def test_a_converted_tiktoken_file_agrees_with_tiktoken(make, tmp_path):
    pytest.importorskip("tiktoken")
    source = Path(f"{make(*WORDS, b'</s>', b'</')}:llama3")
    done = convert(source, tmp_path / "out.gguf", count=500)
    assert done.unexplained == 0
    assert (
        "`</s>`: llama.cpp treats it as a control token, regardless of what the file declares" in done.untransportable
    )
    done = convert(Path(f"{make(*WORDS)}:llama3"), tmp_path / "plain.gguf", count=500)
    assert (done.written, done.kinds, done.pre_tokenizer.name) == (True, ("tiktoken", "gguf"), "llama-bpe")


@pytest.mark.parametrize("name", ["gpt-2", "qwen2"])
def test_the_merges_of_real_vocabularies_are_recovered(spec_of, name):
    spec = spec_of(name)
    from tokverify.engine.byte_level import from_byte_level

    # Ids are ranks in these two: each merge makes the next token.
    known = {from_byte_level(text): id for id, text in enumerate(spec.tokens) if spec.types[id] == TokenType.NORMAL}
    merges = [tuple(map(from_byte_level, merge.split(" "))) for merge in spec.merges]
    assert recover_merges(known) == merges


def test_the_encoder_equals_that_of_the_gguf_file(make, tmp_path):
    source = f"{make(*WORDS)}:qwen"
    assert convert(Path(source), tmp_path / "out.gguf", count=0).written
    assert load_model(tmp_path / "out.gguf").encode("fox 123") == load_model(source).encode("fox 123")
