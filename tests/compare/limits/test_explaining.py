"""Each limit explains exactly the cases that it causes, and never a fault of the file that looks similar."""

import json
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.bare_tokenizer import IdsOnly
from support.limits import (
    BYTE_LEVEL,
    added,
    assert_different,
    assert_limit,
    bpe_document,
    explained,
    verify,
    write_json,
)
from support.rule_maker import gemma_json
from support.spec_maker import BYTE_PIECES, CONTROL, USER_DEFINED, bpe_spec, spec_of, spm_spec, unigram_spec
from tokverify import verify_model
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.limits import explaining
from tokverify.compare.limits.explaining import Explainer
from tokverify.compare.limits.limit import Counterfactual, Limit, Text
from tokverify.compare.limits.sides import Sides
from tokverify.compare.opened import Opened
from tokverify.engine.byte_level import to_byte_level
from tokverify.engine.deviating_encoder import DeviatingEncoder
from tokverify.engine.deviation import Deviation
from tokverify.engine.encoder import Encoder
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.engine.settings import resolve
from tokverify.references import open_reference
from tokverify.references.rebuilt import rebuild
from tokverify.repair.search import diagnose
from tokverify.report.finding import ERROR, INFO
from tokverify.report.tokenizer_difference import Aspect, Origin, Verdict
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.original_pattern import ORIGINALS
from tokverify.sources.tokenizer_file import read_spec as read_spec_of
from tokverify.spec import TokenizerSpec, TokenType

NORMAL = TokenType.NORMAL.value


def test_an_overridden_type_is_a_limit_unless_the_file_types_a_token_wrongly(tmp_path: Path):
    # llama.cpp makes `</s>` a control token and always matches `<|start|>`; it decides nothing about <x>.
    spec = bpe_spec(["a b"], {"</s>": NORMAL, "<|start|>": CONTROL, "<x>": CONTROL})
    ids = {text: spec.tokens.index(text) for text in ("<|start|>", "<x>")}
    tokens = [added(id, text) for text, id in ids.items()]
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, tokens))
    texts = ("ab</s>ab", "ab<|start|>", "<x>ab", "</s><x>")
    assert_limit(verify(spec, path, texts), "TL001")
    wrong = replace(spec, types=[NORMAL if id == ids["<x>"] else type for id, type in enumerate(spec.types or ())])
    assert_different(verify(wrong, path, texts))


def test_a_sentinel_of_t5_is_no_convention_in_another_model(tmp_path: Path):
    spec = bpe_spec(["a b"], {"<extra_id_0>": TokenType.USER_DEFINED.value})
    tokens = [added(spec.tokens.index("<extra_id_0>"), "<extra_id_0>")]
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, tokens))
    report = verify(spec, path, ("a<extra_id_0>",))
    assert_different(report)
    assert [each.severity for each in report.differences if each.aspect is Aspect.TYPES] == [ERROR]


def test_what_the_converter_types_as_control_is_a_convention_unless_it_does_not_look_special(tmp_path: Path):
    spec = bpe_spec(["a b"], {"<｜User｜>": CONTROL, "<unused1>": CONTROL, "<think>": USER_DEFINED})
    texts = ("<｜User｜>", "<unused1>", "<think>")
    tokens = [added(spec.tokens.index(text), text, special=False) for text in texts]
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, tokens))
    texts = ("<｜User｜>ab", "ab<unused1>", "<think>ab")
    report = verify(spec, path, texts)
    assert_limit(report, "TL002")
    assert [limit.origin for limit in report.limits] == [Origin.CONVENTION]
    # `<think>` does not look special, so no converter would have made it a control token.
    hidden = [CONTROL if type == USER_DEFINED else type for type in spec.types or ()]
    assert_different(verify(replace(spec, types=hidden), path, texts))
    # A marker that is typed NORMAL is not matched at all.
    first = spec.tokens.index("<｜User｜>")
    wrong = [NORMAL if id == first else type for id, type in enumerate(spec.types or ())]
    assert_different(verify(replace(spec, types=wrong), path, texts))


def test_a_declared_normalizer_is_a_limit_unless_merges_are_exchanged(tmp_path: Path):
    # é is one token in NFC; the merges decide about "abc".
    spec = bpe_spec(["Ã ©", "a b", "b c"], {})
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, normalizer={"type": "NFC"}))
    texts = ("cafe\u0301", "caf\u00e9", "abc e\u0301")
    report = verify(spec, path, texts)
    assert_limit(report, "TL003")
    assert report.limits[0].message == "llama.cpp does not normalize texts with NFC"
    wrong = replace(spec, merges=["Ã ©", "b c", "a b"])
    report = verify(wrong, path, texts)
    assert_different(report)
    assert [result.case.text for result in report.results if result.explained_by] == ["cafe\u0301"] * 2


def test_no_normalizer_is_assumed_that_the_reference_does_not_declare(tmp_path: Path):
    spec = bpe_spec(["Ã ©"], {})
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec))
    # The reference encodes the accent as it is; a file that lacks the merge of `Ì` and its byte differs.
    other = replace(spec, merges=[])
    assert_different(verify(other, path, ("caf\u00e9",)))


