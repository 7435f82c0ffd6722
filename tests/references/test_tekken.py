import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from support.tekken_maker import make_tekken
from tokverify.commands.tasks.fix import fix_model
from tokverify.compare.piece_difference import find_piece_differences
from tokverify.engine.encoder import Encoder
from tokverify.errors import BrokenFileError, EncodeError, MissingLibraryError
from tokverify.references import open_reference
from tokverify.references.discovery import find_reference
from tokverify.references.tekken import load
from tokverify.report.finding import ERROR, INFO
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.tiktoken.published import PUBLISHED
from tokverify.sources.tiktoken.tekken import read_spec as read_tekken
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.texts.vocabulary import compare_vocabularies

mistral_common = pytest.importorskip("mistral_common", reason="mistral-common is not installed")

WORDS = [b"fo", b"fox", b" fox", "\N{LLAMA}".encode()[:2]]
SPECIAL = ["<unk>", "<s>", "</s>", "[INST]"]


@pytest.fixture
def content() -> dict:
    """Ten special tokens, four of them named, then single bytes and four words."""
    return make_tekken(WORDS, SPECIAL)


@pytest.fixture
def path(tmp_path, content) -> Path:
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(content, indent=4))
    return path


def encode(tokenizer, text, *, add_special=False, parse_special=False):
    return tokenizer.encode(text, add_special=add_special, parse_special=parse_special)


def test_encode_and_decode(path):
    found = open_reference(path)
    small = found.tokenizer
    assert (found.source, found.versions) == (str(path), {"mistral-common": mistral_common.__version__})
    assert len(found.sha256) == 64
    assert (small.vocab_size, small.special_ids) == (270, {"bos": 1, "eos": 2, "unk": 0})
    assert encode(small, "fox fox") == [267, 268]
    assert encode(small, "fox", add_special=True) == [1, 267]
    assert encode(small, "") == []
    assert small.decode([1, 267, 268]) == b"<s>fox fox"


def test_a_tekken_file_is_found_in_its_directory(path):
    assert open_reference(path.parent).source == str(path)
    found = find_reference(path.with_name("model.gguf"), TokenizerSpec(model="llama", tokens=["a"]))
    assert (found.source, found.reason) == (str(path), "tekken.json is beside the model")


def test_special_tokens_in_a_text_are_text(path):
    small = open_reference(path).tokenizer
    assert small.parses_special is False
    assert encode(small, "<s>", parse_special=True) == [10 + byte for byte in b"<s>"]


def test_pieces(path):
    small = open_reference(path).tokenizer
    assert [(small.piece(id), small.token_bytes(id)) for id in (3, 9, 10, 268, 269, 270, -1)] == [
        ("[INST]", b"[INST]"),
        ("<SPECIAL_9>", b"<SPECIAL_9>"),
        ("Ā", b"\0"),
        ("Ġfox", b" fox"),
        ("ðŁ", "\N{LLAMA}".encode()[:2]),
        ("", b""),
        ("", b""),
    ]
    assert small.decode([269]) == "\N{REPLACEMENT CHARACTER}".encode()
    assert small.decode(encode(small, "\N{LLAMA}\0")) == "\N{LLAMA}\0".encode()


@pytest.fixture
def nameless(tmp_path, content) -> Path:
    """A file with 30 special tokens that names none of them, as those of version v3 do."""
    del content["special_tokens"]
    content["config"] |= {"default_num_special_tokens": 30, "default_vocab_size": 290, "version": "v3"}
    content["config"]["pattern"] = PUBLISHED["gpt2"].pattern
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(content))
    return path


