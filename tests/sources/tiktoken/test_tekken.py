import base64
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.tekken_maker import make_tekken
from tokverify import load_gguf, load_model
from tokverify.commands.cli import main
from tokverify.compare.convert import convert
from tokverify.engine.pre_search import PROBES
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.references import open_reference
from tokverify.report.tokenizer_difference import Origin
from tokverify.sources.original_pattern import ORIGINALS
from tokverify.sources.tiktoken.tekken import read_spec
from tokverify.spec import TokenType

MARK = "e\N{COMBINING ACUTE ACCENT}"
WORDS = [b"fo", b"fox", b" fox", MARK.encode()[:2], MARK.encode(), b"left out"]
SPECIAL = ["<unk>", "<s>", "</s>", "[INST]"]


def tekken(**changes) -> dict:
    """Return ten special tokens, four of them named, then single bytes and five words; the last one is left out."""
    usual = {"pattern": ORIGINALS["tekken"], "default_vocab_size": 10 + 256 + len(WORDS) - 1}
    return make_tekken(WORDS, SPECIAL, **usual | changes)


def write(folder: Path, content: object) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "tekken.json"
    path.write_text(json.dumps(content))
    return path


def test_special_tokens_come_first(tmp_path):
    spec = read_spec(write(tmp_path, tekken()))
    assert (spec.model, spec.pre, spec.add_bos, spec.add_eos) == ("gpt2", "tekken", True, False)
    assert spec.tokens[:5] == [*SPECIAL, "<SPECIAL_4>"]
    assert spec.tokens[9:11] == ["<SPECIAL_9>", "Ā"]
    assert spec.tokens[266:] == ["fo", "fox", "Ġfox", "eÌ", "eÌģ"]
    assert spec.types == [TokenType.CONTROL] * 10 + [TokenType.NORMAL] * 261
    assert spec.special_ids == {"unk": 0, "bos": 1, "eos": 2}
    assert spec.merges == ["f o", "fo x", "Ġ fox", "e Ì", "eÌ ģ"]


def test_files_of_old_versions_have_twenty_special_tokens(tmp_path):
    content = tekken(default_num_special_tokens=22, default_vocab_size=22 + 256, version="v3")
    del content["special_tokens"]
    spec = read_spec(write(tmp_path, content))
    assert spec.tokens[:3] == SPECIAL[:3]
    assert spec.tokens[19:23] == ["[TOOL_CONTENT]", "<SPECIAL_20>", "<SPECIAL_21>", "Ā"]
    assert spec.special_ids == {"unk": 0, "bos": 1, "eos": 2, "pad": 11}


def test_the_chat_template_beside_it_is_read(tmp_path):
    path = write(tmp_path, tekken())
    (tmp_path / "chat_template.jinja").write_text("[INST]")
    assert read_spec(path).chat_template == "[INST]"
    assert read_spec(write(tmp_path / "other", tekken())).chat_template is None


def test_another_pattern_finds_another_name(tmp_path):
    assert read_spec(write(tmp_path, tekken(pattern=ORIGINALS["llama-bpe"]))).pre == "llama-bpe"
    with pytest.raises(UnsupportedError, match="has no pre-tokenizer that splits texts like this"):
        read_spec(write(tmp_path, tekken(pattern=r"\w+|\W+")))


def test_it_can_be_the_model_of_any_command(tmp_path):
    pytest.importorskip("mistral_common")
    path = write(tmp_path, tekken())
    assert load_model(path).encode("fox fox", add_special=True) == [1, 267, 268]
    reference = open_reference(path).tokenizer
    assert [reference.piece(id) for id in range(reference.vocab_size)] == list(read_spec(path).tokens)
    run = CliRunner().invoke(main, ["run", str(path), "-r", str(path), "--suite", "seed", "-q"])
    assert (run.exit_code, run.stderr) == (0, "")
    other = write(tmp_path / "other", tekken())
    for command in (["inspect", path], ["explain", path, "fox"], ["diff", path, other, "--suite", "seed"]):
        assert CliRunner().invoke(main, list(map(str, command))).exit_code == 0


def test_a_limit_explains_what_the_pattern_of_llama_cpp_does_differently(tmp_path):
    pytest.importorskip("mistral_common")
    source = write(tmp_path, tekken())
    done = convert(source, tmp_path / "out.gguf", count=300)
    assert (done.written, done.unexplained, done.kinds) == (True, 0, ("tekken", "gguf"))
    assert 0 < len(done.pre_tokenizer.texts) < len(PROBES)
    [limit] = [limit for limit in done.report.limits if limit.code == "TL012"]
    # Another name gives the reference's ids, which the converter does not write for this pattern.
    assert limit.origin is Origin.CONVENTION
    assert limit.message.startswith("llama.cpp's tekken splits some texts in another way than the reference; ")
    assert "gives the reference's ids for all " in limit.message
    made, reference = load_gguf(tmp_path / "out.gguf"), open_reference(source).tokenizer
    assert reference.encode(MARK, add_special=False, parse_special=False) == [270]
    assert made.encode(MARK) != [270]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"special_tokens": None, "config": {"version": "v11"}}, "contains no special_tokens"),
        ({"config": {"default_num_special_tokens": 3}}, "4 special tokens, but default_num_special_tokens is 3"),
        ({"config": {"default_vocab_size": 200}}, "default_vocab_size is 200, but there are 10 special tokens"),
        ({"config": {"default_vocab_size": 5000}}, "and 262 others, of which at least 256 are needed"),
        ({"special_tokens": [{"rank": 1, "token_str": "<s>"}]}, "the ranks of the special tokens must be 0, 1, 2"),
        (
            {"special_tokens": [{"rank": 0, "token_str": "<SPECIAL_5>"}]},
            "two special tokens have the same text",
        ),
        ({"vocab": {5: {"rank": 6}}}, "the ranks in vocab must be 0, 1, 2 and so on"),
        ({"vocab": {5: {"token_bytes": "!"}}}, "token_bytes of rank 5 is not base64"),
        ({"vocab": {5: {"token_bytes": "YQ=="}}}, "the token of rank 5 must be the byte 0x05"),
        ({"vocab": {257: {"token_bytes": "Zm8="}}}, "the tokens of rank 256 and 257 are the same"),
    ],
)
def test_a_broken_file_gives_one_clear_line(tmp_path, change, problem):
    content = tekken(**change.get("config", {}))
    for rank, entry in change.get("vocab", {}).items():
        content["vocab"][rank] |= entry
    if "special_tokens" in change:
        content["special_tokens"] = change["special_tokens"]
    with pytest.raises(BrokenFileError, match=problem) as raised:
        read_spec(write(tmp_path, content))
    assert "\n" not in str(raised.value)


def test_a_long_token_is_refused(tmp_path):
    content = tekken()
    content["vocab"][256]["token_bytes"] = base64.b64encode(b"a" * 2000).decode()
    with pytest.raises(UnsupportedError, match="the token of rank 256 has more than 1,024 bytes"):
        read_spec(write(tmp_path, content))