LLAMA_3 = (
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
    "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
)

GPT_4O = (
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
)


def split_by(pattern: str) -> dict[str, Any]:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, {**BYTE_LEVEL, "use_regex": False}]}


def test_another_version_of_unicode_is_a_limit_unless_the_pre_tokenizer_is_wrong(tmp_path: Path):
    # Of four Garay digits (Unicode 16), the reference splits off the fourth, so that the merge cannot reach it.
    digits = "\U00010d40\U00010d41\U00010d42\U00010d43"
    crossing = f"{to_byte_level(digits)[11]} {to_byte_level(digits)[12]}"
    spec = bpe_spec([crossing, "3 4"], {}, pre="llama-bpe")
    document = bpe_document(spec, pre_tokenizer=split_by(LLAMA_3), model={"ignore_merges": True})
    path = write_json(tmp_path / "tokenizer.json", document)
    texts = (f"a {digits}", digits, "12345", "a b")
    report = verify(spec, path, texts)
    assert_limit(report, "TL004")
    assert "Unicode 15.1, and the reference by Unicode 16" in report.limits[0].message
    assert_different(verify(replace(spec, pre="gpt-2"), path, texts))


@pytest.mark.slow
def test_a_pattern_that_llama_cpp_lacks_is_a_limit_only_with_the_nearest_name(tmp_path: Path):
    # No name of llama.cpp keeps exactly two digits together; `llama-bpe`, with three, is nearest in all else.
    pattern = LLAMA_3.replace("{1,3}", "{1,2}")
    merges = ["1 2", "2 3", "12 3", "3 4", "' s", "h e"]
    spec = bpe_spec(merges, {}, pre="llama-bpe")
    document = bpe_document(spec, pre_tokenizer=split_by(pattern), model={"ignore_merges": True})
    path = write_json(tmp_path / "tokenizer.json", document)
    texts = ("1234", "he's", "he 12")
    assert_limit(verify(spec, path, texts), "TL012")
    for wrong in ("gpt-2", "bloom", "tekken", "default", "deepseek-llm"):
        assert_different(verify(replace(spec, pre=wrong), path, texts))


def test_another_pattern_is_no_limit_if_merges_make_every_token_of_the_ranks(tmp_path: Path):
    # tiktoken looks up whole pre-tokens first, which GPT-2's pre-tokenizer does not; it makes no difference here.
    tokens = [*(bytes([byte]) for byte in range(256)), b"12", b"34", b"1234"]
    path = tmp_path / "small.tiktoken"
    path.write_text("".join(f"{b64encode(token).decode()} {id}\n" for id, token in enumerate(tokens)))
    source = Path(f"{path}:gpt-2")
    spec = read_spec_of(source)
    assert verify(replace(spec, pre="gpt-2"), source, ("1234", "a 12")).verdict is Verdict.EQUAL
    assert_different(verify(replace(spec, pre="llama-bpe"), source, ("1234", "a 12")))


def test_ignore_merges_is_a_limit_only_if_no_name_has_the_right_value(tmp_path: Path):
    # No merge makes "abc"; llama.cpp has Llama 3's pattern with both values.
    marked = f"a {to_byte_level(chr(0x301))[0]}"
    spec = bpe_spec(["a b", marked, "3 3", "e '"], {}, tokens=["abc"], pre="llama-bpe")
    document = bpe_document(spec, pre_tokenizer=split_by(LLAMA_3), model={"ignore_merges": False})
    path = write_json(tmp_path / "tokenizer.json", document)
    assert_different(verify(spec, path, ("abc", "ab c")))
    assert explained(verify(replace(spec, pre="smaug-bpe"), path, ("abc", "ab c"))) == set()
    # It has GPT-4o's exact pattern only with `ignore_merges` on, and a nearly exact one with it off.
    document = bpe_document(spec, pre_tokenizer=split_by(GPT_4O), model={"ignore_merges": False})
    path = write_json(tmp_path / "tokenizer.json", document)
    assert_limit(verify(replace(spec, pre="granite-embed-multi-97m"), path, ("abc", "ab c")), "TL006")
    assert explained(verify(replace(spec, pre="gpt-4o"), path, ("abc", "ab c"))) == set()
    nearest = verify(replace(spec, pre="gpt-4o"), path, ("a\u0301b",))
    assert_limit(nearest, "TL012")
    assert "gpt-4o is nearest of those with ignore_merges off" in nearest.limits[0].message
    assert_different(verify(replace(spec, pre="llama-bpe"), path, ("abc", "ab c")))


