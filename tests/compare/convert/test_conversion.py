"""`convert` writes complete files, and only when it should."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer

from support.sentencepiece_maker import BPE, BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED, make_model, train_model
from support.spec_maker import spec_of, unigram_spec
from support.tekken_maker import make_tekken
from tokverify import load_gguf, load_model
from tokverify.case import Case
from tokverify.compare.convert import convert
from tokverify.compare.limits.explaining import Explainer
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.render.convert import verdict
from tokverify.report.convert import Conversion, conversion_exit_code
from tokverify.report.run import Status, count_status
from tokverify.sources.gguf import writer as gguf_writer
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.original_pattern import ORIGINALS
from tokverify.spec import TokenizerSpec

SAMPLE = Path(convert.__code__.co_filename).parents[2] / "sample"
END = AddedToken("<|end|>", special=True, normalized=False)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_tokenizer_json_becomes_a_gguf_file(byte_level, to_gguf, tmp_path):
    done = to_gguf(byte_level(END), "the red fox<|end|>", "  two\n\nlines")
    assert (done.written, conversion_exit_code(done), done.differing, done.unexplained) == (True, 0, 0, 0)
    assert (done.kinds, done.model, done.strings, done.untransportable) == (("tokenizers", "gguf"), "gpt2", 300, ())
    assert done.size == len(read_spec(tmp_path / "out.gguf").tokens)
    assert count_status(done.report, Status.MATCH) == 2
    assert files(tmp_path) == {"in.tokenizer.json", "out.gguf"}
    assert read_spec(tmp_path / "out.gguf").general["name"] == "out"


def test_the_match_of_the_pre_tokenizer_is_shown(byte_level, to_gguf):
    match = to_gguf(byte_level()).pre_tokenizer
    assert match.name == "gpt-2"
    assert {"mpt", "phi-2"} <= set(match.alike)
    assert match.unlike_in_merges == ()
    assert "Hello world!" in match.texts[0]
    assert match.pre_tokens > len(match.texts)


def test_a_pre_tokenizer_that_llama_cpp_lacks_becomes_the_nearest_which_is_named(byte_level, to_gguf):
    sequence = [
        {"type": "Split", "pattern": {"Regex": "fo|x"}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ]
    done = to_gguf(byte_level(pre_tokenizer={"type": "Sequence", "pretokenizers": sequence}), "foo fox")
    assert done.pre_tokenizer.name == "gpt-2"
    assert any(part.startswith("pre_tokenizer: llama.cpp has none that splits") for part in done.untransportable)
    assert done.written
    assert done.unexplained == 0


def test_roles_and_templates_come_from_the_config_next_to_the_file(byte_level, to_gguf, tmp_path):
    source = byte_level(END)
    config = {"eos_token": "<|end|>", "chat_template": "{{ messages }}"}
    (tmp_path / "in.tokenizer_config.json").write_text(json.dumps(config))
    to_gguf(source)
    spec = read_spec(tmp_path / "out.gguf")
    assert spec.tokens[spec.special_ids["eos"]] == "<|end|>"
    assert spec.chat_template == "{{ messages }}"


def test_a_file_whose_differences_are_all_explained_is_written_unless_strict(byte_level, to_gguf, tmp_path):
    source = byte_level(normalizer={"type": "NFC"})
    done = to_gguf(source, "e\u0301", "plain", count=0, strict=True)
    assert (done.written, conversion_exit_code(done), done.differing, done.unexplained) == (False, 1, 1, 0)
    assert done.untransportable == ("normalizer NFC: GGUF cannot express it; llama.cpp encodes texts without it",)
    assert [(limit.code, limit.cases) for limit in done.report.limits] == [("TL003", 1)]
    assert files(tmp_path) == {"in.tokenizer.json"}
    done = to_gguf(source, "e\u0301", count=0)
    assert (done.written, conversion_exit_code(done), done.differing, done.unexplained) == (True, 0, 1, 0)
    assert files(tmp_path) == {"in.tokenizer.json", "out.gguf"}


def test_a_file_with_an_unexplained_difference_is_written_only_if_requested(byte_level, to_gguf, tmp_path, monkeypatch):
    monkeypatch.setattr(Explainer, "find", lambda *_: ())
    source = byte_level(normalizer={"type": "NFC"})
    done = to_gguf(source, "e\u0301", "plain", count=0)
    assert (done.written, conversion_exit_code(done), done.differing, done.unexplained) == (False, 1, 1, 1)
    assert files(tmp_path) == {"in.tokenizer.json"}
    done = to_gguf(source, "e\u0301", count=0, unexplained=True)
    assert (done.written, conversion_exit_code(done), done.unexplained) == (True, 0, 1)
    assert files(tmp_path) == {"in.tokenizer.json", "out.gguf"}


def test_unexplained_and_strict_contradict_each_other(byte_level, to_gguf):
    with pytest.raises(TokverifyError, match="choose one of them"):
        to_gguf(byte_level(), unexplained=True, strict=True)


def test_limits_count_the_cases_and_the_generated_texts(byte_level, to_gguf):
    done = to_gguf(byte_level(normalizer={"type": "Lowercase"}), "A", "a")
    assert [(limit.code, limit.cases) for limit in done.report.limits] == [("TL003", done.differing)]
    assert done.differing > 1


def test_each_unexplained_cause_has_a_minimal_text(byte_level, to_gguf, monkeypatch):
    monkeypatch.setattr(Explainer, "find", lambda *_: ())
    done = to_gguf(byte_level(normalizer={"type": "Lowercase"}))
    found = [result for result in done.report.results if result.case.suite == "found"]
    assert min(len(result.case.text) for result in found) == 1
    assert all("found in" in result.notes[0] for result in found)


def test_expected_ids_of_cases_are_ignored(byte_level, tmp_path):
    case = Case(id="a", suite="s", text="fox", expect={"out": (1, 2, 3)})
    assert convert(byte_level(), tmp_path / "out.gguf", cases=[case], count=0).written


def test_progress_is_reported(byte_level, to_gguf):
    calls = []
    to_gguf(byte_level(), "a", "b", on_progress=lambda done, total: calls.append((done, total)))
    assert calls[:2] == [(1, 302), (2, 302)]
    assert calls[-1] == (302, 302)


def test_the_result_is_deterministic(byte_level, tmp_path):
    source = byte_level(normalizer={"type": "NFC"})
    one, two = (
        convert(source, tmp_path / "out.gguf", count=500, seed=3, force=True, unexplained=True) for _ in range(2)
    )
    assert one == two


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_a_sentencepiece_model_becomes_a_gguf_file(to_gguf, tmp_path, model_type):
    source = tmp_path / "in.model"
    source.write_bytes(train_model(vocab_size=330, model_type=model_type, byte_fallback=model_type == "bpe"))
    done = to_gguf(source, "the red fox", count=0)
    assert (done.written, done.differing) == (True, 0)
    assert load_gguf(tmp_path / "out.gguf").fingerprint == load_model(source).fingerprint


def test_the_sample_is_its_converted_model(tmp_path):
    done = convert(SAMPLE / "sample.tokenizer.model", tmp_path / "out.gguf", count=200, unexplained=True)
    # Its runs of spaces are user-defined pieces, which sentencepiece finds where a text holds a `▁`, too.
    assert done.differing
    assert done.unexplained == 0
    made, known = (replace(read_spec(path), general={}) for path in (tmp_path / "out.gguf", SAMPLE / "sample.gguf"))
    assert made.tokens == known.tokens
    unknown = made.special_ids["unk"]
    assert [id for id, types in enumerate(zip(made.types, known.types, strict=True)) if len(set(types)) > 1] == [
        unknown
    ]


def test_a_gguf_file_becomes_a_tokenizer_json(tmp_path):
    done = convert(SAMPLE / "sample.gguf", tmp_path / "out.json", count=300)
    assert (done.written, done.differing, done.kinds) == (True, 0, ("gguf", "tokenizers"))
    encoder, made = load_gguf(SAMPLE / "sample.gguf"), Tokenizer.from_file(str(tmp_path / "out.json"))
    assert made.encode("a    b", add_special_tokens=False).ids == encoder.encode("a    b")
    assert any("tokenizer_config.json can" in part for part in done.untransportable)


def test_a_config_is_written_on_request(byte_level, to_gguf, tmp_path):
    source = byte_level(END)
    (tmp_path / "in.tokenizer_config.json").write_text('{"eos_token": "<|end|>", "chat_template": "{{ x }}"}')
    to_gguf(source)
    target = tmp_path / "back.tokenizer.json"
    done = convert(tmp_path / "out.gguf", target, count=100, with_config=True)
    assert done.written
    config = json.loads((tmp_path / "back.tokenizer_config.json").read_text())
    assert (config["eos_token"], config["chat_template"]) == ("<|end|>", "{{ x }}")
    assert not any("tokenizer_config.json" in part for part in done.untransportable)
    spec = load_model(target).spec
    assert (spec.tokens[spec.special_ids["eos"]], spec.chat_template) == ("<|end|>", "{{ x }}")


def test_pattern_pre_tokenizers_can_be_written_as_tokenizer_json(byte_level, to_gguf, tmp_path):
    to_gguf(byte_level())
    for pre in ("stablelm2", "deepseek-v3", "bloom", "starcoder"):
        spec = replace(read_spec(tmp_path / "out.gguf"), pre=pre)
        gguf_writer.write_gguf(tmp_path / f"{pre}.gguf", spec)
        assert convert(tmp_path / f"{pre}.gguf", tmp_path / f"{pre}.json", count=300).written


def test_a_tokenizer_that_tokenizer_json_cannot_express_is_refused(to_gguf, tmp_path):
    source = tmp_path / "in.gguf"
    gguf_writer.write_gguf(source, spec_of("rwkv", ["a", "b"]))
    with pytest.raises(
        UnsupportedError, match=r"cannot be expressed as a tokenizer\.json: cannot rebuild the model 'rwkv'"
    ):
        convert(source, tmp_path / "out.json", count=0)
    assert files(tmp_path) == {"in.gguf"}


def convert_twice(path: Path, spec: TokenizerSpec, *texts: str) -> Conversion:
    """Convert a GGUF file to a tokenizer.json and back, and check that the vocabulary is the same as before."""
    gguf_writer.write_gguf(path / "in.gguf", spec)
    cases = [Case(id=str(number), suite="made", text=text) for number, text in enumerate(texts)]
    done = convert(path / "in.gguf", path / "tokenizer.json", cases=cases, count=300, with_config=True)
    again = convert(path / "tokenizer.json", path / "again.gguf", cases=cases, count=300)
    assert (again.written, again.warnings) == (True, ())
    second, first = (read_spec(path / name) for name in ("again.gguf", "in.gguf"))
    assert (second.tokens, second.types) == (first.tokens, first.types)
    return done


@pytest.mark.parametrize("merges_spaces", [True, False])
def test_a_unigram_model_becomes_a_tokenizer_json(tmp_path, merges_spaces):
    spec = unigram_spec(
        {"▁": -3.0, "a": -2.0, "b": -2.5, "▁a": -1.0, "ab": -2.2, "<x>": 0.0},
        {"<x>": USER_DEFINED},
        add_space_prefix=True,
        remove_extra_whitespaces=merges_spaces,
    )
    done = convert_twice(tmp_path, spec, "a ab", " a  b ", "c", "a<x>b")
    assert (done.written, done.unexplained) == (True, 0)
    encoder, made = load_gguf(tmp_path / "in.gguf"), Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in ("a ab", "a  b", "  a", "acb", "a</s>b"):
        assert made.encode(text).ids == encoder.encode(text, add_special=True)


def test_wordpiece_becomes_a_tokenizer_json(tmp_path):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁ab", "▁a", "b", "c", "▁."]
    roles = {"pad": 0, "unk": 1, "bos": 2, "sep": 3}
    spec = spec_of("bert", pieces, dict.fromkeys(pieces[:4], CONTROL), special_ids=roles, lowercase=True)
    done = convert_twice(tmp_path, spec, "abc ab.", "Ab", "x", "a[SEP]b")
    assert (done.written, done.unexplained) == (True, 0)
    assert not [each for each in done.untransportable if "clean_spaces" in each]
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert {name: token for name, token in config.items() if name.endswith("_token")} == {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
    }
    made = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert made.encode("ABC a.").tokens == ["[CLS]", "ab", "##c", "a", ".", "[SEP]"]
    assert made.decode(made.encode("abc a").ids) == "abc a"


def test_a_tokenizer_json_gets_the_pattern_of_its_source_and_not_that_of_llama_cpp(tmp_path):
    # In llama.cpp's version of Tekken's pattern, a combining mark is no part of a word.
    words = ["ä".encode(), "a\N{COMBINING DIAERESIS}".encode(), "\N{COMBINING DIAERESIS}".encode()]
    source = tmp_path / "tekken.json"
    source.write_text(json.dumps(make_tekken(words, ["<unk>", "<s>", "</s>"], pattern=ORIGINALS["tekken"])))
    cases = [Case(id="mark", suite="made", text="a\N{COMBINING DIAERESIS}")]
    to_json = convert(source, tmp_path / "tokenizer.json", cases=cases, count=300)
    assert (to_json.written, to_json.differing) == (True, 0)
    to_gguf = convert(source, tmp_path / "out.gguf", cases=cases, count=0)
    assert [limit.code for limit in to_gguf.report.limits] == ["TL012"]


def test_limits_explain_where_a_tokenizer_json_differs_from_a_sentencepiece_model(tmp_path):
    source = tmp_path / "in.model"
    pieces = [
        ("<unk>", 0, UNKNOWN),
        *((text, 0, CONTROL) for text in ("<s>", "</s>")),
        *((f"<0x{byte:02X}>", 0, BYTE) for byte in range(256)),
        *((text, -1, NORMAL) for text in "▁ab"),
        *((text, 0, USER_DEFINED) for text in ("ab", "ba")),
    ]
    source.write_bytes(make_model(pieces, {3: BPE, 35: 1}, {4: 0}))
    cases = [Case(id=text, suite="made", text=text) for text in ("a", "aba", "ab")]
    done = convert(source, tmp_path / "tokenizer.json", cases=cases, count=0)
    assert (done.written, done.differing, done.unexplained) == (True, 2, 0)
    assert [(limit.code, limit.cases) for limit in done.report.limits] == [("TL013", 2)]
    assert done.report.results[1].explained_by == ("TL013",)


def test_the_normalization_of_merges_is_kept_in_a_tokenizer_json_and_left_out_of_gguf(tmp_path):
    source = tmp_path / "in.model"
    source.write_bytes(train_model(vocab_size=330, model_type="bpe", byte_fallback=True))
    cases = [Case(id=text, suite="made", text=text) for text in (" the  fox ", "ﬁx", "the\n")]
    done = convert(source, tmp_path / "tokenizer.json", cases=cases, count=0)
    assert (done.written, done.differing) == (True, 0)
    done = convert(tmp_path / "tokenizer.json", tmp_path / "out.gguf", cases=cases, count=0)
    assert (done.written, done.unexplained) == (True, 0)
    assert [(limit.code, limit.cases) for limit in done.report.limits] == [("TL003", 3)]


def test_limits_explain_where_a_tokenizer_json_does_otherwise_than_llama_cpp_and_its_source(tmp_path):
    # As sentencepiece does, llama.cpp never takes the text of a control token for a piece.
    source = tmp_path / "in.model"
    source.write_bytes(train_model(vocab_size=70, model_type="unigram"))
    cases = [Case(id=text, suite="made", text=text, parse_special=False) for text in ("</s>", "the")]
    done = convert(source, tmp_path / "tokenizer.json", cases=cases, count=0)
    assert (done.written, done.differing) == (True, 1)
    assert [limit.code for limit in done.report.limits] == ["TL015"]
    assert "because of limits of llama.cpp or tokenizers" in verdict(done)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("place", ["write_kv_data_to_file", "close"])
def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch, error, place):
    import gguf

    real = getattr(gguf.GGUFWriter, place)

    def fail(self):
        real(self)
        raise error

    monkeypatch.setattr(gguf.GGUFWriter, place, fail)
    expected = TokverifyError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as raised:
        convert(SAMPLE / "sample.tokenizer.model", tmp_path / "out.gguf", count=0, unexplained=True)
    assert files(tmp_path) == set()
    if isinstance(error, OSError):
        assert str(raised.value).endswith(
            "out.gguf: cannot be written: No space left on device; free some space, or name another place"
        )


def test_an_interrupted_verification_keeps_the_old_file(byte_level, to_gguf, tmp_path):
    (tmp_path / "out.gguf").write_bytes(b"old")

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        to_gguf(byte_level(), "a", force=True, on_progress=interrupt)
    assert (tmp_path / "out.gguf").read_bytes() == b"old"
    assert files(tmp_path) == {"in.tokenizer.json", "out.gguf"}


def test_a_config_that_cannot_be_written_leaves_no_tokenizer_json(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tokverify.compare.convert.config_of", fail)
    with pytest.raises(TokverifyError, match=r"tokenizer_config\.json: cannot be written"):
        convert(SAMPLE / "sample.gguf", tmp_path / "tokenizer.json", count=0, with_config=True)
    assert files(tmp_path) == set()


def test_a_text_that_only_one_side_can_encode_is_a_difference(to_gguf, tmp_path):
    # Without pieces for bytes llama.cpp ends over a character that sentencepiece takes for unknown.
    pieces = [("<unk>", 0, UNKNOWN), ("<s>", 0, CONTROL), ("</s>", 0, CONTROL), ("▁", -1, NORMAL), ("a", -2, NORMAL)]
    (tmp_path / "in.model").write_bytes(make_model(pieces, {3: BPE}, {4: 0}))
    with pytest.raises(UnsupportedError, match=r"llama\.cpp would abort on every character that is no piece"):
        to_gguf(tmp_path / "in.model", "a", count=0)
    done = to_gguf(tmp_path / "in.model", "a", "b", count=0, unexplained=True)
    assert (done.written, done.differing, done.unexplained) == (True, 1, 1)
    assert count_status(done.report, Status.ERROR) == 1


def test_added_tokens_beside_a_sentencepiece_model_are_written(to_gguf, tmp_path):
    source = tmp_path / "tokenizer.model"
    options = {"remove_extra_whitespaces": False, "normalization_rule_name": "identity"}
    source.write_bytes(train_model(vocab_size=330, model_type="bpe", byte_fallback=True, **options))
    size = len(load_model(source).spec.tokens)
    added = {size: {"content": "<|end|>", "special": True}, size + 1: {"content": "<call>", "special": False}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|end|>", "added_tokens_decoder": added}))
    done = to_gguf(source, "fox<call>the", "fox<|end|>", "<call>")
    spec = read_spec(tmp_path / "out.gguf")
    assert (done.written, done.differing, spec.tokens[size:]) == (True, 0, ["<|end|>", "<call>"])
    assert spec.special_ids["eos"] == size


def test_the_sentinels_that_t5_s_class_appends_are_written_the_last_first(to_gguf, tmp_path):
    source = tmp_path / "spiece.model"
    source.write_bytes(train_model(vocab_size=120, model_type="unigram"))
    size = len(load_model(source).spec.tokens)
    (tmp_path / "tokenizer_config.json").write_text('{"extra_ids": 3, "eos_token": "</s>"}')
    done = to_gguf(source, "fox <extra_id_0>", "fox")
    spec = read_spec(tmp_path / "out.gguf")
    assert (done.written, done.differing) == (True, 0)
    assert spec.tokens[size:] == ["<extra_id_2>", "<extra_id_1>", "<extra_id_0>"]
    assert list(spec.types[size:]) == [CONTROL] * 3


def test_user_defined_pieces_are_matched_differently(to_gguf, tmp_path):
    pieces = [
        ("<unk>", 0, UNKNOWN),
        *((text, 0, CONTROL) for text in ("<s>", "</s>")),
        *((f"<0x{byte:02X}>", 0, BYTE) for byte in range(256)),
        *((text, -1, NORMAL) for text in "▁ab"),
        *((text, 0, USER_DEFINED) for text in ("ab", "ba")),
    ]
    (tmp_path / "in.model").write_bytes(make_model(pieces, {3: BPE, 35: 1}, {4: 0}))
    done = to_gguf(tmp_path / "in.model", "a", "aba", "ab", count=0)
    assert (done.differing, done.unexplained) == (2, 0)
    assert [(limit.code, limit.cases) for limit in done.report.limits] == [("TL013", 2)]


def test_a_source_whose_files_contradict_each_other_is_warned_of(byte_level, to_gguf, tmp_path):
    source = byte_level()
    (tmp_path / "in.tokenizer_config.json").write_text('{"add_bos_token": true}')
    (warning,) = (each for each in to_gguf(source, "a").warnings if "contradict" in each)
    assert warning.endswith("add_bos_token true, but the tokenizer adds none")
