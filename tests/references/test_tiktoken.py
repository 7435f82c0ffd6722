import base64
import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tokverify import load_cases, load_gguf
from tokverify.engine.byte_level import byte_alphabet
from tokverify.errors import BrokenFileError, EncodeError, MissingLibraryError, TokverifyError, UnsupportedError
from tokverify.references import open_reference
from tokverify.references.discovery import find_reference
from tokverify.references.tiktoken import load
from tokverify.report.run import vocabularies_differ
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.tiktoken.published import PUBLISHED, digest_of
from tokverify.sources.tiktoken.reader import read_ranks
from tokverify.spec import TokenizerSpec
from tokverify.texts.vocabulary import compare_vocabularies

tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")

BYTES = [bytes([byte]) for byte in range(256)]
WORDS = [b"fo", b"ox", b" f", b" fox", b"12", b"34", b"123"]


def ranks_file(path: Path, tokens) -> Path:
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % id for id, token in enumerate(tokens)))
    return path


@pytest.fixture
def path(tmp_path) -> Path:
    return ranks_file(tmp_path / "small.tiktoken", [*BYTES, *WORDS])


def encode(tokenizer, text, *, add_special=False, parse_special=True):
    return tokenizer.encode(text, add_special=add_special, parse_special=parse_special)


def test_a_pattern_is_named_after_the_file(path):
    found = open_reference(f"{path}:cl100k_base")
    small = found.tokenizer
    assert (found.source, found.versions) == (str(path), {"tiktoken": tiktoken.__version__})
    assert (len(found.sha256), found.path) == (64, path)
    assert small.vocab_size == 263
    # A whole pre-token is looked up before anything is merged.
    assert [small.piece(id) for id in encode(small, "fox fox 1234")] == ["fo", "x", "Ġfox", "Ġ", "123", "4"]
    assert small.decode(encode(small, "fox\0\N{LLAMA}")) == "fox\0\N{LLAMA}".encode()


@pytest.mark.parametrize(
    ("pattern", "numbers"),
    [("gpt2", ["12", "34"]), ("llama3", ["123", "4"]), ("qwen", ["1", "2", "3", "4"]), (r"\d{2}", ["12", "34"])],
)
def test_the_pattern_decides(path, pattern, numbers):
    for location in (f"{path}:{pattern}", f"tiktoken:{path}:{pattern}"):
        tokenizer = open_reference(location).tokenizer
        assert [tokenizer.piece(id) for id in encode(tokenizer, "1234")] == numbers


def test_a_pattern_is_recognized_by_the_name_of_the_file(path):
    cl100k = path.rename(path.with_name("cl100k_base.tiktoken"))
    tokenizer = open_reference(cl100k).tokenizer
    assert [tokenizer.piece(id) for id in encode(tokenizer, "1234")] == ["123", "4"]


def test_a_model_decides_which_of_the_published_special_tokens_are_meant(path, monkeypatch):
    digest = digest_of(read_ranks(path, path.read_bytes()))
    newest, older = ("<new>", "<end>"), ("<old>", "<end>")
    for name, texts, known_by in (("newest", newest, digest), ("older", older, "")):
        special = {text: id for id, text in enumerate(texts, 263)}
        monkeypatch.setitem(
            PUBLISHED, name, replace(PUBLISHED["gpt2"], size=263, special_tokens=special, digest=known_by)
        )
    model = TokenizerSpec(model="gpt2", tokens=[*map(str, range(263)), *older], merges=["1 2"])
    for location, spec, expected in (
        (path, None, newest),
        (path, model, older),
        (f"{path}:newest", model, newest),
        # The name of a pattern says nothing about special tokens.
        (f"{path}:gpt-2", model, older),
    ):
        found = open_reference(location, spec=spec)
        assert [found.tokenizer.piece(263), found.tokenizer.piece(264)] == list(expected)
        assert ("those of older were taken" in found.caveat) == (expected is older)
    # So it is for a vocabulary that is found beside the model.
    gguf = path.rename(path.with_name("tokenizer.model")).with_name("model.gguf")
    write_gguf(gguf, model)
    beside = find_reference(gguf, model)
    assert beside.tokenizer.piece(263) == "<old>"