@pytest.mark.parametrize(
    ("flags", "texts"),
    [
        ({"<x>": {"lstrip": True}}, ("ab <x> ab", "ab", " ab")),
        ({"<x>": {"rstrip": True}}, ("<x>\n ab", "a b")),
        ({"<x>": {"single_word": True}}, ("a<x>b", "a <x> b", "<x>")),
        ({"<x>": {"lstrip": True}, "<y>": {"rstrip": True}}, ("ab <x>", "<y> ab", "ab\n\n<x> <y>\tab")),
    ],
)
def test_flags_of_added_tokens_are_a_limit_unless_a_token_is_not_matched(tmp_path: Path, flags, texts):
    spec = bpe_spec(["a b", "Ġ a"], {"<x>": CONTROL, "<y>": USER_DEFINED})
    x, y = (spec.tokens.index(text) for text in ("<x>", "<y>"))
    tokens = [added(x, "<x>", **flags.get("<x>", {})), added(y, "<y>", special=False, **flags.get("<y>", {}))]
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, tokens))
    assert_limit(verify(spec, path, texts), "TL007")
    wrong = [NORMAL if id == x else type for id, type in enumerate(spec.types or ())]
    assert_different(verify(replace(spec, types=wrong), path, [*texts, "<x>"]))


def test_flags_that_the_name_of_the_model_brings_are_no_limit(tmp_path: Path):
    spec = bpe_spec(["a b", "Ġ a"], {"[MASK]": CONTROL})
    mask = added(spec.tokens.index("[MASK]"), "[MASK]", lstrip=True)
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, [mask]))
    texts = ("ab [MASK] ab", "ab")
    assert_different(verify(spec, path, texts))
    report = verify(spec, path, texts)
    found = open_reference(path)
    result = diagnose(spec, Opened(found.tokenizer, found.path), report.results, encoder=Encoder(spec))
    assert result is not None
    assert 'renaming the model to "' in result.diagnosis.explanations[0].sentence
    named = replace(spec, general={**spec.general, "name": "a modern-bert"})
    assert verify(named, path, texts).verdict is Verdict.EQUAL
    assert_limit(verify(named, path, ("ab\u2009[MASK]",)), "TL007")
    assert read_spec_of(path).general == {"name": "modern-bert"}


def test_a_flag_is_a_limit_if_the_name_that_brings_it_brings_more_wrong_ones(tmp_path: Path):
    """Named like Phi-3, llama.cpp would strip spaces after every special token, which the reference does of one."""
    # llama.cpp does not load such a file without the first four.
    specials = dict.fromkeys(["</s>", "<unk>", "<s>", "<|endoftext|>", "<y>", "<z>"], CONTROL)
    spec = bpe_spec(["a b", "Ġ a"], {**specials, "<x>": USER_DEFINED})
    tokens = [added(spec.tokens.index(text), text) for text in specials]
    tokens.append(added(spec.tokens.index("<x>"), "<x>", special=False, rstrip=True))
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, tokens))
    assert_limit(verify(spec, path, ("<x> ab", "<y> ab <z> a")), "TL007")


def test_the_order_of_added_tokens_is_a_limit_unless_one_is_missing(tmp_path: Path):
    # From left to right, `<ab` is first; llama.cpp splits at the longer `b>>>` first.
    spec = bpe_spec([], {"<ab": USER_DEFINED, "b>>>": USER_DEFINED})
    first, second = (spec.tokens.index(text) for text in ("<ab", "b>>>"))
    tokens = [added(first, "<ab", special=False), added(second, "b>>>", special=False)]
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, tokens))
    texts = ("<ab>>>", "<ab", "b>>>")
    assert_limit(verify(spec, path, texts), "TL008")
    wrong = [NORMAL if id == first else type for id, type in enumerate(spec.types or ())]
    assert_different(verify(replace(spec, types=wrong), path, texts))


def test_two_limits_explain_a_case_together(tmp_path: Path):
    spec = bpe_spec(["Ã ©"], {"</s>": NORMAL})
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, normalizer={"type": "NFC"}))
    report = verify(spec, path, ("e\u0301</s>", "x"))
    assert [result.explained_by for result in report.results] == [("TL001", "TL003"), ("TL003",), (), ()]
    assert {limit.code: limit.cases for limit in report.limits} == {"TL001": 1, "TL003": 2}


def test_a_fault_of_the_file_is_found_in_a_case_that_needs_a_limit_too(tmp_path: Path):
    spec = bpe_spec(["Ã ©", "a b", "b c"], {})
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, normalizer={"type": "NFC"}))
    wrong = replace(spec, merges=["Ã ©", "b c", "a b"])
    report = verify(wrong, path, ("abc e\u0301", "e\u0301", "x"))
    found = open_reference(path)
    result = diagnose(wrong, Opened(found.tokenizer, found.path), report.results, encoder=Encoder(wrong))
    assert result is not None
    best = result.diagnosis.explanations[0]
    assert (best.failing, best.unexplained) == (2, ())
    assert "merges" in best.expressible_part
    assert best.inexpressible_part == "normalizing texts with NFC first"


