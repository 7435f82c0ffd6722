"""The C++ hybrid tokenizer end to end: the checklist of its document, both engines, decoding, and the commands."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import assume, given
from hypothesis import strategies as st

from support.cpp_maker import SIZE, SOURCE, train_cpp
from support.paths import ROOT, SAMPLE
from tokverify.commands.cli import main
from tokverify.compare.fuzz.loop import fuzz
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.engine.byte_level import to_byte_level
from tokverify.engine.encoder import Encoder
from tokverify.engine.models.cpp.pattern import words
from tokverify.engine.models.cpp.spacing import continues
from tokverify.engine.settings import resolve
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.explain.explanation import explain
from tokverify.references import load_reference
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.load import load_model
from tokverify.spec import TokenType
from tokverify.train.presets.cpp_tokenizer import CppTokenizer

SUITE = ROOT / "cases" / "cpp-hybrid.yaml"


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_cpp(tmp_path_factory.mktemp("cpp"))


@pytest.fixture(scope="module")
def encoder(gguf: Path) -> Encoder:
    return load_model(gguf)


@pytest.fixture(scope="module")
def reference(gguf: Path):
    return load_reference(gguf.with_name("tokenizer.json"))


def pieces(encoder: Encoder, text: str, **options: bool) -> list[str]:
    return [encoder.piece(id) for id in encoder.encode(text, **options)]


def test_the_checklist_and_the_diff_example_pass_without_a_reference(gguf: Path):
    result = CliRunner().invoke(main, ["run", str(gguf), "--cases", str(SUITE), "-r", "expect", "--format", "json"])
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["expected"]["name"] == "expect"
    cases = {result["case"]["id"]: result["status"] for result in report["results"]}
    assert len([id for id in cases if id[:2].isdecimal()]) == 12
    assert "diff" in cases
    assert set(cases.values()) == {"match"}


def test_fixed_tokens_do_not_depend_on_the_corpus(tmp_path: Path):
    model = train_cpp(tmp_path, corpus="nothing of that kind", vocab_size=2000)
    options = ["--cases", str(SUITE), "--tag", "fixed", "-r", "expect"]
    assert CliRunner().invoke(main, ["run", str(model), *options]).exit_code == 0
    assert CliRunner().invoke(main, ["run", str(tmp_path / "tokenizer.json"), *options]).exit_code == 0


def test_fuzzing_finds_no_difference_in_ids_or_decoding(encoder: Encoder, reference):
    report = fuzz(encoder, reference, FuzzPlan(count=1500, decoding=True))
    assert report.strings == 1500
    assert report.failing == 0


PARTS = [
    *"+-\"'\\<>=/*.#_09xé日😀\t\r\x1c\x0b\x00\x7f\u00a0\u3000\u200b\ufeff (){}",
    "\n", "\n\n", "##", "@@", "a/", "b/", "--- ", "+++ ", "diff --git ", "BOS", "<BOS>", "<DIFF_ADD>", "<RESERVED_110>",
    "include", "int", "print", "1024", "0x", "u8", "L", "R", "'a'", '"hello', "Process",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PARTS), max_size=15).map("".join) | st.text(max_size=20)


@pytest.mark.process  # takes seconds
@given(TEXTS, st.booleans())
def test_both_engines_agree_on_ids_and_decoding(encoder: Encoder, reference, text: str, parse_special: bool):
    ids = encoder.encode(text, parse_special=parse_special)
    assert ids == reference.encode(text, add_special=False, parse_special=parse_special)
    assert encoder.decode_as_document(ids) == reference.decode(ids)


@given(st.lists(st.integers(0, SIZE - 1), max_size=12))
def test_both_engines_decode_any_ids_alike(encoder: Encoder, reference, ids: list[int]):
    decoded = encoder.decode_as_document(ids)
    assert decoded.decode(errors="replace") == reference.decode(ids).decode()


@given(TEXTS)
def test_nothing_but_spaces_is_lost_and_nothing_is_unknown(encoder: Encoder, text: str):
    ids = encoder.encode(text, parse_special=False)
    assert 1 not in ids
    assume(not any(continues(to_byte_level(word)) for word in words(text)))
    lost = "".join(encoder.decode_text(ids).split())
    assert lost == "".join(text.split())


def test_a_word_that_begins_like_a_continuation_is_taken_for_one_by_the_library_too(encoder: Encoder, reference):
    text = '"\t####"'
    ids = encoder.encode(text, parse_special=False)
    assert [encoder.piece(id) for id in ids] == ['"', "##", '##"']
    assert reference.encode(text, add_special=False, parse_special=False) == ids


@given(TEXTS)
def test_the_explanation_ends_in_the_same_ids(encoder: Encoder, text: str):
    explained = explain(encoder, text)
    assert list(explained.ids) == encoder.encode(text)


@given(TEXTS)
def test_streaming_gives_what_decoding_at_once_does(encoder: Encoder, text: str):
    ids = encoder.encode(text)
    decoder = encoder.decoder()
    assert "".join(map(decoder.push, ids)) + decoder.finish() == encoder.decode_text(ids)


@pytest.mark.process  # takes seconds
def test_every_character_has_tokens(encoder: Encoder):
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    ids = encoder.encode(" ".join(characters[::41]), parse_special=False)
    assert 1 not in ids


def test_the_trained_source_is_short(encoder: Encoder):
    assert "print" in pieces(encoder, SOURCE)
    assert "<UNK>" not in pieces(encoder, SOURCE)
    assert len(encoder.encode(SOURCE)) < len(SOURCE) / 3


@pytest.mark.parametrize(
    "word", ["integer", "integers", "interfaces", "print", "doings", "mapping_of", "unsettledness"]
)
def test_no_fixed_token_is_part_of_a_word(encoder: Encoder, word: str):
    ids = encoder.encode(word)
    assert all(id >= 1600 for id in ids)
    assert encoder.decode_text(ids) == word


def test_special_tokens_in_a_text_are_parsed_only_on_request(encoder: Encoder):
    assert encoder.encode("<BOS>int") == [2, encoder.settings.ids["int"]]
    assert pieces(encoder, "<BOS>", parse_special=False)[0] == "<"
    assert 1520 not in encoder.encode("<DIFF_ADD>x")
    literal = '"a <BOS> ##foo <DIFF_ADD> <RESERVED_110> b"'
    found = encoder.encode(literal, parse_special=False)
    assert not {id for id in found if id < 20 or encoder.piece(id).startswith(("<R", "<D"))}
    assert encoder.decode_text(found) == '"a < BOS> ## foo < DIFF_ADD> < RESERVED_110> b"'


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("std::vector<int> *ptr = nullptr;", "std::vector<int>*ptr=nullptr;"),
        ("unsigned   int\tx;", "unsigned int x;"),
        ("int _x = __y;", "int _x=__y;"),
        ("// Check null pointer", "//Check null pointer"),
        ('printf("hello %d\\n", x);', 'printf("hello %d\\n",x);'),
        ("  int x;\n\n  return x;\n", "int x;\n\nreturn x;\n"),
        ("+if (!buf) return;", "+if(!buf)return;"),
        ("diff --git a/x.c b/x.c", "diff --git a/x.c b/x.c"),
        ("--- a/x.c", "--- a/x.c"),
        ("a - -b, x / *p, a & &b", "a- -b,x/ *p,a& &b"),
        ("  + x", " +x"),
        ("# include", "# include"),
        ('"    \\"x" + \' \'', '" \\"x"+\' \''),
        ("a\n \nb", "a\n \nb"),
        ("@@ -42,6 +42,8 @@ void f()", "@@ -42,6 +42,8 @@ void f()"),
        ("<BOS> int <EOS>", "<BOS>int<EOS>"),
        ("return u8\"a\"_s + 'b';", "return u8\"a\"_s+'b';"),
        ("naïve 日本語", "naïve 日本語"),
    ],
)
def test_spaces_are_restored_where_they_matter(encoder: Encoder, text: str, decoded: str):
    assert encoder.decode_text(encoder.encode(text)) == decoded


def test_settings_contain_nothing_from_llama_cpp(encoder: Encoder):
    settings = encoder.settings
    assert settings.overrides == ()
    assert settings.eog_ids == {3}
    assert settings.special_ids == {
        "bos": 2, "eos": 3, "unk": 1, "pad": 0, "fim_pre": 4, "fim_suf": 6, "fim_mid": 5,
    }  # fmt: skip
    tokens = [*encoder.spec.tokens]
    tokens[2000] = "</s>"
    named = replace(encoder.spec, tokens=tokens, general={"name": "phi-3"})
    assert resolve(named).eog_ids == {3}
    assert resolve(named).attributes[2000] == settings.attributes[2000]


def test_merges_are_part_of_the_fingerprint(encoder: Encoder):
    assert encoder.spec.merges
    other = Encoder(replace(encoder.spec, merges=encoder.spec.merges[::-1]))
    assert other.fingerprint != encoder.fingerprint


def test_a_gguf_file_and_what_is_rebuilt_from_it_agree(gguf: Path, encoder: Encoder):
    rebuilt = load_reference("rebuilt", spec=encoder.spec)
    report = fuzz(encoder, rebuilt, FuzzPlan(count=300, decoding=True))
    assert report.failing == 0
    assert load_model(gguf.with_name("tokenizer.json")).fingerprint == encoder.fingerprint


def test_the_hybrid_is_reported_as_unknown_to_llama_cpp(gguf: Path):
    run = CliRunner().invoke(main, ["run", str(gguf), "-r", "llama.cpp"])
    assert run.exit_code == 2
    assert "llama.cpp does not know the model cpp-hybrid, which only tokverify supports" in run.stderr
    audit = CliRunner().invoke(main, ["audit", str(gguf)])
    assert audit.exit_code == 1
    assert "a model that only tokverify supports" in audit.stdout
    inspect = CliRunner().invoke(main, ["inspect", str(gguf)])
    assert "llama.cpp cannot load this file" in inspect.stdout


@pytest.fixture(scope="module")
def without_newlines(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same tokenizer with newlines typed NORMAL, so texts are not searched for them."""
    types = [TokenType.NORMAL.value if type == TokenType.USER_DEFINED else type for type in encoder.spec.types or ()]
    path = tmp_path_factory.mktemp("broken") / "broken.gguf"
    write_gguf(path, replace(encoder.spec, types=types))
    return path


