import base64
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tokverify import load_model
from tokverify.commands.cli import main
from tokverify.compare.convert import convert
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.references import open_reference
from tokverify.sources.tiktoken.merges import count_unmerged, list_merges, recover_merges
from tokverify.sources.tiktoken.published import PUBLISHED, Published, digest_of, find_variant, published_for
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


def test_all_pairs_that_make_a_token_are_merges():
    assert list_merges(ranks(b"ab", b"bc", b"abc")) == [(b"a", b"b"), (b"b", b"c"), (b"a", b"bc"), (b"ab", b"c")]


def test_a_token_that_is_made_from_one_with_a_higher_rank(make):
    # `abcd` is merged from `cd`, whose rank is higher; llama.cpp must find it inside a longer pre-token.
    path = f"{make(b'ab', b'abcd', b'cd')}:gpt2"
    assert count_unmerged(ranks(b"ab", b"abcd", b"cd")) == 0
    assert load_model(path).encode("xabcd") == [ord("x"), 257]
    pytest.importorskip("tiktoken")
    assert open_reference(path).tokenizer.encode("xabcd", add_special=False, parse_special=False) == [ord("x"), 257]


def test_tokens_that_merges_do_not_lead_to_are_counted():
    assert count_unmerged(ranks(b"fox", b"ab")) == 1


def test_a_file_becomes_a_byte_level_tokenizer(make):
    spec = read_spec(f"{make(*WORDS)}:gpt2")
    assert (spec.model, spec.pre, spec.add_bos, spec.add_eos) == ("gpt2", "gpt-2", False, False)
    assert spec.tokens[ord("a")] == "a"
    assert (spec.tokens[0], spec.tokens[258]) == ("Ā", "Ġf")
    assert spec.merges == ["f o", "o x", "Ġ f", "Ġ fo", "Ġf o", "Ġf ox", "Ġfo x", "1 2", "12 3"]
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


def test_a_config_belongs_to_ranks_of_any_name_if_nothing_else_beside_it_is_a_tokenizer(make):
    path = make(*WORDS, name="emu3.tiktoken")
    config = {"added_tokens_decoder": {"270": {"content": "<|end|>"}}, "eos_token": "<|end|>"}
    path.with_name("tokenizer_config.json").write_text(json.dumps(config))
    assert read_spec(f"{path}:qwen2").special_ids == {"eos": 270}
    other = make(name="other.tiktoken")
    assert read_spec(f"{path}:qwen2").special_ids == {}
    other.unlink()
    path.with_name("tokenizer.json").write_text("{}")
    assert read_spec(f"{path}:qwen2").special_ids == {}


@pytest.mark.parametrize("name", ["gpt-2", "llama-bpe", "qwen2", "gpt-4o", "tekken", "kimi-k2", "glm4", "dbrx"])
def test_a_pattern_can_be_named_as_in_llama_cpp(make, name):
    assert read_spec(f"{make(*WORDS)}:{name}").pre == name


def test_a_name_of_llama_cpp_means_the_pattern_that_its_converter_gives_it_to(make):
    pytest.importorskip("tiktoken")
    path = make(*WORDS)
    for name, original in (
        ("gpt-4o", "o200k_base"),
        ("llama4", "o200k_base"),
        ("llama-v3", "llama3"),
        ("phi-2", "gpt2"),
    ):
        patterns = [published_for(path, each, ranks(*WORDS)).pattern for each in (name, original)]
        assert patterns[0] == patterns[1]
    # The reference matches marks as parts of words, and llama.cpp does not.
    marks = "e\N{COMBINING ACUTE ACCENT}x"
    file = make(*WORDS, marks.encode()[:3], b"\x81x", marks.encode())
    assert load_model(f"{file}:gpt-4o").encode(marks) != [265]
    reference = open_reference(f"{file}:gpt-4o").tokenizer
    assert reference.encode(marks, add_special=False, parse_special=False) == [265]


@pytest.mark.parametrize("name", ["deepseek-v3", "bloom", "superbpe"])
def test_a_name_that_is_more_than_one_pattern_is_refused(make, name):
    with pytest.raises(UnsupportedError, match=f"llama.cpp's pre-tokenizer {name} is not one regular expression"):
        read_spec(f"{make(*WORDS)}:{name}")