def test_what_the_repair_leaves_to_a_limit_is_no_part_of_the_cause(tmp_path: Path):
    spec = bpe_spec(["Ã ©", "a b", "b c"], {})
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, normalizer={"type": "NFC"}))
    write_gguf(tmp_path / "wrong.gguf", replace(spec, merges=["Ã ©", "b c", "a b"]))
    texts = ("abc e\u0301", "abc", "e\u0301", "x")
    cases = [Case(id=str(index), suite="s", text=text) for index, text in enumerate(texts)]
    report = verify_model(tmp_path / "wrong.gguf", path, cases, diagnose=True)
    first = report.diagnosis.explanations[0]
    assert (first.is_repair, first.expressible, first.unexplained) == (True, True, ())
    assert (first.explained, first.failing) == (1, 2)


SPM = spm_spec({"▁": -1, "a": -2, "b": -3, "ab": -4, "▁a": -5}, special_ids={"unk": 0})


def sentencepiece_document(*, fuse_unk: bool) -> dict[str, Any]:
    """Return a tokenizer.json equivalent to SPM, except for byte fallback."""
    return {
        "version": "1.0",
        "added_tokens": [added(id, SPM.tokens[id]) for id in range(3)],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "Fuse"},
            ],
        },
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": fuse_unk,
            "byte_fallback": False,
            "vocab": {token: id for id, token in enumerate(SPM.tokens)},
            "merges": ["a b", "▁ a"],
        },
    }


@pytest.mark.parametrize("fuse_unk", [True, False])
def test_byte_fallback_is_a_limit_unless_a_piece_is_wrong(tmp_path: Path, fuse_unk):
    path = write_json(tmp_path / "tokenizer.json", sentencepiece_document(fuse_unk=fuse_unk))
    assert SPM.tokens[3:259] == list(BYTE_PIECES)
    texts = ("ab", "a日本b", "é", "a\nb", "ab 🦙🦙")
    assert_limit(verify(SPM, path, texts), "TL009")
    lost = ["x" if piece == "ab" else piece for piece in SPM.tokens]
    assert_different(verify(replace(SPM, tokens=lost), path, texts))


def test_a_text_of_which_a_normalizer_leaves_nothing_is_explained_by_it(tmp_path: Path):
    document = sentencepiece_document(fuse_unk=False)
    document["normalizer"]["normalizers"].insert(0, {"type": "Replace", "pattern": {"String": "x"}, "content": ""})
    path = write_json(tmp_path / "tokenizer.json", document)
    assert_limit(verify(SPM, path, ("x", "xab", "ab")), "TL003")
    assert_different(verify(replace(SPM, add_space_prefix=False), path, ("x", "ab")))


def test_merges_that_scores_cannot_order_are_a_limit_unless_the_scores_are_in_another_order(tmp_path: Path):
    document = sentencepiece_document(fuse_unk=True)
    ids = {"<unk>": 0, **{piece: id for id, piece in enumerate(BYTE_PIECES, 1)}}
    ids |= {piece: 257 + id for id, piece in enumerate(["▁", "a", "b", "c", "ab", "bc", "abc"])}
    # `abc` is made of `ab` and `c` only, but llama.cpp also makes it of `a` and `bc`, which is formed first.
    document["model"] |= {"vocab": ids, "byte_fallback": True, "merges": ["b c", "a b", "ab c"]}
    document["added_tokens"] = [added(0, "<unk>")]
    path = write_json(tmp_path / "tokenizer.json", document)
    spec = read_spec_of(path)
    assert spec.scores[ids["bc"]] > spec.scores[ids["ab"]] > spec.scores[ids["abc"]]
    assert_limit(verify(spec, path, ("abc", "abcabc ab", "bc")), "TL022")
    swapped = list(spec.scores)
    swapped[ids["ab"]], swapped[ids["bc"]] = swapped[ids["bc"]], swapped[ids["ab"]]
    assert_different(verify(replace(spec, scores=swapped), path, ("abc",)))


def test_a_token_found_in_normalized_text_is_a_limit_unless_its_text_is_wrong(tmp_path: Path):
    # The first Llama models' <s> is found where the normalizer has written a space before it.
    document = sentencepiece_document(fuse_unk=True)
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    document["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, spaces]}
    document["model"]["byte_fallback"] = True
    document["added_tokens"] = [added(1, "<s>", normalized=True)]
    path = write_json(tmp_path / "tokenizer.json", document)
    spec = replace(SPM, add_space_prefix=True, add_bos=False)
    texts = ("<s>ab", "ab <s> ab", "ab<s>ab", "<s><s>", "ab")
    assert_limit(verify(spec, path, texts), "TL007")
    wrong = ["<t>" if piece == "<s>" else piece for piece in spec.tokens]
    assert_different(verify(replace(spec, tokens=wrong), path, texts))


WORDS = spec_of(
    "bert",
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "b", "▁b", "▁,"],
    add_bos=False,
    add_sep=False,
    special_ids={"unk": 1, "bos": 2, "sep": 3},
)


