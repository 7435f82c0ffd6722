"""Inspection: the summary of small tokenizers by hand, and of the seed's by its own table."""

import json
from dataclasses import replace
from math import inf, nan

import pytest

from support.spec_maker import CONTROL, USER_DEFINED, bpe_spec, spm_spec
from tokverify.engine.encoder import Encoder
from tokverify.engine.override import Override, net_overrides
from tokverify.explain.inspection import inspect
from tokverify.report.codec import encode
from tokverify.report.inspect import EogToken, Flag, SpecialToken, TokenRun

SPM = spm_spec({"▁a": -1.0, "  ": -9.0, "   ": -9.0, "<b>": -9.0, "c": -2.0})
SPM = replace(SPM, types=[*SPM.types[:260], *[USER_DEFINED] * 3, 1], special_ids={"bos": 1})


def test_types_are_split_into_runs_by_kind():
    found = {summary.name: summary for summary in inspect(SPM).types}
    assert list(found) == ["NORMAL", "UNKNOWN", "CONTROL", "USER_DEFINED", "BYTE"]
    assert found["NORMAL"].count == 2
    assert found["NORMAL"].runs == (TokenRun(259, 259, "▁a", "▁a"), TokenRun(263, 263, "c", "c"))
    assert found["USER_DEFINED"].runs == (TokenRun(260, 261, "  ", "   ", " "), TokenRun(262, 262, "<b>", "<b>"))
    assert found["BYTE"].runs == (TokenRun(3, 258, "<0x00>", "<0xFF>"),)
    assert found["BYTE"].count == 256


def test_special_tokens_have_a_reason():
    assert inspect(SPM).special == (
        SpecialToken("bos", 1, "<s>", declared=True),
        SpecialToken("eos", 2, "</s>", declared=False, reason="llama.cpp's default for the model llama: '</s>'"),
        SpecialToken("unk", 0, "<unk>", declared=False, reason="llama.cpp's default for the model llama: '<unk>'"),
    )
    assert inspect(SPM).eog == (EogToken(2, "</s>"),)


def test_flags_are_declared_and_effective():
    flags = {flag.name: flag for flag in inspect(replace(SPM, add_eos=False)).flags}
    assert flags["add_bos"] == Flag("add_bos", None, True, "llama.cpp's default for the model llama")
    assert flags["add_eos"] == Flag("add_eos", False, False)
    assert flags["escape_whitespaces"].effective is True


def test_sizes_and_fingerprint():
    spec = bpe_spec(["a b"], {"<s>": CONTROL}, special_ids={"eos": 257}, chat_template="{{ x }}", general={"name": "n"})
    found = inspect(spec)
    assert (found.tokens, found.merges, found.scores, found.charsmap_bytes, found.added_tokens) == (
        258,
        1,
        None,
        None,
        1,
    )
    assert (found.algorithm, found.pre_declared, found.pre_effective) == ("bpe", "gpt-2", "gpt-2")
    assert found.fingerprint == Encoder(spec).fingerprint
    assert found.chat_template_length == 7
    assert found.sources == {"name": "n"}
    assert inspect(SPM).pre_effective == ""
    assert inspect(SPM).scores == (-9.0, 0.0)


def test_a_refused_tokenizer_is_described_as_declared():
    found = inspect(replace(SPM, tokens=["<s>", *SPM.tokens[1:]], special_ids={"bos": 1, "eos": 9999}))
    assert "twice" in found.refusal
    assert found.fingerprint is None
    assert found.special == (SpecialToken("bos", 1, "<s>", declared=True), SpecialToken("eos", 9999, "", declared=True))
    assert all(flag.effective is None for flag in found.flags)


def test_a_file_refused_by_the_reader_is_described_as_far_as_possible():
    found = inspect(replace(SPM, types=[1, 3], scores=[1.0, nan], special_ids={"eos": 9999}), "two types")
    assert found.refusal == "two types"
    assert [(summary.name, summary.count) for summary in found.types] == [
        ("NORMAL", 1),
        ("CONTROL", 1),
        ("undeclared", 262),
    ]
    assert found.scores == (1.0, 1.0)
    assert found.special == (SpecialToken("eos", 9999, "", declared=True),)


def test_more_types_than_tokens():
    found = inspect(replace(SPM, types=[1] * 300), "too many")
    assert [(summary.name, summary.count) for summary in found.types] == [("NORMAL", 264)]


def test_infinite_scores_are_strings_in_json():
    found = inspect(replace(SPM, scores=[-inf, inf, *SPM.scores[2:]]))
    document = json.loads(encode(found), parse_constant=pytest.fail)
    assert document["scores"] == ["-inf", "inf"]


def test_untyped_tokens():
    [summary] = inspect(replace(SPM, types=None)).types
    assert (summary.name, summary.count) == ("undeclared", 264)


def test_successive_overrides_are_combined():
    first, second = Override("a", 1, 2, "x"), Override("a", 2, 3, "y")
    assert net_overrides([first, second]) == (Override("a", 1, 3, "y"),)
    assert net_overrides([first, Override("a", 2, 1, "z")]) == ()


def test_table_of_the_seed(spec_of):
    found = {summary.name: summary for summary in inspect(spec_of("gemma-3")).types}["USER_DEFINED"]
    assert found.count == 163
    assert [(run.first, run.last, run.repeated) for run in found.runs] == [
        (5, 5, None),
        (107, 137, "\n"),
        (138, 167, " "),
        (168, 237, None),
        (255968, 255998, "\t"),
    ]