def test_an_audit_against_the_reference_reports_only_the_fault(gguf: Path, without_newlines: Path):
    def findings(path: Path) -> list[tuple[str, str]]:
        options = ["-r", str(gguf.with_name("tokenizer.json")), "--format", "json"]
        result = CliRunner().invoke(main, ["audit", str(path), *options])
        return [(finding["code"], finding["severity"]) for finding in json.loads(result.stdout)["findings"]]

    # The reserved tokens are unused in the file, and nothing says so in tokenizer.json.
    assert findings(gguf) == [("TV102", "ERROR"), ("TV202", "INFO")]
    assert findings(without_newlines) == [("TV102", "ERROR"), ("TV202", "ERROR"), ("TV202", "INFO")]


def test_a_wrong_file_is_detected_and_explained(gguf: Path, without_newlines: Path):
    options = ["-r", str(gguf.with_name("tokenizer.json")), "-k", "newline*"]
    run = CliRunner().invoke(main, ["run", str(without_newlines), *options])
    assert run.exit_code == 1
    assert "setting the type of 2 tokens (ids 1536-1537, runs of newlines) to USER_DEFINED" in run.stdout


@pytest.mark.parametrize(
    ("option", "value"), [("ignore_merges", False), ("byte_fallback", True), ("dropout", 0.5), ("fuse_unk", True)]
)
def test_a_model_with_other_options_is_refused(gguf: Path, tmp_path: Path, option: str, value: object):
    content = json.loads(gguf.with_name("tokenizer.json").read_text(encoding="utf-8"))
    content["model"][option] = value
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UnsupportedError, match=rf"model\.{option}: must be"):
        load_model(path)


@pytest.mark.parametrize("name", ["cpp-checklist.gguf", "tokenizer.json"])
def test_the_class_for_programs(gguf: Path, name: str):
    tokenizer = CppTokenizer(str(gguf.with_name(name)))
    assert tokenizer.vocab_size == SIZE
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (2, 3, 0)
    ids = tokenizer.encode("<BOS>int x;")
    assert ids[:2] == [2, 38]
    assert tokenizer.decode(ids) == "<BOS>int x;"
    batch = tokenizer.encode_ordinary_batch(["<BOS>int", "", "42"], num_threads=2)
    assert 2 not in batch[0]
    assert batch[1:] == [[], [562]]
    with pytest.raises(EncodeError, match="outside the vocabulary"):
        tokenizer.decode([SIZE])


def test_the_class_requires_a_tokenizer_of_its_kind():
    sample = SAMPLE / "sample.gguf"
    with pytest.raises(UnsupportedError, match="the tokenizer's model is llama, not cpp-hybrid"):
        CppTokenizer(sample)