def wordpiece_document() -> dict[str, Any]:
    """Return a tokenizer.json equivalent to WORDS, in which `▁` is an ordinary character."""
    texts = [piece.removeprefix("▁") if "▁" in piece else f"##{piece}" for piece in WORDS.tokens[4:]]
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {text: id for id, text in enumerate([*WORDS.tokens[:4], *texts])},
        },
    }


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (("a▁b", "ab▁a,▁", "abb", "▁", "▁a", "a ▁ b"), "TL005"),
        # llama.cpp splits at a vertical tab, which the reference drops.
        (("a\vb", "a b"), "TL010"),
        (("a" + "b" * 150, "ab"), "TL011"),
    ],
)
def test_what_differs_for_bert_is_a_limit_unless_the_file_is_wrong_about_case(tmp_path: Path, texts, code):
    path = write_json(tmp_path / "tokenizer.json", wordpiece_document())
    assert_limit(verify(WORDS, path, texts), code)
    assert_different(verify(replace(WORDS, lowercase=False, strip_accents=False), path, [*texts, "A"]))


def test_what_differs_for_bert_is_a_limit_also_if_only_ids_are_known(tmp_path: Path):
    found = open_reference(write_json(tmp_path / "tokenizer.json", wordpiece_document()))
    cases = [Case(id=str(index), suite="s", text=text) for index, text in enumerate(("a\vb", "ab", "a b"))]
    reference = IdsOnly(found.tokenizer)
    reference.adds_special = False
    report = verify_tokenizers(Encoder(WORDS), reference, cases)
    assert_limit(report, "TL010")
    assert "as BERT does elsewhere" in report.limits[0].message
    wrong = replace(WORDS, lowercase=False, strip_accents=False)
    upper = Case(id="upper", suite="s", text="A\vB")
    assert_different(verify_tokenizers(Encoder(wrong), reference, [upper]))


def test_an_overridden_type_is_a_limit_also_if_only_ids_are_known():
    file = bpe_spec([], {"<|fim_prefix|>": CONTROL, "<|word|>": CONTROL})
    matching = replace(file, types=[USER_DEFINED if type == CONTROL else type for type in file.types])
    case, other = (
        Case(id=text, suite="s", text=f"a{text}b", add_special=False, parse_special=False)
        for text in ("<|fim_prefix|>", "<|word|>")
    )
    right = DeviatingEncoder.of(Encoder(matching), Deviation(specials={256: False, 257: False}))
    assert_limit(verify_tokenizers(Encoder(file), IdsOnly(right), [case]), "TL001")
    # The file could declare this one.
    assert_different(verify_tokenizers(Encoder(file), IdsOnly(right), [case, other]))


def test_special_pieces_of_unigram_in_plain_text_are_a_limit_also_if_only_ids_are_known():
    pieces = {"▁": -1.0, "a": -2.0, "b": -2.0, "<extra_id_0>": -3.0, "<word>": -3.0}
    file = unigram_spec(pieces, {"<extra_id_0>": CONTROL, "<word>": CONTROL})
    case, other = (
        Case(id=text, suite="s", text=f"a{text}b", add_special=False, parse_special=False)
        for text in ("<extra_id_0>", "<word>")
    )
    ids = map(file.tokens.index, ("<extra_id_0>", "<word>"))
    right = DeviatingEncoder.of(Encoder(file), Deviation(usable=dict.fromkeys(ids, True)))
    assert_limit(verify_tokenizers(Encoder(file), IdsOnly(right), [case]), "TL015")
    # Nothing says that this one is a control token in the reference.
    assert_different(verify_tokenizers(Encoder(file), IdsOnly(right), [case, other]))


def test_a_case_with_an_expectation_of_its_own_is_not_explained(tmp_path: Path):
    spec = bpe_spec(["Ã ©"], {})
    found = open_reference(write_json(tmp_path / "tokenizer.json", bpe_document(spec, normalizer={"type": "NFC"})))
    encoder = Encoder(spec, "m")
    wanted = tuple(found.tokenizer.encode("e\u0301", add_special=False, parse_special=True))
    case = Case(id="1", suite="s", text="e\u0301", expect={"m": wanted})
    assert_different(verify_tokenizers(encoder, found.tokenizer, [case]))


def test_strict_fails_on_what_is_only_faithful(tmp_path: Path):
    spec = bpe_spec(["Ã ©"], {})
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, normalizer={"type": "NFC"}))
    report = verify(spec, path, ("e\u0301", "x"), strict=True)
    assert (report.verdict, report.exit_code, report.ok) == (Verdict.FAITHFUL, 1, False)
    report = verify(spec, path, ("x",), strict=True)
    assert (report.verdict, report.exit_code, report.ok) == (Verdict.EQUAL, 0, True)


def real(vocabs: Path, name: str, target: Path, change: Callable[[dict[str, Any]], None]) -> TokenizerSpec:
    """Write a changed reference of a real vocabulary, and return the declaration of its GGUF file."""
    document = json.loads((vocabs / f"{name}.tokenizer.json").read_text("utf-8"))
    change(document)
    write_json(target, document)
    return read_spec(vocabs / f"{name}.gguf")