@pytest.fixture
def known(monkeypatch):
    """Publish a vocabulary of 263 tokens with two special ones under the name `fox`."""
    special = {"<|begin|>": 263, "<|end|>": 264}
    entry = Published(
        PUBLISHED["gpt2"].pattern,
        263,
        special,
        digest_of(ranks(*WORDS)),
        {"bos": "<|begin|>", "eos": "<|end|>"},
        add_bos=True,
    )
    monkeypatch.setattr("tokverify.sources.tiktoken.published.PUBLISHED", {**PUBLISHED, "fox": entry})


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("name", ["small.tiktoken", "tokenizer.model"])
def test_a_vocabulary_that_is_known_by_its_digest_needs_no_name(make, name):
    path = make(*WORDS, name=name)
    spec = read_spec(path)
    assert (spec.pre, spec.special_ids, spec.add_bos, spec.add_eos) == ("gpt-2", {"bos": 263, "eos": 264}, True, False)
    assert (spec.tokens[263:], spec.types[263:]) == (["<|begin|>", "<|end|>"], [TokenType.CONTROL] * 2)
    path.write_bytes(b"\r\n".join(reversed(path.read_bytes().splitlines())))
    assert read_spec(path) == spec
    # The special tokens belong to the ranks; the pattern is what was named.
    assert read_spec(f"{path}:llama-bpe").special_ids == {"bos": 263, "eos": 264}
    assert read_spec(f"{path}:llama-bpe").pre == "llama-bpe"


@pytest.mark.usefixtures("known")
def test_the_reference_begins_with_bos_as_the_original_reader_does(make):
    pytest.importorskip("tiktoken")
    path = make(*WORDS)
    reference = open_reference(path).tokenizer
    assert (reference.adds_special, reference.special_ids) == (True, {"bos": 263})
    assert reference.encode("fo", add_special=True, parse_special=True) == [263, 256]
    assert reference.encode("fo<|end|>", add_special=False, parse_special=True) == [256, 264]
    run = CliRunner().invoke(main, ["run", str(path), "-r", str(path), "-q"])
    assert (run.exit_code, run.stderr) == (0, "")


@pytest.mark.usefixtures("known")
def test_a_config_renames_published_special_tokens(make):
    path = make(*WORDS, name="tokenizer.model")
    decoder = {"263": {"content": "<|first|>"}, "270": {"content": "<|end|>"}}
    path.with_name("tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder}))
    spec = read_spec(path)
    assert (spec.tokens[263], spec.tokens[264], spec.tokens[270]) == ("<|first|>", "[PAD264]", "<|end|>")


def test_a_token_without_bytes_is_unused(make):
    # Whisper's file has one.
    path = make(*WORDS)
    path.write_bytes(path.read_bytes() + b"= 263\n")
    spec = read_spec(f"{path}:gpt2")
    assert (spec.tokens[263], spec.types[263]) == ("[PAD263]", TokenType.UNUSED)


def test_every_published_vocabulary_is_consistent():
    digests = [entry.digest for entry in PUBLISHED.values() if entry.digest]
    assert len(set(digests)) == len(digests)
    for entry in PUBLISHED.values():
        ids = entry.special_tokens.values()
        assert len(set(ids)) == len(entry.special_tokens)
        assert min(ids) >= entry.size or min(ids) == 50256
        assert set(entry.roles.values()) <= set(entry.special_tokens)


@pytest.mark.parametrize(
    ("name", "count", "some"),
    [
        ("llama3", 256, {"<|eot_id|>": 128009, "<|image|>": 128011, "<|reserved_special_token_245|>": 128255}),
        ("llama3.0", 256, {"<|eot_id|>": 128009, "<|reserved_special_token_250|>": 128255}),
        ("llama3.1", 256, {"<|eom_id|>": 128008, "<|reserved_special_token_247|>": 128255}),
        ("llama4", 2048, {"<|header_start|>": 200005, "<|image_start|>": 200080, "<|reasoning_thinking_end|>": 201143}),
        ("whisper", 1608, {"<|startoftranscript|>": 50258, "<|notimestamps|>": 50363, "<|30.00|>": 51864}),
        ("whisper-large-v3", 1609, {"<|yue|>": 50358, "<|30.00|>": 51865}),
        ("whisper.en", 1608, {"<|startoftranscript|>": 50257, "<|notimestamps|>": 50362}),
    ],
)
def test_special_tokens_of_published_readers(name, count, some):
    special = PUBLISHED[name].special_tokens
    assert len(special) == count
    assert some.items() <= special.items()


@pytest.mark.parametrize(
    ("known", "model", "variant"),
    [
        ("llama3", "llama3", ""),
        ("llama3", "llama3.0", "llama3.0"),
        ("llama3", "llama3.1", "llama3.1"),
        ("r50k_base", "gpt2", ""),
        ("whisper", "whisper-large-v3", "whisper-large-v3"),
    ],
)
@pytest.mark.parametrize("wrong", [0, 1])
def test_of_special_tokens_for_the_same_ranks_those_of_the_model_are_taken(known, model, variant, wrong):
    entry = PUBLISHED[model]
    tokens = [""] * (max(entry.special_tokens.values()) + 1)
    for text, id in [*entry.special_tokens.items()][: -wrong or None]:
        tokens[id] = text
    assert find_variant(PUBLISHED[known], tokens) == variant
    assert not find_variant(PUBLISHED[known], [])


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
    assert "TL001" in [limit.code for limit in done.report.limits]
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