def nemo(path: Path) -> TokenizerSpec:
    """Return what a file declares that has other names for ten of them, as Nemo does."""
    spec = read_tekken(path)
    names = ["<pad>", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", *(f"<SPECIAL_{id}>" for id in range(14, 20))]
    return replace(
        spec, tokens=[*spec.tokens[:10], *names, *spec.tokens[20:]], special_ids={"unk": 0, "bos": 1, "eos": 2}
    )


@pytest.mark.parametrize(
    ("type", "word", "found"),
    [
        (TokenType.CONTROL, "fox", [(INFO, list(range(10, 20)))]),
        (TokenType.NORMAL, "fox", [(ERROR, [10]), (INFO, list(range(11, 20)))]),
        (TokenType.CONTROL, "fix", [(ERROR, [287]), (INFO, list(range(10, 20)))]),
    ],
)
def test_names_that_only_the_library_supplies_are_not_held_against_a_file(nameless, type, word, found):
    spec = nemo(nameless)
    tokens = [*spec.tokens[:287], word, *spec.tokens[288:]]
    types = [type if id == 10 else each for id, each in enumerate(spec.types)]
    sides = Encoder(replace(spec, tokens=tokens, types=types)), open_reference(nameless).tokenizer
    differences = list(find_piece_differences(compare_vocabularies(*sides), *sides))
    assert sorted(((each.severity, list(each.ids)) for each in differences), reverse=True) == found


@pytest.mark.parametrize("ids", [(1, 2), (3, 4)], ids=["BOS and EOS", "[INST] and [/INST]"])
def test_names_of_the_library_that_are_exchanged_are_a_difference(nameless, ids):
    spec, (one, other) = read_tekken(nameless), ids
    tokens = list(spec.tokens)
    tokens[one], tokens[other] = tokens[other], tokens[one]
    sides = Encoder(replace(spec, tokens=tokens)), open_reference(nameless).tokenizer
    (found,) = find_piece_differences(compare_vocabularies(*sides), *sides)
    assert (found.severity, found.ids) == (ERROR, ids)


def test_names_that_a_file_lists_are_compared(path, content):
    content["config"]["pattern"] = PUBLISHED["gpt2"].pattern
    path.write_text(json.dumps(content))
    spec = read_tekken(path)
    sides = Encoder(replace(spec, tokens=[*spec.tokens[:3], "[IMG]", *spec.tokens[4:]])), open_reference(path).tokenizer
    (found,) = find_piece_differences(compare_vocabularies(*sides), *sides)
    assert (found.severity, found.ids) == (ERROR, (3,))


def test_names_that_only_the_library_supplies_are_not_written(nameless):
    model, fixed = (nameless.with_name(name) for name in ("model.gguf", "fixed.gguf"))
    write_gguf(model, nemo(nameless))
    assert fix_model(model, fixed, nameless).repair is None
    assert not fixed.exists()
    write_gguf(model, replace(nemo(nameless), add_bos=False))
    assert fix_model(model, fixed, nameless).repair is not None
    assert list(read_spec(fixed).tokens) == list(nemo(nameless).tokens)


def test_errors_of_one_text(path):
    small = open_reference(path).tokenizer
    with pytest.raises(EncodeError, match="lone surrogate"):
        encode(small, "\ud800")
    for id in (-1, 270):
        with pytest.raises(EncodeError, match=f"mistral-common has no token with the id {id}"):
            small.decode([id])


@pytest.mark.parametrize("name", ["tekken.json", "tekken_240911.json", "other.json"])
def test_a_tekken_file_is_recognized_by_its_name_or_first_bytes(path, name):
    assert open_reference(path.rename(path.with_name(name))).tokenizer.name == "mistral-common"


@pytest.mark.parametrize("broken", [{"config": {"pattern": "a"}}, {"vocab": []}, {"special_tokens": [{"rank": 0}]}])
def test_a_broken_file_is_an_error(path, content, broken):
    path.write_text(json.dumps(content | broken))
    with pytest.raises(
        BrokenFileError,
        match=r"tekken\.json: (mistral-common .* cannot load it|config\.default_vocab_size must be|each special token)",
    ) as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_a_missing_library_says_how_to_install_it(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mistral_common", None)
    with pytest.raises(MissingLibraryError, match=r"pip install mistral-common"):
        load(path)


def test_the_published_table_that_comes_with_the_library():
    path = Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"
    if not path.is_file():
        pytest.skip("this mistral-common comes without tables")
    nemo = open_reference(path).tokenizer
    assert nemo.vocab_size == 131_072
    assert nemo.special_ids == {"unk": 0, "bos": 1, "eos": 2}
    text = "Hello  w\N{LATIN SMALL LETTER O WITH DIAERESIS}rld\0 \N{LLAMA} 1234"
    ids = encode(nemo, text, add_special=True)
    assert ids[0] == 1
    assert b"".join(map(nemo.token_bytes, ids[1:])) == nemo.decode(ids[1:]) == text.encode()


@pytest.mark.parametrize("special", ["<s>", 1, None, {"rank": "1"}, {"rank": True}, {"rank": 1.0}, {"token_str": 5}])
def test_special_tokens_that_are_not_what_they_should_be_are_rejected(path, content, special):
    entry = {"rank": 1, "token_str": "<s>", "is_control": True, **special} if isinstance(special, dict) else special
    content["special_tokens"] = [entry, *content["special_tokens"][2:]]
    path.write_text(json.dumps(content))
    with pytest.raises(BrokenFileError, match="each special token must be an object with `rank` and `token_str`"):
        open_reference(path)