def test_no_byte_fallback_in_llama_2(vocabs: Path, tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    spec = real(vocabs, "llama-spm", path, lambda document: document["model"].update(byte_fallback=False))
    assert_limit(verify(spec, path, ("Hello", "Hello\nworld", "a 🦙 and 𝄞𝄞", "tab\there")), "TL009")


@pytest.mark.parametrize("flags", [{"lstrip": True}, {"rstrip": True}, {"lstrip": True, "rstrip": True}])
def test_an_added_token_that_strips_spaces_in_gpt_2(vocabs: Path, tmp_path: Path, flags):
    path = tmp_path / "tokenizer.json"
    spec = real(vocabs, "gpt-2", path, lambda document: document["added_tokens"][0].update(flags))
    texts = ("Hello", "end <|endoftext|> begin", "end\n<|endoftext|>\n\nbegin", " <|endoftext|>")
    assert_limit(verify(spec, path, texts), "TL007")


class Engine:
    """Another implementation of a file's tokenizer, which normalizes texts although the file says nothing of it."""

    name = "engine"
    parses_special = adds_special = True
    special_ids: Mapping[str, int] = {}

    def __init__(self, spec: TokenizerSpec, *, decodes_as_llama_cpp: bool) -> None:
        self._encoder = Encoder(spec)
        self.vocab_size = self._encoder.vocab_size
        self.decodes_as_llama_cpp = decodes_as_llama_cpp

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        text = unicodedata.normalize("NFC", text)
        return self._encoder.encode(text, add_special=add_special, parse_special=parse_special)

    def decode(self, ids: Sequence[int]) -> bytes:
        return self._encoder.decode(ids)

    def piece(self, id: int) -> str:
        return self._encoder.piece(id)

    def token_bytes(self, id: int) -> bytes:
        return self._encoder.token_bytes(id)


def test_no_limit_explains_what_llama_cpp_itself_or_an_engine_under_test_does():
    spec = bpe_spec(["Ã ©"], {})
    case = Case(id="1", suite="s", text="e\u0301")
    library, llama_cpp = (Engine(spec, decodes_as_llama_cpp=is_llama_cpp) for is_llama_cpp in (False, True))
    assert_limit(verify_tokenizers(Encoder(spec), library, [case]), "TL003")
    assert_different(verify_tokenizers(Encoder(spec), llama_cpp, [case]))
    assert_different(verify_tokenizers(Encoder(spec), library, [case], explain=False))


def test_another_file_is_no_reason_for_a_limit():
    one = bpe_spec(["a b"], {"<ab": USER_DEFINED, "b>>>": USER_DEFINED})
    other = replace(one, merges=[])
    assert_different(verify_tokenizers(Encoder(one), Encoder(other), [Case(id="1", suite="s", text="<ab>>> ab")]))


def test_a_control_token_that_is_a_whole_pre_token_is_a_limit_unless_merges_are_lost(tmp_path: Path):
    # llama-bpe looks up whole pre-tokens, also those of control tokens; no merge makes `ab`.
    spec = replace(bpe_spec(["c d"], {"ab": CONTROL, "<x>": CONTROL}), pre="llama-bpe")
    tokens = [added(spec.tokens.index(text), text) for text in ("ab", "<x>")]
    pattern = PRE_TOKENIZERS["llama-bpe"].patterns[0]
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    stages = {"type": "Sequence", "pretokenizers": [split, {**BYTE_LEVEL, "use_regex": False}]}
    document = bpe_document(spec, tokens, pre_tokenizer=stages, model={"ignore_merges": True})
    path = write_json(tmp_path / "tokenizer.json", document)
    assert_limit(verify(spec, path, ["ab", "ab cd ab"]), "TL015")
    assert_different(verify(replace(spec, merges=[]), path, ["ab", "ab cdc"]))


def test_bytes_without_pieces_are_a_limit_unless_merges_are_lost(tmp_path: Path):
    # The pieces of the bytes of `é` are missing; llama.cpp keeps what surrounds them apart, the reference merges it.
    missing = to_byte_level("é")
    spec = bpe_spec(["a b"], {"<x>": CONTROL})
    spec = replace(spec, tokens=[f"<{id}>" if token in missing else token for id, token in enumerate(spec.tokens)])
    tokens = [added(spec.tokens.index("<x>"), "<x>")]
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, tokens))
    texts = ("aéb", "ab aéb<x>")
    assert_limit(verify(spec, path, texts), "TL020")
    assert_different(verify(replace(spec, merges=[]), path, texts))


def test_bytes_without_pieces_are_a_limit_for_a_rebuilt_reference_unless_merges_are_lost():
    missing = to_byte_level("é")
    spec = replace(bpe_spec(["a b"]), pre="gpt-2")
    spec = replace(spec, tokens=[f"<{id}>" if token in missing else token for id, token in enumerate(spec.tokens)])
    rebuilt = rebuild(spec, resolve(spec)).tokenizer
    cases = [Case(id=text, suite="s", text=text) for text in ("aéb", "ab aéb")]
    assert_limit(verify_tokenizers(Encoder(spec), rebuilt, cases), "TL020")
    assert_different(verify_tokenizers(Encoder(replace(spec, merges=[])), rebuilt, cases))