def test_without_a_pattern_it_says_how_to_name_one(path):
    with pytest.raises(
        UnsupportedError, match=r"contains no pattern; add its name, as in .*small\.tiktoken:cl100k_base"
    ):
        open_reference(path)


def test_an_invalid_pattern_is_an_error(path):
    with pytest.raises(TokverifyError, match="'cl100k' is neither a pattern nor the name of one; known names: gpt2"):
        open_reference(f"{path}:cl100k")
    with pytest.raises(TokverifyError, match=r"cannot use it with this pattern \(.+\)") as caught:
        open_reference(f"{path}:(open")
    assert "\n" not in str(caught.value)


def test_special_tokens_come_from_the_config_next_to_the_file(path):
    entries = {"263": {"content": "<|end|>"}, "300": {"content": "<|tool|>"}, "3": {"content": "taken"}, "x": 1, "5": 2}
    path.with_name("tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": entries}))
    model = path.rename(path.with_name("tiktoken.model"))
    tokenizer = open_reference(f"{model}:qwen").tokenizer
    assert tokenizer.vocab_size == 301
    assert encode(tokenizer, "1<|tool|>2") == [49, 300, 50]
    assert 300 not in encode(tokenizer, "1<|tool|>2", parse_special=False)
    assert encode(tokenizer, "12", add_special=True) == [49, 50]
    assert tokenizer.decode([263, 49]) == b"<|end|>1"
    assert [(tokenizer.piece(id), tokenizer.token_bytes(id)) for id in (300, 299, 301, -1)] == [
        ("<|tool|>", b"<|tool|>"),
        ("", b""),
        ("", b""),
        ("", b""),
    ]


def test_the_config_next_to_the_file_names_roles(path):
    added = {"263": {"content": "<end>"}, "264": {"content": "[EOS]"}}
    config = {"added_tokens_decoder": added, "eos_token": "[EOS]", "pad_token": "<gone>"}
    (path.parent / "tokenizer_config.json").write_text(json.dumps(config))
    model = path.rename(path.with_name("tiktoken.model"))
    assert open_reference(f"{model}:qwen").tokenizer.special_ids == {"eos": 264}


def test_a_file_of_ranks_without_special_tokens_recognizes_none(path):
    assert not open_reference(f"{path}:cl100k_base").tokenizer.parses_special


def test_special_tokens_of_a_published_file_come_with_its_size(tmp_path):
    size = PUBLISHED["p50k_base"].size
    ids = [*range(50256), *range(50257, size + 1)]
    tokens = [*BYTES, *(b"x%d" % number for number in range(size - 256))]
    lines = (base64.b64encode(token) + b" %d" % id for id, token in zip(ids, tokens, strict=True))
    path = tmp_path / "p50k_base.tiktoken"
    path.write_bytes(b"\r\n".join(lines))
    assert encode(open_reference(path).tokenizer, "<|endoftext|>") == [50256]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"IQ== 0\nhello\n", r":2: not a token in base64 and its id"),
        (b"IQ== 0\nI! 1\n", r":2: not a token"),
        (b"IQ== 0\nIg== x\n", r":2: not a token"),
        (b"IQ== 0\n", r"255 of the 256 single bytes are missing"),
    ],
)
def test_a_broken_file_is_an_error(tmp_path, content, message):
    path = tmp_path / "bad.tiktoken"
    path.write_bytes(content)
    with pytest.raises(BrokenFileError, match=message) as caught:
        open_reference(f"{path}:gpt2")
    assert str(caught.value).startswith(str(path))


def test_an_id_used_twice_is_refused(path):
    path.write_bytes(path.read_bytes() + b"YWJj 5\n")
    with pytest.raises(BrokenFileError, match="two tokens have the same id"):
        open_reference(f"{path}:gpt2")


