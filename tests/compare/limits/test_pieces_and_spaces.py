"""Limits about how pieces and spaces are found, compared with sentencepiece, RWKV and Metaspace."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from support.charsmap_maker import make_charsmap
from support.limits import (
    added,
    assert_different,
    assert_equal,
    assert_limit,
    explained,
    verify,
    write_json,
)
from support.rule_maker import gemma_json
from support.sentencepiece_maker import UNIGRAM as UNIGRAM_TYPE
from support.sentencepiece_maker import make_model
from support.spec_maker import BYTE, BYTE_PIECES, bpe_spec, spm_spec, unigram_spec
from tokverify.case import Case
from tokverify.commands.tasks.run import verify_model
from tokverify.compare.convert import json_writer
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.references import open_reference
from tokverify.repair.search import diagnose
from tokverify.report.finding import ERROR, INFO
from tokverify.report.run import Status
from tokverify.report.tokenizer_difference import FAIL_ON, Aspect, Origin, Verdict
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.sentencepiece.message import parse
from tokverify.sources.tokenizer_file import read_spec
from tokverify.spec import TokenizerSpec, TokenType

NORMAL, CONTROL, USER_DEFINED = (type.value for type in (TokenType.NORMAL, TokenType.CONTROL, TokenType.USER_DEFINED))
SENTENCES = ["the boat and the harbor", "a boat, a net and 777 fish", "7777 nets in the harbor", "“x” £5"] * 20


def train(path: Path, **options: object) -> TokenizerSpec:
    """Train a sentencepiece model, and return what an equivalent GGUF file declares."""
    from sentencepiece import SentencePieceTrainer

    written = BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_writer=written, hard_vocab_limit=False, minloglevel=2,
        character_coverage=1.0, pad_id=3, **{"user_defined_symbols": ["<x>", "£"], **options},
    )  # fmt: skip
    path.write_bytes(written.getvalue())
    return read_spec(path)


def retyped(spec: TokenizerSpec, piece: str, type: int) -> TokenizerSpec:
    types = list(spec.types or ())
    types[spec.tokens.index(piece)] = type
    return replace(spec, types=types)


PIECE_TEXTS = ("the <x> boat", "boat<x>net", "<x>the", "£ boat £7")


def test_user_defined_pieces_are_a_limit_unless_their_types_are_wrong(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    plain = {"byte_fallback": True, "normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    spec = train(path, model_type="bpe", vocab_size=400, **plain)
    assert_limit(verify(spec, path, PIECE_TEXTS), "TL013")
    assert_different(verify(retyped(spec, "<x>", NORMAL), path, PIECE_TEXTS))
    assert_different(verify(retyped(spec, "o", USER_DEFINED), path, PIECE_TEXTS))


def test_user_defined_characters_of_a_model_of_merges_are_converted_as_ordinary_ones(tmp_path: Path):
    """As the digits of TeleChat: llama.cpp would add a space after each that is user-defined."""
    path = tmp_path / "tokenizer.model"
    rules = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "split_digits": True}
    symbols = ["<x7>", "7", "1", "£"]
    spec = train(path, model_type="bpe", vocab_size=400, byte_fallback=True, user_defined_symbols=symbols, **rules)
    assert [text for text, type in zip(spec.tokens, spec.types, strict=True) if type == USER_DEFINED] == ["<x7>"]
    texts = ("777 fish", "1+1=7", "a £7 boat", "7", "£ £")
    assert_equal(verify(spec, path, texts))
    assert_limit(verify(spec, path, ("the <x7> boat", "boat<x7>net")), "TL013")
    converted = spec
    for symbol in symbols[1:]:
        converted = retyped(converted, symbol, USER_DEFINED)
    assert_limit(verify(converted, path, texts), "TL024")
    assert_different(verify(retyped(spec, "o", USER_DEFINED), path, ("the boat", *texts)))


def test_a_user_defined_character_that_other_pieces_contain_stays_so(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    pieces = [("<unk>", 0.0, 2), *((piece, 0.0, BYTE) for piece in BYTE_PIECES), ("▁", -1.0, NORMAL)]
    path.write_bytes(make_model([*pieces, ("7", 0.0, USER_DEFINED), ("77", -2.0, NORMAL)], {3: 2, 35: 1}))
    assert read_spec(path).types[258] == USER_DEFINED


def test_user_defined_pieces_of_a_unigram_model_are_converted_as_ordinary_ones(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    spec = train(path, model_type="unigram", vocab_size=90)
    # llama.cpp would normalize each side of a piece for itself, and keep the first byte of ½, with which £ begins, too.
    texts = (*PIECE_TEXTS, "½", "a£", "£<x>£", " <x> ")
    assert USER_DEFINED not in spec.types
    assert_equal(verify(spec, path, texts))
    converted = retyped(retyped(spec, "<x>", USER_DEFINED), "£", USER_DEFINED)
    assert_limit(verify(converted, path, texts), "TL024")
    assert_different(verify(retyped(spec, "<x>", USER_DEFINED), path, texts))
    assert_different(verify(retyped(converted, "o", USER_DEFINED), path, texts))
    preferring = train(path, model_type="unigram", vocab_size=90, user_defined_symbols=["bo", "har"])
    texts = (*texts, "bobo", "xhar")
    assert_equal(verify(preferring, path, texts))
    unpreferred = [-30.0 if score > 0 else score for score in preferring.scores]
    assert_different(verify(replace(preferring, scores=unpreferred), path, texts))


def test_a_piece_that_llama_cpp_makes_a_control_token_holds_back_no_other(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    spec = train(path, model_type="unigram", vocab_size=90, user_defined_symbols=["<|im_end|>", "£"])
    assert USER_DEFINED not in spec.types
    assert_equal(verify(spec, path, ("the £ boat", "½", "a£")))
    texts = ("the <|im_end|> boat", "boat<|im_end|>net", "<|im_end|>the")
    assert_limit(verify(spec, path, texts), "TL001")
    assert_different(verify(retyped(spec, "<|im_end|>", USER_DEFINED), path, ("£", *texts)))


def test_what_differs_without_a_piece_says_nothing_about_its_type(tmp_path: Path):
    # llama.cpp has no byte fallback, so that line breaks and letters that are no piece differ beside any piece.
    path = tmp_path / "tokenizer.model"
    pieces = [("<unk>", 0.0, 2), *((piece, 0.0, BYTE) for piece in BYTE_PIECES), ("▁", -1.0, NORMAL)]
    path.write_bytes(make_model([*pieces, ("£", 0.0, USER_DEFINED)], {3: UNIGRAM_TYPE, 35: 1}))
    spec = read_spec(path)
    assert spec.types[-1] == NORMAL
    report = verify(spec, path, ("£ £", "££", "£\n"))
    (types,) = (found for found in report.differences if found.aspect is Aspect.TYPES)
    assert (types.severity, types.ids) == (INFO, (258,))


def test_a_user_defined_piece_that_normalization_changes_stays_so(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    spec = train(path, model_type="unigram", vocab_size=90, user_defined_symbols=["½", "a b"])
    assert [text for text, type in zip(spec.tokens, spec.types, strict=True) if type == USER_DEFINED] == ["½"]
    assert_limit(verify(spec, path, ("the ½ boat", "boat½net")), "TL013")


def test_what_only_begins_like_a_user_defined_piece_is_a_limit_also_beside_a_tokenizer_json(tmp_path: Path):
    source, path = tmp_path / "tokenizer.model", tmp_path / "tokenizer.json"
    rules = {"normalization_rule_name": "nmt_nfkc_cf", "user_defined_symbols": ["<X>"]}
    spec = train(source, model_type="unigram", vocab_size=90, **rules)
    json_writer.write_json(path, spec)
    # llama.cpp does not make `<X` lowercase, although it is not the whole piece.
    assert_limit(verify(spec, path, ("a <Xa",)), "TL013")


DEFAULT_RULES = {"model_type": "bpe", "vocab_size": 400, "normalization_rule_name": "nmt_nfkc"}


def test_the_normalization_of_a_model_of_merges_is_a_limit_unless_a_piece_is_wrong(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    spec = train(path, byte_fallback=True, **DEFAULT_RULES)
    texts = ("  the boat", "the  boat ", "   ", " boat", "ﬁsh", "the\tboat", "77\u00a07", "＜s＞ <x>")
    assert_limit(verify(spec, path, texts), "TL003")
    swapped = [{"▁the": "▁boat", "▁boat": "▁the"}.get(piece, piece) for piece in spec.tokens]
    assert_different(verify(replace(spec, tokens=swapped), path, texts))


def test_without_byte_tokens_the_diagnosis_names_that_llama_cpp_aborts(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    spec = train(path, **DEFAULT_RULES)
    report = verify(spec, path, ("the boat", "boat 字", "the  字é字"))
    assert [result.status for result in report.results] == [Status.MATCH] * 2 + [Status.ERROR] * 4
    assert report.verdict is Verdict.DIFFERENT
    found = open_reference(path)
    result = diagnose(spec, Opened(found.tokenizer, found.path), report.results, encoder=Encoder(spec))
    assert result is not None
    best = result.diagnosis.explanations[0]
    assert (best.kind, best.explained, best.expressible) == ("byte-fallback+no-normalizer", 4, False)


def test_user_defined_runs_of_spaces_are_a_convention_unless_others_have_other_scores(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    rules = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "add_dummy_prefix": False}
    spec = train(path, model_type="unigram", vocab_size=90, user_defined_symbols=["▁▁", "▁▁▁"], **rules)
    # llama.cpp takes all spaces away from the word that they precede, and the library leaves it one.
    texts = ("the   boat", "  net", "a boat", "x   ", " " * 17 + "fish")
    assert explained(verify(spec, path, texts)) <= {"TL014"}
    runs = [piece.replace("▁", " ") if piece in {"▁▁", "▁▁▁"} else piece for piece in spec.tokens]
    types = [USER_DEFINED if piece.isspace() else type for piece, type in zip(runs, spec.types, strict=True)]
    assert explained(verify(replace(spec, tokens=runs, types=types), path, texts)) - {"TL014"} == {"TL024"}
    lost = [-30.0 if piece.startswith("▁boa") else score for piece, score in zip(spec.tokens, spec.scores, strict=True)]
    assert_different(verify(replace(spec, scores=lost), path, texts))


def test_spaces_that_a_unigram_model_without_a_prefix_cannot_merge_are_a_limit_unless_it_adds_a_space(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    # The library treats a user-defined `▁` like a piece, and llama.cpp would split texts at all spaces.
    spec = train(path, model_type="unigram", vocab_size=90, add_dummy_prefix=False, user_defined_symbols=["▁"])
    assert USER_DEFINED not in spec.types
    assert spec.remove_extra_whitespaces is False
    texts = ("the boat", " the  boat ", "\tfish", "777", "   ")
    assert_limit(verify(spec, path, texts), "TL016")
    # llama.cpp then adds a space before each text.
    assert_different(verify(replace(spec, remove_extra_whitespaces=True), path, texts))
    lost = [-99.0 if len(piece) > 1 else score for piece, score in zip(spec.tokens, spec.scores, strict=True)]
    assert_different(verify(replace(spec, scores=lost), path, texts))


def test_a_user_defined_piece_that_llama_cpp_overrides_is_a_limit_unless_another_is_typed_wrong(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    rules = {"byte_fallback": True, "normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    spec = train(path, model_type="bpe", vocab_size=400, user_defined_symbols=["<|endoftext|>", "<x>"], **rules)
    texts = ("<|endoftext|> the boat", "a<|endoftext|>", "<x>the")
    assert_limit(verify(spec, path, texts), "TL013")
    assert_different(verify(retyped(spec, "<x>", NORMAL), path, texts))


def test_rounded_sums_are_a_limit_unless_scores_differ(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    train(path, model_type="unigram", vocab_size=90)
    message = parse(path.read_bytes())
    # Three times 77 and twice 777 have nearly the same sum.
    for piece, text, score in zip(message.pieces[-3:], ("7", "77", "777"), (-9, -20 / 3, -10), strict=True):
        piece.piece, piece.score = text.encode(), score
    path.write_bytes(message.SerializeToString())
    spec = read_spec(path)
    texts = ("7" * 3000, "77777 fish", "boat" + "7" * 600)
    assert_limit(verify(spec, path, texts), "TL014")
    worse = list(spec.scores or ())
    worse[spec.tokens.index("7")] = -1.0
    assert_different(verify(replace(spec, scores=worse), path, texts))


def test_the_document_end_that_rwkv_finds_in_texts_is_a_limit_unless_another_token_is(tmp_path: Path):
    tokens = [b"\n", b"<", b"s", b">", b"a", b"b", b"ab"]
    path = tmp_path / "rwkv_vocab_v20230424.txt"
    path.write_text("".join(f"{id} {token!r} {len(token)}\n" for id, token in enumerate(tokens, 1)))
    spec = read_spec(path)
    texts = ("<s>", "ab<s>", "a<s>b<")
    assert_limit(verify(spec, path, texts), "TL015")
    wrong = ["<s" if piece == "ab" else piece for piece in spec.tokens]
    assert_different(verify(replace(spec, tokens=wrong), path, texts))


UNIGRAM = unigram_spec({"▁": -3, "a": -2, "b": -2, "▁a": -1, "<": -4, "/": -4, "s": -4, ">": -4}, add_space_prefix=True)


def metaspace(scheme: str, **model: Any) -> dict[str, Any]:
    """Return the tokenizer.json of a unigram model."""
    return {
        "version": "1.0",
        "added_tokens": [added(id, UNIGRAM.tokens[id]) for id in range(3)],
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True},
        "post_processor": None,
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True},
        "model": {
            "type": "Unigram",
            "unk_id": 2,
            "byte_fallback": False,
            "vocab": [*map(list, zip(UNIGRAM.tokens, UNIGRAM.scores or (), strict=True))],
            **model,
        },
    }


def test_the_space_that_byte_level_bpe_adds_is_a_limit_unless_merges_are_lost(tmp_path: Path):
    spec = bpe_spec(["a b", "Ġ ab"], {"<x>": CONTROL})
    stage = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    document = {
        "version": "1.0",
        "added_tokens": [added(spec.tokens.index("<x>"), "<x>")],
        "pre_tokenizer": stage,
        "decoder": stage,
        "model": {"type": "BPE", "vocab": {t: i for i, t in enumerate(spec.tokens)}, "merges": list(spec.merges or ())},
    }
    path = write_json(tmp_path / "tokenizer.json", document)
    read = read_spec(path)
    assert (read.pre, any("add_prefix_space" in sentence for sentence in read.left_out)) == ("gpt-2", True)
    texts = ("ab", " ab", "ab<x>ab", "<x>", "\nab")
    report = verify(read, path, texts)
    assert_limit(report, "TL016")
    # Nearly every text has other ids, so a run fails, although no file can change it.
    assert [(found.severity, found.origin) for found in report.differences if found.aspect is Aspect.AFFIXES] == [
        (ERROR, Origin.RUNTIME)
    ]
    assert replace(report, fail_on=FAIL_ON).verdict is Verdict.DIFFERENT
    assert_different(verify(replace(read, merges=read.merges[:1]), path, texts))


def test_special_pieces_in_plain_text_are_a_limit_unless_one_is_not_special(tmp_path: Path):
    path = write_json(tmp_path / "tokenizer.json", metaspace("always"))
    texts = ("a </s>", "ab")
    assert_limit(verify(replace(UNIGRAM, remove_extra_whitespaces=False), path, texts), "TL015")
    assert_different(verify(retyped(UNIGRAM, "a", CONTROL), path, texts))


def test_a_special_piece_with_the_lowest_score_makes_unknown_characters_less_likely(tmp_path: Path):
    plain = unigram_spec({"▁": -3, "a": -2, "▁a": -1, "/": -4, "s": -4, ">": -4}, add_space_prefix=True)
    scores = [-100.0 if piece == "</s>" else score for piece, score in zip(plain.tokens, plain.scores, strict=True)]
    spec = replace(plain, scores=scores, remove_extra_whitespaces=False)
    path = write_json(tmp_path / "tokenizer.json", metaspace("always", vocab=[*zip(spec.tokens, scores, strict=True)]))
    assert_limit(verify(spec, path, ("a </s>", "aa")), "TL015")


def test_the_unknown_token_in_plain_text_counts_as_unknown_for_byte_fallback(tmp_path: Path):
    # Two of them in a row are one unknown run, which is no piece and becomes bytes; llama.cpp knows neither.
    spec = unigram_spec(
        {"▁": -3, "a": -2, **dict.fromkeys("<unk>", -4), **dict.fromkeys(BYTE_PIECES, 0)},
        dict.fromkeys(BYTE_PIECES, BYTE),
        add_space_prefix=True,
    )
    vocab = list(map(list, zip(spec.tokens, spec.scores or (), strict=True)))
    path = write_json(tmp_path / "tokenizer.json", metaspace("always", vocab=vocab, byte_fallback=True))
    report = verify(replace(spec, remove_extra_whitespaces=False), path, ("a<unk>", "a<unk><unk>a", "é<unk>", "é"))
    assert explained(report) == {"TL009", "TL015"}


def test_white_space_and_normalizers_of_a_unigram_model_without_charsmap_are_a_limit_unless_a_score_is_wrong(tmp_path):
    stages = [{"type": "WhitespaceSplit"}, metaspace("always")["pre_tokenizer"]]
    document = {
        **metaspace("always"),
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "Lowercase"}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": stages},
    }
    path = write_json(tmp_path / "tokenizer.json", document)
    spec = replace(UNIGRAM, remove_extra_whitespaces=True)
    # The library takes U+2028 for a space, but not U+001C; Python's isspace takes both.
    texts = ("A b", "a\nb", "a\u2028\u2028b", "\u2028a", "a\x1cb\u2028a")
    assert_limit(verify(spec, path, texts), "TL003")
    assert_limit(verify(spec, path, ("a ▁b",)), "TL005")
    worse = [-9.0 if piece == "▁a" else score for piece, score in zip(spec.tokens, spec.scores or (), strict=True)]
    assert_different(verify(replace(spec, scores=worse), path, ("A b a",)))


MERGING = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}


def test_merging_spaces_without_removing_those_around_a_text_is_a_limit_unless_they_are_kept(tmp_path: Path):
    charsmap = make_charsmap({"â": "a", "\u200c": " "})
    precompiled = {"type": "Precompiled", "precompiled_charsmap": b64encode(charsmap).decode()}
    document = {**metaspace("always"), "normalizer": {"type": "Sequence", "normalizers": [precompiled, MERGING]}}
    path = write_json(tmp_path / "tokenizer.json", document)
    spec = read_spec(path)
    assert (spec.charsmap, spec.remove_extra_whitespaces) == (charsmap, True)
    report = verify(spec, path, ("a b ", "a  b", "  a", "â </s> b", "\u200câ"))
    assert explained(report) == {"TL015", "TL016", "TL023"}
    assert report.verdict is Verdict.FAITHFUL
    assert_different(verify(replace(spec, remove_extra_whitespaces=False), path, ("a  b",)))
    assert_different(verify(replace(spec, charsmap=None), path, ("â",)))


def test_merging_spaces_without_a_charsmap_is_a_limit_as_well(tmp_path: Path):
    document = {**metaspace("always"), "normalizer": {"type": "Sequence", "normalizers": [MERGING]}}
    path = write_json(tmp_path / "tokenizer.json", document)
    spec = read_spec(path)
    assert (spec.charsmap, spec.remove_extra_whitespaces) == (None, True)
    texts = ("a b ", "a  b", "  a", " a ", "a </s> b")
    assert explained(verify(spec, path, texts)) == {"TL015", "TL016", "TL023"}
    assert_different(verify(replace(spec, remove_extra_whitespaces=False), path, texts))


def test_an_added_token_in_normalized_text_keeps_the_space_beside_it(tmp_path: Path):
    charsmap = make_charsmap({"\n": " "})
    precompiled = {"type": "Precompiled", "precompiled_charsmap": b64encode(charsmap).decode()}
    stages = [precompiled, {"type": "Strip", "strip_left": False, "strip_right": True}, MERGING]
    document = {**metaspace("always"), "normalizer": {"type": "Sequence", "normalizers": stages}}
    document["added_tokens"] = [
        *document["added_tokens"],
        added(len(UNIGRAM.tokens), "<t>", special=False, normalized=True),
    ]
    path = write_json(tmp_path / "tokenizer.json", document)
    spec = read_spec(path)
    report = verify(spec, path, ("a\n<t>", "a <t> b", "<t>a"))
    assert "TL007" in explained(report)
    assert report.verdict is Verdict.FAITHFUL
    assert_different(verify(retyped(spec, "<t>", NORMAL), path, ("<t>a",)))


def test_how_a_charsmap_is_read_is_a_limit_unless_the_file_has_another(tmp_path: Path):
    scores = {"▁": -3, "a": -2, "â": -2, "\u0301": -3}
    charsmap = make_charsmap({"a\u0302": "â", "\u0302": ""})
    spec = unigram_spec(scores, charsmap=charsmap, add_space_prefix=True, remove_extra_whitespaces=True)
    vocab = list(map(list, zip(spec.tokens, spec.scores or (), strict=True)))
    precompiled = {"type": "Precompiled", "precompiled_charsmap": b64encode(charsmap).decode()}
    stages = [{"type": "WhitespaceSplit"}, metaspace("always")["pre_tokenizer"]]
    document = {
        **metaspace("always", vocab=vocab),
        "normalizer": precompiled,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": stages},
    }
    path = write_json(tmp_path / "tokenizer.json", document)
    texts = ("a\u0302\u0301 a", "a\u0085a")
    assert_limit(verify(spec, path, texts), "TL019")
    assert_different(verify(replace(spec, charsmap=make_charsmap({"a": "â"})), path, ("a", *texts)))


SPM = spm_spec({"▁": -1, "a": -2, "b": -3, "ab": -4, "▁a": -5}, special_ids={"unk": 0}, add_space_prefix=True)


def merges(scheme: str) -> dict[str, Any]:
    """Return the tokenizer.json of SPM with a Metaspace."""
    stage = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": False}
    return {
        **metaspace(scheme),
        "added_tokens": [added(id, SPM.tokens[id]) for id in range(3)],
        "pre_tokenizer": stage,
        "decoder": stage,
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {token: id for id, token in enumerate(SPM.tokens)},
            "merges": ["a b", "▁ a"],
        },
    }


def test_pieces_with_a_space_inside_are_a_limit_if_metaspace_splits_there(tmp_path: Path):
    spec = unigram_spec({"▁": -1, "▁▁": -1.5, "a": -1, "▁a": -1.5, "a▁a": -2}, add_space_prefix=True)
    vocab = list(map(list, zip(spec.tokens, spec.scores or (), strict=True)))
    document = metaspace("always", vocab=vocab)
    texts = ("a  a", "a   a", "a a")
    path = write_json(tmp_path / "tokenizer.json", document)
    assert_limit(verify(spec, path, texts), "TL021")
    assert read_spec(path).tokens == spec.tokens
    assert any("does not split texts at spaces" in sentence for sentence in read_spec(path).left_out)
    lowered = [score - 9 * (piece == "▁a") for piece, score in zip(spec.tokens, spec.scores or (), strict=True)]
    assert_different(verify(replace(spec, scores=lowered), path, texts))
    unsplit = {**document["pre_tokenizer"], "split": False}
    whole = write_json(tmp_path / "whole.json", {**document, "pre_tokenizer": unsplit, "decoder": unsplit})
    report = verify(spec, whole, texts)
    assert not any(result.explained_by or result.fails for result in report.results)


PREFIXED: Mapping[str, Sequence[str]] = {
    "first": ("<s>ab", " ab", "ab<s> b", "ab", "  "),
    "always": (" ab", "<s> ab", "a"),
}


@pytest.mark.parametrize("scheme", PREFIXED)
def test_where_metaspace_adds_spaces_is_a_limit_unless_the_file_adds_none(tmp_path: Path, scheme):
    path = write_json(tmp_path / "tokenizer.json", merges(scheme))
    assert_limit(verify(SPM, path, PREFIXED[scheme]), "TL016")
    assert_different(verify(replace(SPM, add_space_prefix=False), path, PREFIXED[scheme]))
    never = write_json(tmp_path / "other.json", merges("never"))
    assert_different(verify(SPM, never, PREFIXED[scheme]))


@pytest.mark.parametrize("scheme", PREFIXED)
def test_where_metaspace_adds_spaces_for_a_unigram_model(tmp_path: Path, scheme):
    path = write_json(tmp_path / "tokenizer.json", metaspace(scheme))
    spec = replace(UNIGRAM, remove_extra_whitespaces=False)
    texts = tuple(text.replace("<s>", "</s>") for text in PREFIXED[scheme])
    assert_limit(verify(spec, path, texts), "TL015", "TL016")
    assert_different(verify(replace(spec, add_space_prefix=False), path, texts))


def test_scores_are_not_looked_up_in_a_reference_that_merges(tmp_path: Path):
    spec = unigram_spec({"▁": -3.0, "a": -2.0, "b": -2.0, "ab": -9.0})
    path = write_json(tmp_path / "tokenizer.json", gemma_json(spec.tokens, ["a b"], []))
    assert_different(verify(spec, path, ("ab", "b a")))


def test_scores_in_double_precision_are_a_limit_unless_one_is_another(tmp_path: Path):
    scores = {"▁": -3.0, "a": -2.0, "b": -2.0, "aa": -3.0, "ab": -3.0 - 1e-9}
    spec = unigram_spec(scores, add_space_prefix=False, remove_extra_whitespaces=False)
    vocab = [*map(list, zip(spec.tokens, spec.scores or (), strict=True))]
    document = {**metaspace("never", vocab=vocab), "pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "never"}}
    document["pre_tokenizer"] |= {"replacement": "▁", "split": True}
    path = write_json(tmp_path / "tokenizer.json", document)
    assert_limit(verify(spec, path, ("aab", "b a")), "TL014")
    other = [-3.1 if piece == "aa" else score for piece, score in zip(spec.tokens, spec.scores or (), strict=True)]
    assert_different(verify(replace(spec, scores=other), path, ("aab", "aa")))


def test_a_nul_in_a_piece_is_a_limit_unless_the_file_lacks_the_piece(tmp_path: Path):
    spec = replace(SPM, tokens=["\0" if piece == "b" else piece for piece in SPM.tokens])
    document = merges("always")
    document["model"] |= {"vocab": {token: id for id, token in enumerate(spec.tokens)}, "merges": ["▁ a"]}
    path = write_json(tmp_path / "tokenizer.json", document)
    report = verify(spec, path, ("a\0a", "\0", "a"))
    assert_limit(report, "TL017")
    assert [each.origin for each in report.differences if each.aspect is Aspect.BYTES] == [Origin.RUNTIME]
    assert_different(
        verify(replace(spec, tokens=["x" if piece == "\0" else piece for piece in spec.tokens]), path, ["\0"])
    )


def test_the_name_of_an_empty_piece_is_found_instead_of_its_nul(tmp_path: Path):
    spec = unigram_spec({"▁": -1, "a": -1, "\0": -1}, add_space_prefix=True)
    vocab = list(map(list, zip(spec.tokens, spec.scores or (), strict=True)))
    path = write_json(tmp_path / "tokenizer.json", metaspace("always", vocab=vocab))
    name = f"[EMPTY_{spec.tokens.index(chr(0))}]"
    assert_limit(verify(spec, path, ("a\0a", f"a{name}a", name)), "TL017")


@pytest.mark.parametrize("text", ["\n", "aba"], ids=["one character", "merged from ab and a"])
def test_a_control_token_that_the_model_makes_is_a_limit_but_a_word_made_control_is_a_fault(tmp_path: Path, text: str):
    id = len(SPM.tokens)
    spec = replace(
        SPM, tokens=[*SPM.tokens, text], types=[*(SPM.types or ()), CONTROL], scores=[*(SPM.scores or ()), -1000.0]
    )
    document = merges("always")
    document["added_tokens"].append(added(id, text))
    path = write_json(tmp_path / "tokenizer.json", document)
    report = verify(spec, path, (f"a{text}b", text, "ab"))
    assert "TL015" in explained(report)
    assert_different(verify(retyped(spec, "ab", CONTROL), path, (f"a{text}b", "ab")))


def test_the_unknown_token_in_a_text_is_a_convention_unless_it_is_a_control_token(tmp_path: Path):
    document = merges("always")
    document["added_tokens"] = document["added_tokens"][1:]
    path = write_json(tmp_path / "tokenizer.json", document)
    assert_limit(verify(SPM, path, ("a<unk>", "ab")), "TL002")
    assert_different(verify(retyped(SPM, "<unk>", CONTROL), path, ("a<unk>", "ab")))


def test_a_replacement_that_gguf_lacks_is_a_limit_unless_a_merge_is_missing(tmp_path: Path):
    document = {**merges("always"), "normalizer": {"type": "Replace", "pattern": {"String": "“"}, "content": "ab"}}
    path = write_json(tmp_path / "tokenizer.json", document)
    report = verify(SPM, path, ("“", "a“a", "a"))
    assert_limit(report, "TL003")
    assert report.limits[0].message == "llama.cpp does not normalize texts with Replace"
    wrong = ["x" if piece == "ab" else piece for piece in SPM.tokens]
    assert_different(verify(replace(SPM, tokens=wrong), path, ("“", "ab")))


def template(*texts: str) -> dict[str, Any]:
    """Return a post-processor that adds tokens before a text."""
    ids = {text: SPM.tokens.index(text) for text in texts}
    before = [{"SpecialToken": {"id": text, "type_id": 0}} for text in texts]
    return {
        "type": "TemplateProcessing",
        "single": [*before, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {text: {"id": text, "ids": [id], "tokens": [text]} for text, id in ids.items()},
    }


@pytest.mark.parametrize("adds_bos", [True, False])
def test_several_tokens_before_a_text_are_a_limit_unless_one_is_wrong(tmp_path: Path, adds_bos):
    path = write_json(tmp_path / "tokenizer.json", {**merges("always"), "post_processor": template("<s>", "</s>")})
    spec = replace(SPM, add_bos=adds_bos, add_eos=False, special_ids={"unk": 0, "bos": 1, "eos": 2})
    report = verify(spec, path, ("ab", "a"), add_special=True)
    assert_limit(report, "TL018")
    assert [difference.origin for difference in report.differences] == [Origin.RUNTIME]
    wrong = replace(spec, add_bos=True, special_ids={"unk": 0, "bos": spec.tokens.index("a")})
    assert_different(verify(wrong, path, ("ab", "a"), add_special=True))
    one = write_json(tmp_path / "one.json", {**merges("always"), "post_processor": template("</s>")})
    assert_different(verify(spec, one, ("ab", "a"), add_special=True))


def test_sentinels_that_are_user_defined_are_a_convention_unless_a_word_is(tmp_path: Path):
    document = metaspace("always")
    document["model"]["vocab"].append(["<extra_id_0>", 0.0])
    id = len(document["model"]["vocab"]) - 1
    document["added_tokens"].append(added(id, "<extra_id_0>"))
    path = write_json(tmp_path / "tokenizer.json", document)
    read = read_spec(path)
    texts = ("<extra_id_0>", "a <extra_id_0> b")
    converted = retyped(read, "<extra_id_0>", USER_DEFINED)
    report = verify(converted, path, texts)
    assert "TL002" in explained(report)
    (types,) = (found for found in report.differences if found.aspect is Aspect.TYPES)
    assert (types.severity, types.origin, types.ids) == (INFO, Origin.CONVENTION, (id,))
    assert_different(verify(retyped(converted, "a", USER_DEFINED), path, ("ab", *texts)))


def test_no_space_before_spaces_alone_is_a_limit_of_unigram_unless_spaces_are_merged(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    rules = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    spec = train(path, model_type="unigram", vocab_size=90, **rules)
    assert_limit(verify(spec, path, (" ", "   ", "the boat", " a")), "TL016")
    assert_different(verify(replace(spec, remove_extra_whitespaces=True), path, ("the  boat", "   ")))


@pytest.mark.parametrize(("score", "codes"), [(-2.0, ["TL025"]), (-3.0, [])])
def test_pieces_of_equal_score_are_no_fault_of_a_file_that_is_compared_with_its_own_data(
    tmp_path: Path, score: float, codes: list[str]
):
    write_gguf(tmp_path / "model.gguf", spm_spec({"▁": -1, "a": -1.5, "b": -1.5, "ab": -2.0, "ba": score}))
    report = verify_model(tmp_path / "model.gguf", "rebuilt", [Case(id="1", suite="made", text="bab")])
    assert [limit.code for limit in report.limits] == codes
    assert report.exit_code == 0