def test_a_byte_that_other_pieces_contain_may_be_lost_which_a_rebuilt_reference_does_not_know():
    missing = to_byte_level("é")
    spec = replace(bpe_spec(["a b"]), pre="gpt-2")
    tokens = [f"<{id}>" if token in missing else token for id, token in enumerate(spec.tokens)]
    spec = replace(spec, tokens=[*tokens, missing], types=[*(spec.types or ()), NORMAL])
    rebuilt = rebuild(spec, resolve(spec)).tokenizer
    assert_different(verify_tokenizers(Encoder(spec), rebuilt, [Case(id="1", suite="s", text="aéb")]))


def test_a_limit_that_only_a_normalized_text_meets_explains_it_together_with_the_normalizer(tmp_path: Path):
    # Nothing is split differently before `x` becomes `1`.
    spec = bpe_spec(["1 1", "11 1"], {}, pre="llama-bpe")
    document = bpe_document(
        spec,
        pre_tokenizer=split_by(LLAMA_3.replace("{1,3}", "{1,2}")),
        normalizer={"type": "Replace", "pattern": {"String": "x"}, "content": "1"},
        model={"ignore_merges": True},
    )
    path = write_json(tmp_path / "tokenizer.json", document)
    report = verify(spec, path, ("xxxx",))
    assert_limit(report, "TL003", "TL012")
    assert_different(verify(replace(spec, pre="tekken"), path, ("xxxx",)))


@pytest.mark.parametrize("fuse_unk", [False, True])
def test_a_byte_that_becomes_unknown_is_a_limit_unless_merges_are_lost(tmp_path: Path, fuse_unk: bool):
    missing = to_byte_level("é")
    spec = bpe_spec(["a b"], {"<unk>": CONTROL})
    spec = replace(spec, tokens=[f"<{id}>" if token in missing else token for id, token in enumerate(spec.tokens)])
    ids = {token: id for id, token in enumerate(spec.tokens)}
    model = {"vocab": ids, "unk_token": "<unk>", "fuse_unk": fuse_unk}
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, [added(ids["<unk>"], "<unk>")], model=model))
    texts = ("aéb", "ab ééab")
    assert_limit(verify(spec, path, texts), "TL020")
    assert_different(verify(replace(spec, merges=[]), path, texts))


@pytest.mark.slow
def test_the_converter_s_name_is_the_nearest_although_another_splits_more_texts_alike(tmp_path: Path):
    # By `kimi-k2`, llama.cpp splits this pattern with a function that ignores case; `granite-embed-multi-97m` does not,
    # and splits fewer of the texts on which names are compared differently, but never separates Chinese.
    spec = bpe_spec(["a b", "A B", "ab AB", "Ġ ä"], {}, pre="kimi-k2")
    document = bpe_document(spec, pre_tokenizer=split_by(ORIGINALS["kimi-k2"]))
    path = write_json(tmp_path / "tokenizer.json", document)
    texts = ("ab", "abAB", "a 中")
    assert_limit(verify(spec, path, texts), "TL012")
    for wrong in ("granite-embed-multi-97m", "gpt-4o", "tekken", "llama-bpe"):
        assert_different(verify(replace(spec, pre=wrong), path, texts))
    assert read_spec_of(path).pre == "kimi-k2"