def test_an_id_that_the_library_cannot_hold_is_an_error(path):
    path.write_bytes(path.read_bytes() + b"YWJj 99999999999\n")
    with pytest.raises(TokverifyError, match=r"small\.tiktoken:264: not a token in base64 and its id"):
        open_reference(f"{path}:gpt2")


def test_errors_of_one_text(path):
    small = open_reference(f"{path}:gpt2").tokenizer
    with pytest.raises(EncodeError, match="lone surrogate"):
        encode(small, "a\ud800")
    for id in (-1, 263, 2**40):
        with pytest.raises(EncodeError, match="tiktoken cannot decode these ids"):
            small.decode([id])


def test_an_encoding_by_name_comes_from_the_library(monkeypatch):
    made = tiktoken.Encoding("gpt2", pat_str=r"\S", mergeable_ranks={b"a": 0}, special_tokens={"<e>": 1})
    monkeypatch.setattr(tiktoken, "get_encoding", {"gpt2": made}.__getitem__)
    found = open_reference("tiktoken:gpt2")
    assert found.source == "tiktoken:gpt2"
    assert encode(found.tokenizer, "a<e>") == [0, 1]


def test_an_encoding_that_cannot_be_downloaded_is_an_error(monkeypatch):
    def unreachable(name):
        raise ConnectionError("a long story\nof many lines")

    monkeypatch.setattr(tiktoken, "get_encoding", unreachable)
    with pytest.raises(TokverifyError, match=r"^tiktoken:gpt2: .* cannot be downloaded \(ConnectionError\); connect"):
        open_reference("tiktoken:gpt2")


def test_an_unknown_encoding_is_an_error():
    with pytest.raises(TokverifyError, match="tiktoken:gpt9: no such file, and not an encoding; known encodings: gpt2"):
        open_reference("tiktoken:gpt9")


def test_a_missing_library_says_how_to_install_it(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(MissingLibraryError, match=r"pip install tiktoken"):
        load(path)


@pytest.mark.parametrize("name", ["gpt2", "r50k_base", "p50k_base", "cl100k_base", "o200k_base"])
def test_the_published_patterns_are_those_of_the_library(name, monkeypatch):
    openai = importlib.import_module("tiktoken_ext.openai_public")
    for function in ("load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"):
        monkeypatch.setattr(openai, function, lambda *_, **__: {})
    definition = openai.ENCODING_CONSTRUCTORS[name]()
    assert PUBLISHED[name].pattern == definition["pat_str"]
    assert PUBLISHED[name].special_tokens == definition["special_tokens"]
    if "explicit_n_vocab" in definition:
        assert PUBLISHED[name].size == definition["explicit_n_vocab"] - len(definition["special_tokens"])


def test_kimi_has_256_special_tokens_after_its_ranks():
    kimi = PUBLISHED["kimi-k2"]
    assert sorted(kimi.special_tokens.values()) == list(range(kimi.size, kimi.size + 256))
    assert set(kimi.roles.values()) <= set(kimi.special_tokens)


def test_gpt_2_agrees_with_its_gguf_file(vocabs, golden, tmp_path):
    bytes_of = {character: byte for byte, character in byte_alphabet().items()}
    vocabulary = json.loads((vocabs / "gpt-2.tokenizer.json").read_bytes())["model"]["vocab"]
    pieces = sorted(vocabulary, key=vocabulary.get)[:50256]
    tokens = [bytes(map(bytes_of.__getitem__, piece)) for piece in pieces]
    tokenizer = open_reference(ranks_file(tmp_path / "gpt2.tiktoken", tokens)).tokenizer
    encoder = load_gguf(vocabs / "gpt-2.gguf")
    difference = compare_vocabularies(encoder, tokenizer)
    assert (vocabularies_differ(difference), difference.respelled) == (False, 0)
    for text in (case.text for case in load_cases()):
        ids = encode(tokenizer, text)
        assert ids == encoder.encode(text)
        assert tokenizer.decode(ids) == encoder.decode(ids)
    rows = [row for row in golden("gpt-2") if not row[1]]
    assert len(rows) > 500
    assert [text for text, _, parse, ids in rows if encode(tokenizer, text, parse_special=parse) != ids] == []