def test_the_stages_of_falcon_have_the_name_falcon_although_llama_cpp_splits_no_characters(tmp_path: Path):
    # Its stages look for digits in the characters of bytes: ¹ is one of the bytes of U+2E4E, and is split off. By
    # `default`, more texts are split alike, but merges tell the difference.
    spec = bpe_spec(["Ġ Â", "Ġ â", "` ."], {}, pre="falcon")
    stages = [
        {"type": "Punctuation", "behavior": "Contiguous"},
        {**BYTE_LEVEL, "use_regex": True},
        {"type": "Digits", "individual_digits": False},
        {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": False},
    ]
    document = bpe_document(spec, pre_tokenizer={"type": "Sequence", "pretokenizers": stages})
    path = write_json(tmp_path / "tokenizer.json", document)
    texts = (" ½", "`.", " \u2e4e", "a 1234")
    assert_limit(verify(spec, path, texts), "TL012")
    assert_different(verify(replace(spec, pre="default"), path, texts))
    assert read_spec_of(path).pre == "falcon"


@pytest.mark.parametrize("type", [NORMAL, USER_DEFINED])
def test_a_run_of_markers_that_the_reference_matches_is_a_limit_whatever_its_type(tmp_path: Path, type: int):
    # Merges make the same token of spaces; of a literal run, they take the space beside it, too.
    vocab = ["<unk>", "<bos>", "▁", "▁▁", "▁▁▁", "a", "▁a"]
    run = "▁▁" if type == NORMAL else "  "
    spec = TokenizerSpec(
        model="gemma4",
        tokens=[run if text == "▁▁" else text for text in vocab],
        types=[TokenType.UNKNOWN.value, CONTROL, NORMAL, type, NORMAL, NORMAL, NORMAL],
        merges=["▁ ▁", "▁▁ ▁", "▁ a"],
        special_ids={"unk": 0, "bos": 1},
    )
    document = gemma_json(vocab, spec.merges or (), [added(1, "<bos>"), added(3, "▁▁", special=False)])
    path = write_json(tmp_path / "tokenizer.json", document)
    assert_limit(verify(spec, path, ("a  a", "a▁▁ a", "a▁▁")), "TL005")
    assert_different(verify(replace(spec, merges=["▁ ▁"]), path, ("a a", "a▁▁ a")))


def test_a_nul_as_an_added_token_is_a_limit(tmp_path: Path):
    spec = bpe_spec(["a b"], {"\0": USER_DEFINED})
    path = write_json(tmp_path / "tokenizer.json", bpe_document(spec, [added(spec.tokens.index("\0"), "\0")]))
    assert_limit(verify(spec, path, ("a\0a", "\0", "ab")), "TL017")


def limits_that(deviations: Mapping[str, Deviation]) -> dict[str, Limit]:
    """Make limits by code that deviate so, although the reference does not declare it."""

    def find(deviation: Deviation, sides: object) -> Iterator[Counterfactual]:
        yield Counterfactual(reason="", sentence="", deviation=deviation, applies=lambda text: True, is_guess=True)

    return {
        code: Limit(code, code, Origin.RUNTIME, INFO, "", {}, partial(find, deviation))
        for code, deviation in deviations.items()
    }


def made_limits(*replaced: str) -> dict[str, Limit]:
    """Make limits that each replace a character, given as in `ab`."""
    return limits_that(
        {f"{a}{b}": Deviation(normalizers=(lambda text, a=a, b=b: text.replace(a, b),)) for a, b in replaced}
    )


@pytest.mark.parametrize(
    ("text", "reference", "codes"),
    [
        ("abc", "xbc", ("ax",)),
        ("abc", "xyc", ("ax", "by")),
        ("abc", "xyz", ("ax", "by", "cz")),
        ("a-d", "f-d", ("af",)),
    ],
)
def test_the_limits_that_explain_a_case_together_are_found_among_others(text, reference, codes, monkeypatch):
    limits = made_limits("ax", "1x", "by", "2x", "cz", "3x", "4x", "af")
    monkeypatch.setattr(explaining, "LIMITS", limits)
    encoder = Encoder(bpe_spec([]))
    explainer = Explainer(Sides(encoder, Opened(encoder)))
    target = Text(text, add_special=False, parse_special=True, expected=tuple(encoder.encode(reference)))
    assert explainer.find(target) == codes


def test_limits_that_change_nothing_are_not_combined(monkeypatch):
    monkeypatch.setattr(explaining, "LIMITS", made_limits("ax", *(f"{digit}x" for digit in "123456789")))
    built: list[Deviation] = []
    monkeypatch.setattr(DeviatingEncoder, "of", lambda encoder, deviation, alike: built.append(deviation) or encoder)
    encoder = Encoder(bpe_spec([]))
    target = Text("abc", add_special=False, parse_special=True, expected=(0,))
    assert Explainer(Sides(encoder, Opened(encoder))).find(target) == ()
    assert len(built) == 10


def test_a_text_is_explained_once(monkeypatch):
    asked: list[str] = []
    found = Counterfactual(
        reason="", sentence="", deviation=Deviation(), applies=lambda target: bool(asked.append(target.text))
    )
    limits = {"x": Limit("x", "x", Origin.RUNTIME, INFO, "", {}, lambda sides: iter([found]))}
    monkeypatch.setattr(explaining, "LIMITS", limits)
    encoder = Encoder(bpe_spec([]))
    explainer = Explainer(Sides(encoder, Opened(encoder)))
    for text in ("a", "b", "a"):
        explainer.find(Text(text, add_special=False, parse_special=True, expected=(0,)))
    assert asked == ["a", "b"]


def test_limits_beside_the_model_share_one_that_deviates(monkeypatch):
    inside, around = Deviation(single_precision=True), Deviation(normalizers=(str.upper,))
    monkeypatch.setattr(explaining, "LIMITS", limits_that({"1": inside, "2": around, "3": around}))
    made: list[Encoder] = []
    of = DeviatingEncoder.of

    def remember(*args: object) -> Encoder:
        made.append(of(*args))
        return made[-1]

    monkeypatch.setattr(DeviatingEncoder, "of", remember)
    encoder = Encoder(unigram_spec({"a": -1.0}))
    target = Text("a", add_special=False, parse_special=True, expected=(-1,))
    Explainer(Sides(encoder, Opened(encoder))).find(target)
    assert len(made) == 6
    assert len({id(each.model) for each in made}) == 2
