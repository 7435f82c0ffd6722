"""References that a library has damaged: which side is blamed, and that the model is left as it is."""

import html
import json
import math
import re
import struct
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from string import ascii_letters, ascii_lowercase, digits, punctuation
from types import SimpleNamespace
from unicodedata import normalize
from urllib.parse import quote

import pytest
import regex

from support.charsmap_maker import make_charsmap
from support.made_vocabulary import CORPUS, wordpiece
from support.rule_maker import bert_json, bpe_json, gemma_json
from support.sentencepiece_maker import UNIGRAM, make_model
from support.spec_maker import BYTE_PIECES, bpe_spec, spm_spec, unigram_spec
from tokverify.case import Case
from tokverify.commands.tasks.fix import fix_model
from tokverify.commands.tasks.run import verify_model
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.convert.json_writer import write_json
from tokverify.compare.damage import find_damage
from tokverify.compare.damage.lost_pattern import find_foreign_pattern, find_longer_numbers, find_missing_pre
from tokverify.compare.damage.lost_setting import (
    find_lost_case,
    find_lost_charsmap,
    find_lost_spaces,
    find_probabilities,
    find_ranks_as_scores,
    find_removed_spaces,
    find_wrong_unknown,
)
from tokverify.compare.damage.lost_token import (
    find_lost_merges,
    find_lost_tokens,
    find_plain_markers,
    find_unmade_tokens,
    find_unordered_bytes,
)
from tokverify.compare.damage.table import describe_damage, explain_misread_tokens, explain_rounded_scores
from tokverify.compare.opened import Opened, OpenedReference
from tokverify.engine.byte_level import from_byte_level, to_byte_level
from tokverify.engine.deviating_unigram import preferred_score
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.references import open_reference
from tokverify.report.run import Report
from tokverify.report.tokenizer_difference import BLAME, Aspect, Origin
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.original_pattern import ORIGINALS
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.train.trainer import TrainingPlan
from tokverify.train.wordpiece import train as train_wordpiece

# Qwen's pattern keeps a sign with the letters after it; that of GPT-2 splits them.
MERGES = tuple(f". {letter}" for letter in "abcdefghij")
QWEN = bpe_spec(MERGES, pre="qwen2")
PATTERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|[^\s\p{L}\p{N}]+|\s+"
SPLIT = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False}
SHORT_WORDS = [f"Ġ{first} {second}" for first, second in product(["", *ascii_lowercase], ascii_lowercase)]
"""The merges of all words of one or two letters, with a space before them."""
LONGER_WORDS = SHORT_WORDS + [f"Ġ{one}{two} {three}" for one, two, three in product(ascii_lowercase, repeat=3)]
CASES = [Case(id="sign", suite="made", text=".a", add_special=False)]


def byte_level(*, use_regex: bool) -> dict:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def stages(*stages: dict) -> dict:
    return {"type": "Sequence", "pretokenizers": list(stages)}


def write(directory: Path, spec=QWEN, **changed: object) -> tuple[Path, Path]:
    write_gguf(directory / "model.gguf", spec)
    (directory / "tokenizer.json").write_text(json.dumps(bpe_json(spec, **{"merges": MERGES, **changed})))
    return directory / "model.gguf", directory / "tokenizer.json"


def verify(directory: Path, **changed: object) -> Report:
    return verify_model(*write(directory, **changed), CASES, diagnose=True)


@pytest.mark.parametrize(
    ("pre_tokenizer", "reason"),
    [
        (byte_level(use_regex=True), "has no Split and splits texts as GPT-2 does"),
        (stages(SPLIT, byte_level(use_regex=True)), "splits each part of a text a second time"),
    ],
)
def test_a_reference_that_splits_its_own_tokens_is_at_fault(tmp_path, pre_tokenizer, reason):
    report = verify(tmp_path, pre_tokenizer=pre_tokenizer)
    (found,) = (each for each in report.differences if each.aspect is Aspect.SPLITTING)
    assert (found.origin, found.code, len(found.ids)) == (Origin.REFERENCE, "TV213", len(MERGES))
    assert "10 come back as themselves in the model, but only 0 in the reference" in found.message
    assert reason in found.message
    assert report.diagnosis is None
    assert report.undiagnosed.endswith("leave the model as it is")
    with pytest.raises(TokverifyError, match=r"not repaired: .*the reference is at fault"):
        fix_model(tmp_path / "model.gguf", None, tmp_path / "tokenizer.json", CASES)


def test_a_pattern_in_a_tokenizer_that_has_none_is_at_fault(tmp_path):
    # As transformers 5 puts Mistral's into Gemma 4's.
    words = [first + second for first, second in product("abcdefghij", "ABCDEFGHIJ")]
    merges = [f"{word[0]} {word[1]}" for word in words]
    tokens = ["<unk>", "▁", *BYTE_PIECES, *ascii_lowercase, *ascii_lowercase.upper(), *words]
    types = [2, 1, *[6] * 256, *[1] * (52 + len(words))]
    special_ids = {"unk": 0}
    spec = TokenizerSpec(model="gemma4", tokens=tokens, types=types, merges=merges, special_ids=special_ids)
    camel = {**SPLIT, "pattern": {"Regex": "[A-Z]?[a-z]+|[A-Z]"}}
    parts = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "Fuse"}]
    decoder = {"type": "Sequence", "decoders": parts}
    model, reference = tmp_path / "model.gguf", tmp_path / "tokenizer.json"
    write_gguf(model, spec)
    cases = [Case(id="camel", suite="made", text="aB", add_special=False)]
    for pre_tokenizer, is_damaged in ((camel, True), ({**SPLIT, "pattern": {"String": " "}}, False)):
        reference.write_text(json.dumps(gemma_json(tokens, merges, [], pre_tokenizer=pre_tokenizer, decoder=decoder)))
        report = verify_model(model, reference, cases, diagnose=True)
        blamed = [each for each in report.differences if each.origin is Origin.REFERENCE]
        assert [each.aspect for each in blamed] == [Aspect.SPLITTING] * is_damaged


@pytest.mark.parametrize("pre_tokenizer", [METASPACE, None])
def test_a_byte_level_vocabulary_without_its_stage_is_at_fault(tmp_path, pre_tokenizer):
    # As transformers 5 saves DeepSeek's, whose tokenizer_config.json names LlamaTokenizer.
    merges = tuple(f"Ġ {letter}" for letter in "abcdefghijklmnopqrst")
    spec = bpe_spec(merges, pre="qwen2")
    write_gguf(tmp_path / "model.gguf", spec)
    document = bpe_json(spec, merges=merges, pre_tokenizer=pre_tokenizer)
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    cases = [Case(id="space", suite="made", text="x a", add_special=False)]
    report = verify_model(tmp_path / "model.gguf", tmp_path / "tokenizer.json", cases, diagnose=True)
    (found,) = (each for each in report.differences if each.aspect is Aspect.SPLITTING)
    assert found.origin is Origin.REFERENCE
    assert "its vocabulary is byte-level and its pre-tokenizer" in found.message
    assert ("LlamaTokenizer" in found.message) is (pre_tokenizer is METASPACE)
    with pytest.raises(TokverifyError, match=r"not repaired: .*the reference is at fault"):
        fix_model(tmp_path / "model.gguf", None, tmp_path / "tokenizer.json", cases)


def test_a_reference_whose_merges_were_sorted_is_at_fault(tmp_path):
    words = [f"{first}{second}" for first, second in product("abcde", "vwxyz")]
    merges = [*(f"{word[1]} {word[0]}" for word in words), *(f"{word[1]}{word[0]} k" for word in words), "a k", "b k"]
    stage = stages(SPLIT, byte_level(use_regex=False))
    model, reference = write(tmp_path, bpe_spec(merges, pre="qwen2"), merges=sorted(merges), pre_tokenizer=stage)
    cases = [Case(id="words", suite="made", text="vak", add_special=False)]
    assert_at_fault(model, reference, cases, "merges are sorted by their texts, and not by their ranks")


def test_a_reference_whose_merges_come_before_those_of_their_parts_is_at_fault(tmp_path):
    # As of a merges.txt of another version beside the vocab.json.
    pairs = [f"{second}{first}" for first, second in product("abcde", "vwxyz")]
    merges = [*(f"{pair[0]} {pair[1]}" for pair in pairs), *(f"{pair} k" for pair in pairs), "a k", "b k"]
    stage = stages(SPLIT, byte_level(use_regex=False))
    mixed = [*merges[-2:], *merges[len(pairs) : -2], *merges[: len(pairs)]]
    model, reference = write(tmp_path, bpe_spec(merges, pre="qwen2"), merges=mixed, pre_tokenizer=stage)
    cases = [Case(id="words", suite="made", text="vak", add_special=False)]
    words = "25 of its 52 merges, such as "
    assert_at_fault(model, reference, cases, words)


def test_no_limit_hides_that_a_reference_splits_its_own_tokens(tmp_path):
    spec = bpe_spec(MERGES, pre="llama-bpe")
    write_gguf(tmp_path / "model.gguf", spec)
    write_json(tmp_path / "tokenizer.json", spec)
    document = json.loads((tmp_path / "tokenizer.json").read_text())
    for stage in document["pre_tokenizer"]["pretokenizers"]:
        stage["use_regex"] = stage["type"] == "ByteLevel"
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    report = verify_model(tmp_path / "model.gguf", tmp_path / "tokenizer.json", CASES, diagnose=True)
    assert report.results[0].explained_by == ()
    assert [each.aspect for each in report.differences if each.origin is Origin.REFERENCE] == [Aspect.SPLITTING]
    assert not report.ok


def test_a_reference_that_lacks_merges_is_at_fault_for_that_reason(tmp_path):
    report = verify(tmp_path, merges=MERGES[:1])
    (found,) = (each for each in report.differences if each.aspect is Aspect.SPLITTING)
    assert "merges are missing (it has 1), and so it splits its own tokens" in found.message


def test_a_reference_that_has_lost_ignore_merges_is_at_fault(tmp_path):
    # No merge makes these words, which llama.cpp looks up as a whole.
    words = [f"zz{letter}" for letter in "abcdefghij"]
    spec = bpe_spec(("a b",), pre="llama-bpe")
    spec = replace(spec, tokens=[*spec.tokens, *words], types=[*spec.types, *[1] * len(words)])
    split = {"type": "Split", "pattern": {"Regex": ORIGINALS["llama-bpe"]}, "behavior": "Isolated", "invert": False}
    document = bpe_json(spec, pre_tokenizer=stages(split, byte_level(use_regex=False)), merges=["a b"])
    write_gguf(tmp_path / "model.gguf", spec)
    cases = [Case(id="word", suite="made", text="zza", add_special=False)]
    for is_lost in (True, False):
        document["model"]["ignore_merges"] = not is_lost
        (tmp_path / "tokenizer.json").write_text(json.dumps(document))
        report = verify_model(tmp_path / "model.gguf", tmp_path / "tokenizer.json", cases, diagnose=True)
        found = [each.origin for each in report.differences if each.aspect is Aspect.SPLITTING]
        assert found == ([Origin.REFERENCE] if is_lost else [])
        assert ("its ignore_merges, which goes with its pattern, is lost" in report.undiagnosed) is is_lost


WORDS = ["▁naïve", "größe", "▁Ärger", "één", "ça", "▁İstanbul", "ñandú", "café", "▁über", "œuvre"]


@pytest.mark.parametrize(
    ("encoding", "name"), [("latin-1", "Latin-1"), ("cp1252", "Windows-1252"), ("cp1251", "Windows-1251")]
)
def test_a_reference_whose_tokens_were_read_in_another_encoding_is_at_fault(encoding: str, name: str):
    # A program that writes the mark of a space itself does not misread it.
    misread = [word.replace("▁", " ").encode().decode(encoding, "ignore").replace(" ", "▁") for word in WORDS]
    right, wrong = (spm_spec(dict.fromkeys(["▁plain", *words], -1.0)) for words in (WORDS, misread))
    found = explain_misread_tokens(right, Opened(Encoder(wrong)))
    assert f"10 tokens: their UTF-8 was read as {name}: " in found
    assert explain_misread_tokens(wrong, Opened(Encoder(right))) == ""
    assert explain_misread_tokens(right, Opened(Encoder(right))) == ""


def test_a_reference_that_spells_bytes_is_not_misread_beside_a_file_of_plain_texts():
    texts = [f"{letter}é" for letter in ascii_lowercase]
    plain, spelled = (bpe_spec((), tokens=each) for each in (texts, [to_byte_level(text) for text in texts]))
    assert explain_misread_tokens(plain, Opened(Encoder(spelled))) == ""


def test_tokens_in_surrogates_are_named():
    right = spm_spec(dict.fromkeys(["▁🙂", "👍é", "a"], -1.0))
    written = ["▁\udced\udca0\udcbd\udced\udcb9\udc82", "\udced\udca0\udcbd\udced\udcb1\udc8dé", "a"]
    wrong = replace(right, tokens=[*right.tokens[:-3], *written])
    report = verify_tokenizers(Encoder(wrong), Encoder(right), [])
    (found,) = (each for each in report.differences if each.aspect is Aspect.BYTES)
    assert found.message.endswith("; characters beyond U+FFFF were written as surrogates")


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        pytest.param([], "", id="none"),
        pytest.param([('\\"', '"'), ("\\\\", "\\")], "they were escaped for JSON", id="not-markdown"),
        pytest.param([('"', "“")], "typographic quotes, dashes and dots became plain", id="plain"),
        pytest.param([("“", '"')], "quotes, dashes and dots became typographic", id="typographic"),
    ],
)
def test_a_damage_is_told_from_similar_ones(pairs: list[tuple[str, str]], reason: str):
    assert describe_damage(pairs) == reason


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (lambda word: word.encode().decode("gbk", "replace"), "their UTF-8 was read as GBK"),
        (lambda word: normalize("NFKC", word), "they were normalized with NFKC"),
        (html.escape, "they were escaped for HTML"),
        (lambda word: json.dumps(word)[1:-1], "they were escaped for JSON"),
        (quote, "they were escaped for a URL"),
        (lambda word: re.sub("([<>])", r"\\\1", word), "they were escaped for Markdown"),
        (lambda word: word.replace("'", "’"), "quotes, dashes and dots became typographic"),
        (lambda word: f'"{word}"', "they were quoted for CSV"),
        (lambda word: f"{word}\t-8.4", "what follows each in its line was kept"),
        (lambda word: b64encode(from_byte_level(word)).decode(), "they are in base64, as in a file of ranks"),
    ],
)
def test_a_damage_of_a_byte_level_vocabulary_is_named(read, reason: str):
    words = [f"<Ġ{letter}'ª>" for letter in ascii_lowercase]
    right, wrong = (bpe_spec((), tokens=each) for each in (words, [read(word) for word in words]))
    # The model could be what was normalized or unescaped.
    blamed = explain_misread_tokens(right, Opened(Encoder(wrong)))
    assert f"26 tokens: {reason}: " in blamed if "UTF-8" in reason else blamed == ""
    assert explain_misread_tokens(wrong, Opened(Encoder(right))) == ""
    (found,) = (
        each
        for each in verify_tokenizers(Encoder(wrong), Encoder(right), []).differences
        if each.aspect is Aspect.BYTES
    )
    assert found.message.endswith(f"; {reason}")


def test_a_reference_that_has_lost_the_mark_of_continuations_is_at_fault(tmp_path):
    document = json.loads(train_wordpiece(TrainingPlan(corpus=(CORPUS,), vocab_size=1000)).data)
    document["model"]["continuing_subword_prefix"] = ""
    model, reference = tmp_path / "model.gguf", tmp_path / "tokenizer.json"
    reference.write_text(json.dumps(document))
    write_gguf(model, wordpiece())
    cases = [Case(id="word", suite="made", text="understandings", add_special=False)]
    report = verify_model(model, reference, cases, diagnose=True)
    (found,) = (each for each in report.differences if each.origin is Origin.REFERENCE)
    assert 'its continuing_subword_prefix is "", but' in found.message
    assert report.diagnosis is None
    with pytest.raises(TokverifyError, match=r"not repaired: .*the reference is at fault"):
        fix_model(model, None, reference, cases)


@pytest.mark.parametrize("is_cased", [False, True])
def test_a_reference_that_loses_the_case_for_which_its_vocabulary_was_trained_is_at_fault(tmp_path, is_cased: bool):
    document = json.loads(train_wordpiece(TrainingPlan(corpus=(CORPUS,), vocab_size=1000)).data)
    words = [f"{'T' if is_cased else 't'}{first}{second}" for first, second in product("aeiou", "lnr")]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    document["model"]["vocab"] = {token: id for id, token in enumerate(tokens)}
    added = [each for each in document["added_tokens"] if each["content"] in tokens]
    document["added_tokens"] = [{**each, "id": tokens.index(each["content"])} for each in added]
    pieces = [*tokens[:5], *(f"▁{word}" for word in words)]
    roles = {"unk": 1, "bos": 2, "sep": 3, "pad": 0, "mask": 4}
    spec = replace(wordpiece(), tokens=pieces, types=[*[3] * 5, *[1] * len(words)], special_ids=roles)
    spec = replace(spec, lowercase=not is_cased)
    document["normalizer"]["normalizers"][-1]["lowercase"] = is_cased
    model, reference = tmp_path / "model.gguf", tmp_path / "tokenizer.json"
    reference.write_text(json.dumps(document))
    write_gguf(model, spec)
    cases = [Case(id="word", suite="made", text="Tan tan", add_special=False)]
    report = verify_model(model, reference, cases, diagnose=True)
    (found,) = (each for each in report.differences if each.origin is Origin.REFERENCE)
    assert f"its lowercase is {'on' if is_cased else 'off'}, but" in found.message
    with pytest.raises(TokverifyError, match=r"not repaired: .*the reference is at fault"):
        fix_model(model, None, reference, cases)
    document["normalizer"]["normalizers"][-1]["lowercase"] = not is_cased
    reference.write_text(json.dumps(document))
    write_gguf(model, replace(spec, lowercase=is_cased))
    assert "lowercase" in verify_model(model, reference, cases, diagnose=True).diagnosis.explanations[0].kind.split("+")


@pytest.mark.parametrize(
    ("words", "kept", "blamed"),
    [
        (
            [f"{letter}{accented}" for letter in "abcdefgh" for accented in "éü"],
            True,
            "its strip_accents is on, but 16",
        ),
        (
            [first + second + third for first, second, third in product(ascii_lowercase, repeat=3)],
            False,
            "is off, but no",
        ),
        # Few words show nothing.
        ([first + second for first, second in product(ascii_lowercase, repeat=2)], False, ""),
    ],
)
def test_a_reference_that_loses_what_it_does_to_accents_is_at_fault(
    words: list[str], kept: bool, blamed: str, tmp_path
):
    spec = replace(wordpiece(), lowercase=True, strip_accents=not kept)
    tokens = [*wordpiece().tokens[:5], *(f"▁{word}" for word in words)]
    spec = replace(spec, tokens=tokens, types=[*[3] * 5, *[1] * len(words)])
    for is_lost in (True, False):
        document = bert_json(spec, lowercase=True)
        document["normalizer"]["strip_accents"] = kept is is_lost
        (tmp_path / "tokenizer.json").write_text(json.dumps(document))
        facts = OpenedReference(open_reference(tmp_path / "tokenizer.json"))
        found = "".join(each.message for each in find_lost_case(Encoder(spec), facts.document, facts))
        assert (bool(found), not is_lost or blamed in found) == (is_lost and bool(blamed), True)


def test_a_reference_at_fault_is_said_also_if_tokens_differ_and_words_are_joined_in_another_way(tmp_path):
    words = [first + second + third for first, second, third in product(ascii_lowercase, repeat=3)]
    tokens = [*wordpiece().tokens[:5], *(f"▁{word}" for word in words)]
    spec = replace(wordpiece(), tokens=tokens, types=[*[3] * 5, *[1] * len(words)], lowercase=True)
    document = bert_json(spec, lowercase=False)
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    tokens[-2:] = reversed(tokens[-2:])
    write_gguf(tmp_path / "model.gguf", replace(spec, tokens=tokens))
    cases = [Case(id=text, suite="made", text=text) for text in ("Aaa", "aaa [CLS] aab")]
    report = verify_model(tmp_path / "model.gguf", tmp_path / "tokenizer.json", cases, diagnose=True)
    assert "the reference is at fault: its lowercase is off" in report.undiagnosed
    assert report.diagnosis is None


def test_a_cased_reference_is_not_blamed_for_accents_if_the_file_lowercases(tmp_path):
    words = [
        f"{first}{second}{third}" for first, second, third in product(ascii_letters, ascii_lowercase, "abcdefghij")
    ]
    tokens = [*wordpiece().tokens[:5], *(f"▁{word}" for word in [*words, "é"])]
    spec = replace(wordpiece(), tokens=tokens, types=[*[3] * 5, *[1] * (len(words) + 1)])
    document = bert_json(spec, lowercase=False)
    document["normalizer"]["strip_accents"] = None
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    facts = OpenedReference(open_reference(tmp_path / "tokenizer.json"))
    encoder = Encoder(replace(spec, lowercase=True, strip_accents=True))
    assert (len(words) > 10_000, list(find_lost_case(encoder, facts.document, facts))) == (True, [])


def test_a_vocabulary_of_words_that_have_no_capitals_is_cased_if_most_others_have_some(tmp_path):
    hangul = [f"{chr(first)}{chr(second)}" for first, second in product(range(0xAC00, 0xAC20), repeat=2)]
    words = [*hangul, *(f"{letter}{second}" for letter in "AB" for second in "aeiou")]
    spec = replace(wordpiece(), lowercase=False, strip_accents=False)
    tokens = [*wordpiece().tokens[:5], *(f"▁{word}" for word in words)]
    spec = replace(spec, tokens=tokens, types=[*[3] * 5, *[1] * len(words)])
    (tmp_path / "tokenizer.json").write_text(json.dumps(bert_json(spec, lowercase=True)))
    facts = OpenedReference(open_reference(tmp_path / "tokenizer.json"))
    (found,) = find_lost_case(Encoder(spec), facts.document, facts)
    assert "its lowercase is on, but 10 pieces of it have capitals" in found.message


def test_a_reference_without_the_charsmap_of_its_vocabulary_is_at_fault():
    words = [first + second + third for first, second, third in product([*ascii_lowercase, "é"], repeat=3)]
    charsmap = make_charsmap({chr(0xFF21 + index): letter for index, letter in enumerate("ABCDEFGHIJ")})
    spec = unigram_spec(dict.fromkeys(words, -1.0), charsmap=charsmap)
    other = replace(spec, charsmap=None)

    def find(spec: TokenizerSpec, reference: TokenizerSpec) -> list[str]:
        facts = Opened(Encoder(reference, "reference"))
        return [each.message for each in find_lost_charsmap(Encoder(spec), facts)]

    (found,) = find(spec, other)
    assert "it has no charsmap, but none of its 19,686 pieces has one of the 10 characters" in found
    assert find(other, spec) == find(spec, spec) == []
    # Texts that were not normalized have some of these characters.
    one = unigram_spec(dict.fromkeys([*words, "\uff21"], -1.0))
    assert find(replace(one, charsmap=charsmap), one) == []
    # A small vocabulary may have none of them.
    few = unigram_spec(dict.fromkeys(words[-100:], -1.0))
    assert find(replace(few, charsmap=charsmap), few) == []
    # So may one of source code.
    plain = unigram_spec(dict.fromkeys(filter(str.isascii, words), -1.0))
    assert find(replace(plain, charsmap=charsmap), plain) == []


def test_a_reference_that_removes_the_spaces_of_its_own_pieces_is_at_fault():
    spec = spm_spec({"▁" * count: -count for count in range(1, 12)})
    for types, expected in ((spec.types, 1), ([TokenType.USER_DEFINED] * len(spec.tokens), 0)):
        facts = Opened(Encoder(replace(spec, remove_extra_whitespaces=True, types=types), "reference"))
        found = [each.message for each in find_removed_spaces(Encoder(spec), facts)]
        assert (len(found), "uses none of its 10 pieces with several spaces" in "".join(found)) == (expected, expected)
        assert list(find_removed_spaces(Encoder(spec), Opened(Encoder(spec, "reference")))) == []


def test_a_unigram_reference_whose_scores_are_ranks_is_at_fault():
    pieces = {f"{first}{second}": float(-rank) for rank, (first, second) in enumerate(product("abcde", repeat=2))}
    model = Encoder(spm_spec(pieces))
    (found,) = find_ranks_as_scores(model, Opened(Encoder(unigram_spec(pieces), "reference")))
    assert "its model is Unigram, which adds up scores, but these are ranks" in found.message
    sums = unigram_spec({piece: 1.5 * score for piece, score in pieces.items()})
    for encoder, reference in ((model, model), (model, Encoder(sums)), (Encoder(sums), Encoder(unigram_spec(pieces)))):
        assert list(find_ranks_as_scores(encoder, Opened(reference))) == []


def test_a_unigram_reference_whose_scores_are_probabilities_is_at_fault():
    logarithms = {"▁": -0.5, "a": -2.0, "b": -2.5, "ab": -3.0}
    right, wrong, unsigned = (
        Encoder(unigram_spec({piece: change(score) for piece, score in logarithms.items()}))
        for change in (float, math.exp, abs)
    )
    (found,) = find_probabilities(right, Opened(wrong))
    assert "its scores are probabilities (from 0 to 1)" in found.message
    for model, reference in ((right, right), (wrong, wrong), (wrong, right), (unsigned, right)):
        assert list(find_probabilities(model, Opened(reference))) == []
    # A user-defined piece that is written as an ordinary one has a score above 0, so that it is preferred.
    preferred = {f"<{number}>": preferred_score(b"<0>") for number in range(10)} | {
        f"<{'x' * 30}>": preferred_score(b"x" * 32)
    }
    assert list(find_probabilities(right, Opened(Encoder(unigram_spec(logarithms | preferred))))) == []
    raised = Encoder(unigram_spec({piece: score + 20 for piece, score in logarithms.items()}))
    for reference, total in ((unsigned, "41.3"), (raised, "4.24e+08")):
        (found,) = find_probabilities(right, Opened(reference))
        assert f"as those would add up to {total}; the model's add up to 0.87, as they should" in found.message


def test_a_reference_whose_byte_tokens_are_in_another_order_is_at_fault():
    right = spm_spec({"▁a": -1.0})
    wrong = replace(right, tokens=[*right.tokens[:3], *reversed(right.tokens[3:259]), *right.tokens[259:]])
    (found,) = find_unordered_bytes(Encoder(right), Opened(Encoder(wrong)))
    assert (len(found.ids), found.message.endswith('they begin with "<0xFF>", "<0xFE>", "<0xFD>"')) == (256, True)
    for model, reference in ((right, right), (wrong, right), (wrong, wrong)):
        assert list(find_unordered_bytes(Encoder(model), Opened(Encoder(reference)))) == []


def test_a_gguf_reference_with_the_pre_tokenizer_of_another_model_is_at_fault():
    right = bpe_spec([f"{sign} {letter}" for sign in ".,;" for letter in "abcdef"], pre="llama-bpe")
    wrong = replace(right, pre="gpt-2")
    (found,) = find_foreign_pattern(Encoder(right), Opened(Encoder(wrong)))
    assert "of 18, it splits 18 that the model (llama-bpe) keeps whole" in found.message
    assert list(find_foreign_pattern(Encoder(wrong), Opened(Encoder(right)))) == []


def test_a_gguf_reference_without_the_name_of_its_pre_tokenizer_is_at_fault(tmp_path):
    def find(ours: str | None, theirs: str | None) -> list[str]:
        path = tmp_path / "reference.gguf"
        write_gguf(path, replace(QWEN, pre=theirs))
        reference = OpenedReference(open_reference(path))
        return [each.message for each in find_missing_pre(Encoder(replace(QWEN, pre=ours)), reference)]

    (found,) = find("qwen2", None)
    assert "it does not name its pre-tokenizer (tokenizer.ggml.pre)" in found
    assert find("qwen2", "default") == [found]
    assert find(None, None) == find("qwen2", "qwen2") == find(None, "qwen2") == find("qwen2", "gpt-2") == []


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, ""),
        ({"unk_token": "[PAD]"}, 'as 0 "[PAD]", and not as its "[UNK]"'),
        ({"max_input_chars_per_word": 10}, "is 10, but 26 pieces of it are longer"),
    ],
)
def test_a_wordpiece_reference_that_takes_its_own_words_for_unknown_is_at_fault(changed: dict, reason: str, tmp_path):
    words = [*ascii_lowercase, *(11 * letter for letter in ascii_lowercase)]
    tokens = [*wordpiece().tokens[:5], *(f"▁{word}" for word in words)]
    spec = replace(wordpiece(), tokens=tokens, types=[*[3] * 5, *[1] * len(words)], lowercase=True)
    document = bert_json(spec, lowercase=True)
    document["model"] |= changed
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    reference = OpenedReference(open_reference(tmp_path / "tokenizer.json"))
    found = "".join(each.message for each in find_damage(Encoder(spec), reference))
    assert (bool(found), reason in found) == (bool(reason), True)


def test_a_bpe_reference_that_lowercases_pieces_with_capitals_is_at_fault(tmp_path):
    merges = [f"{letter} {letter.lower()}" for letter in ascii_letters]
    spec = bpe_spec(merges)
    document = bpe_json(spec, merges=merges, normalizer={"type": "Lowercase"})
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    reference = OpenedReference(open_reference(tmp_path / "tokenizer.json"))
    (found,) = find_damage(Encoder(spec), reference)
    assert "its lowercase is on, but 52 pieces of it have capitals, and are never used" in found.message


def test_a_pattern_is_no_reason_if_it_splits_none_of_the_lost_tokens(tmp_path):
    merges = [f"{sign} /" for sign in "!#$%&*+-"]
    spec = bpe_spec(merges, pre="qwen2")
    isolated = {"type": "Punctuation", "behavior": "Isolated"}
    document = bpe_json(spec, merges=merges, pre_tokenizer=stages(isolated, SPLIT, byte_level(use_regex=True)))
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    reference = OpenedReference(open_reference(tmp_path / "tokenizer.json"))
    (found,) = find_lost_tokens(Encoder(spec), reference)
    assert "it does not split texts as its vocabulary was trained, and so" in found.message


@pytest.mark.parametrize(
    ("kept", "expected"), [(1.0, 0), (0.97, 1), (0.995, 0)], ids=["all", "3% lost", "no more than Llama 3 lacks"]
)
def test_a_reference_that_lacks_the_merges_of_some_tokens_is_at_fault(kept: float, expected: int, tmp_path):
    spec = bpe_spec(LONGER_WORDS, pre="llama-bpe")
    document = bpe_json(spec, merges=LONGER_WORDS[: int(kept * len(LONGER_WORDS))])
    document["model"]["ignore_merges"] = True
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    reference = OpenedReference(open_reference(tmp_path / "tokenizer.json"))
    assert len([*find_lost_merges(Encoder(spec), reference)]) == expected


@pytest.mark.parametrize(("unknown", "expected"), [("<pad>", 1), ("a", 0), ("<unk>", 0)])
def test_a_reference_that_writes_padding_for_what_it_does_not_know_is_at_fault(unknown: str, expected: int, tmp_path):
    # The token that a configuration calls unknown, as Alpaca's, is written for nothing.
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"unk_token": "</s>"}))
    spec = unigram_spec({"▁": -1.0, "a": -2.0})
    pairs = list(zip(spec.tokens, spec.scores or (), strict=True))
    model = {"type": "Unigram", "vocab": pairs, "unk_id": spec.tokens.index(unknown)}
    stages = dict.fromkeys(["truncation", "padding", "normalizer", "post_processor", "decoder"])
    document = {"version": "1.0", "added_tokens": [], "pre_tokenizer": METASPACE, "model": model} | stages
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    facts = OpenedReference(open_reference(tmp_path / "tokenizer.json"))
    assert facts.document is not None
    found = [each.message for each in find_wrong_unknown(Encoder(spec), facts.document, facts)]
    assert len(found) == expected
    assert all('0 "<pad>", and not as its "<unk>"' in message for message in found)


@pytest.mark.parametrize(
    ("count", "expected"),
    [pytest.param(25, [], id="all"), pytest.param(10, ["merges are missing (it has 10)"], id="some")],
)
def test_a_reference_without_the_merges_of_scored_pieces_is_at_fault(count: int, expected: list[str], tmp_path):
    """As of a Llama whose vocabulary was extended by tokens only."""
    pairs = list(product("abcde", repeat=2))
    made = {f"{first}{second}": float(-rank) for rank, (first, second) in enumerate(pairs)}
    spec = spm_spec(dict.fromkeys("▁abcde", -100.0) | made, add_space_prefix=False)
    document = gemma_json(spec.tokens, [f"{first} {second}" for first, second in pairs[:count]], [])
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    facts = OpenedReference(open_reference(tmp_path / "tokenizer.json"))
    found = [each.message.removeprefix(f"{BLAME}: ") for each in find_unmade_tokens(Encoder(spec), facts)]
    assert [message[: len(text)] for message, text in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize(
    ("name", "kept", "expected"),
    [
        ("tokenizer.model", frozenset(), 1),
        # A trainer made some control pieces, and the file may have more of them by mistake.
        ("tokenizer.model", frozenset({"</s>"}), 0),
        ("model.gguf", frozenset(), 0),
    ],
)
def test_a_sentencepiece_model_whose_markers_are_ordinary_pieces_is_at_fault(
    name: str, kept: frozenset[str], expected: int
):
    markers = dict.fromkeys((f"<|row_{row}|>" for row in "abcdefgh"), TokenType.CONTROL)
    spec = spm_spec(dict.fromkeys(["▁", "a", *markers], -1.0), markers)
    pieces = zip(spec.tokens, spec.types or (), strict=True)
    types = [type if type != TokenType.CONTROL or piece in kept else TokenType.NORMAL for piece, type in pieces]
    reference = Opened(Encoder(replace(spec, types=types), "reference"), Path(name))
    found = [each.message for each in find_plain_markers(Encoder(spec), reference)]
    assert len(found) == expected
    assert all("it has no control or user-defined pieces, although " in message for message in found)


@pytest.mark.parametrize(
    ("trainer", "normalizer", "expected"),
    [
        ({}, {3: 0}, ""),
        ({}, {3: 0, 5: 0}, "it does not write spaces as ▁, "),
        ({24: 1}, {3: 1}, "it adds a space behind each text (treat_whitespace_as_suffix), "),
    ],
    ids=["before words", "kept", "behind words"],
)
def test_a_sentencepiece_model_that_writes_spaces_unlike_its_own_pieces_is_at_fault(
    trainer: dict[int, int], normalizer: dict[int, int], expected: str, tmp_path
):
    scores = dict.fromkeys([*"▁ab", *(f"▁{first}{second}" for first, second in product("ab", repeat=2)), "▁a"], -1.0)
    scores |= {f"▁{word}": -1.0 for word in ("aab", "aba", "bba", "bab")}
    spec = unigram_spec(scores)
    pieces = [(piece, score, type) for piece, score, type in zip(spec.tokens, spec.scores, spec.types, strict=True)]
    (tmp_path / "tokenizer.model").write_bytes(make_model(pieces, {3: UNIGRAM, 40: 2, **trainer}, normalizer))
    reference = OpenedReference(open_reference(tmp_path / "tokenizer.model"))
    found = [each.message for each in find_lost_spaces(Encoder(spec), reference)]
    assert len(found) == bool(expected)
    assert expected in "".join(found)


def test_a_reference_without_the_stage_that_writes_spaces_is_at_fault(tmp_path):
    pieces = [f"▁{first}{second}" for first, second in product("abcde", "fghij")]
    spec = spm_spec(dict.fromkeys([*"▁abcdefghij", *pieces], -1.0))
    document = gemma_json(spec.tokens, [], []) | {"normalizer": None}
    model, reference = tmp_path / "model.gguf", tmp_path / "tokenizer.json"
    reference.write_text(json.dumps(document))
    write_gguf(model, spec)
    cases = [Case(id="word", suite="made", text="af bg", add_special=False)]
    report = verify_model(model, reference, cases)
    splitting, decoding = (each for each in report.differences if each.origin is Origin.REFERENCE)
    assert "it does not write spaces as ▁, with which 26 pieces of it begin" in splitting.message
    assert "its tokenizer.json has no decoder" in decoding.message
    # It has no byte tokens, either, and their texts are the same on both sides.
    (of_bytes,) = (each for each in report.differences if each.aspect is Aspect.BYTES)
    assert of_bytes.message.endswith("(other bytes) and 251 more")
    with pytest.raises(TokverifyError, match=r"not repaired: .*the reference is at fault"):
        fix_model(model, None, reference, cases)


@pytest.mark.parametrize(
    ("joins", "falls_back", "words"),
    [
        (True, False, "its byte_fallback is off, although it has 256"),
        (True, True, "156 of its byte tokens are written in lowercase, such as"),
        (False, False, ""),
    ],
)
def test_a_reference_that_uses_no_byte_tokens_is_at_fault_if_its_decoder_joins_them(
    joins: bool, falls_back: bool, words: str, tmp_path
):
    spec = spm_spec({"▁": -1.0, "a": -2.0, "▁a": -3.0})
    pieces = [piece.lower() if falls_back else piece for piece in spec.tokens]
    document = gemma_json(pieces, ["▁ a"], [])
    document["model"] |= {"byte_fallback": falls_back, "unk_token": "<unk>"}
    parts = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "Fuse"}]
    parts += [{"type": "ByteFallback"}] if joins else []
    document["decoder"] = {"type": "Sequence", "decoders": parts}
    model, reference = tmp_path / "model.gguf", tmp_path / "tokenizer.json"
    reference.write_text(json.dumps(document))
    write_gguf(model, spec)
    cases = [Case(id="rare", suite="made", text="aé", add_special=False)]
    assert_at_fault(model, reference, cases, words)


@pytest.mark.parametrize(
    ("rounded", "name"),
    [
        (lambda score: round(score, 1), "1 decimal"),
        (lambda score: struct.unpack("e", struct.pack("e", score))[0], "float16"),
        (lambda score: round(score * 128) / 128, "bfloat16"),
    ],
)
def test_a_reference_whose_scores_were_rounded_is_at_fault(rounded: Callable[[float], float], name: str):
    scores = {"▁": -1.25, "a": -1.3102, "b": -1.3104, "ab": -1.5}
    short = spm_spec({piece: rounded(score) for piece, score in scores.items()})
    # A converter has padded the file.
    right = spm_spec(scores | {"[PAD]": -10000.0})
    reason = explain_rounded_scores(right, Opened(Encoder(short, "reference")))
    assert f"rounded to {name}, so that pieces are tied" in reason
    for number in (math.nan, math.inf):
        assert explain_rounded_scores(replace(right, scores=[number, *right.scores[1:]]), Opened(Encoder(short))) == ""
    assert explain_rounded_scores(short, Opened(Encoder(right, "reference"))) == ""
    assert explain_rounded_scores(right, Opened(Encoder(right, "reference"))) == ""
    other = spm_spec({**scores, "a": -1.4, "b": -1.4})
    assert explain_rounded_scores(right, Opened(Encoder(other, "reference"))) == ""
    # A program that computes with floats of 32 bits moves scores by less than any rounding.
    short, noisy = (spm_spec({**scores, "a": -1.31, "b": score}) for score in (-1.31, -1.310001))
    assert explain_rounded_scores(noisy, Opened(Encoder(short, "reference"))) == ""


def test_a_reference_that_has_lost_its_scores_is_at_fault():
    right = spm_spec({"a": -1.5, "b": -2.5, "ab": -3.5})
    lost = replace(right, scores=[-1000.0] * len(right.tokens))
    assert "all of its ordinary pieces have one score" in explain_rounded_scores(right, Opened(Encoder(lost)))
    assert explain_rounded_scores(lost, Opened(Encoder(right))) == ""


def test_another_file_that_types_the_markers_of_its_own_template_normal_is_at_fault(tmp_path):
    template = "{% for m in messages %}<|user|>{{ m['content'] }}{% endfor %}"
    spec = bpe_spec(MERGES, {"<|user|>": TokenType.USER_DEFINED}, pre="gpt-2", chat_template=template)
    other = replace(spec, types=[TokenType.NORMAL] * len(spec.tokens))
    model, reference = tmp_path / "model.gguf", tmp_path / "other.gguf"
    for path, each in ((model, spec), (reference, other)):
        write_gguf(path, each)
    cases = [Case(id="s/marker", suite="s", text="<|user|>hi", add_special=False, parse_special=True)]
    blamed = [each for each in verify_model(model, reference, cases).differences if each.origin is Origin.REFERENCE]
    assert [each.message.split(": ", 1)[1] for each in blamed] == [
        f'its chat template writes {spec.tokens.index("<|user|>")} "<|user|>", which it types NORMAL, and so splits'
    ]
    with pytest.raises(TokverifyError, match="the reference is at fault"):
        fix_model(model, None, reference, cases)
    # The other way round, the file is at fault, and gets the type.
    assert not [each for each in verify_model(reference, model, cases).differences if each.origin is Origin.REFERENCE]


def test_a_model_that_splits_the_tokens_is_repaired(tmp_path):
    right = stages(SPLIT, byte_level(use_regex=False))
    wrong = bpe_spec(MERGES, pre="gpt-2")
    report = verify(tmp_path, spec=wrong, pre_tokenizer=right)
    assert all(each.aspect is not Aspect.SPLITTING for each in report.differences)
    assert report.diagnosis.explanations[0].kind == "pre"


@pytest.mark.slow
def test_a_reference_that_does_not_decode_what_it_encodes_is_at_fault(tmp_path):
    model, reference = write(tmp_path, pre_tokenizer=stages(SPLIT, byte_level(use_regex=False)), decoder=None)
    case = Case(id="two", suite="made", text="a b", add_special=False)
    report = verify_model(model, reference, [case], diagnose=True)
    (found,) = (each for each in report.differences if each.aspect is Aspect.DECODING)
    assert (found.origin, found.code) == (Origin.REFERENCE, "TV213")
    assert "the reference is at fault: its tokenizer.json has no decoder, and so it decodes" in found.message
    assert report.diagnosis is None
    assert report.ok
    blame = fix_model(model, None, reference, [case]).blame
    assert blame.startswith("the reference is at fault: its tokenizer.json has no decoder")


def test_a_lost_decoder_is_seen_beside_an_added_space(tmp_path):
    spaced = {**byte_level(use_regex=True), "add_prefix_space": True}
    model, reference = write(tmp_path, bpe_spec(MERGES, pre="gpt-2"), pre_tokenizer=spaced, decoder=None)
    case = Case(id="two", suite="made", text="a b", add_special=False)
    report = verify_model(model, reference, [case])
    (found,) = (each for each in report.differences if each.aspect is Aspect.DECODING)
    assert found.origin is Origin.REFERENCE
    assert "the reference is at fault: its tokenizer.json has no decoder" in found.message


def test_a_lost_decoder_is_at_fault_although_the_vocabulary_spells_no_word(tmp_path):
    """As one of RNA, which has pieces for four letters."""
    kept = {"A", "C", "G", "U", "AC"}
    spec = bpe_spec(["A C"], pre="gpt-2")
    tokens = [token if token in kept else f"<{id}>" for id, token in enumerate(spec.tokens)]
    changes = {"pre_tokenizer": byte_level(use_regex=True), "decoder": None, "merges": spec.merges}
    model, reference = write(tmp_path, replace(spec, tokens=tokens), **changes)
    report = verify_model(model, reference, [Case(id="rna", suite="made", text="GAC", add_special=False)])
    (found,) = (each for each in report.differences if each.aspect is Aspect.DECODING)
    assert (found.origin, found.code) == (Origin.REFERENCE, "TV213")
    assert 'and so it decodes "ACGUACGU' in found.message


def test_a_reference_that_removes_a_space_that_it_does_not_add_is_at_fault(tmp_path):
    """As the decoder of InternLM 2."""
    pre_tokenizer = stages(SPLIT, byte_level(use_regex=False))
    parts = [byte_level(use_regex=False), {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    decoder = {"type": "Sequence", "decoders": parts}
    model, reference = write(tmp_path, pre_tokenizer=pre_tokenizer, decoder=decoder)
    case = Case(id="space", suite="made", text=" a", add_special=False)
    report = verify_model(model, reference, [case])
    (found,) = (each for each in report.differences if each.aspect is Aspect.DECODING)
    assert (found.origin, found.code) == (Origin.REFERENCE, "TV213")
    assert "(ByteLevel, Strip) does not undo what is done to a text" in found.message
    assert 'and so it decodes "·Hello·world" as "Hello·world", unlike the model' in found.message
    assert report.ok


def test_a_reference_is_not_at_fault_because_a_wrong_pattern_splits_less(tmp_path):
    # Qwen 2's pattern splits a few words of its own vocabulary at their marks, which one that splits less keeps whole.
    letters = [f"{first} {second}" for first, second in product(ascii_lowercase[:17], repeat=2)]
    merges = (*letters, "Ì Ģ", *(f"{letter} ÌĢ" for letter in ascii_lowercase[:10]))
    (tmp_path / "tokenizer.json").write_text(
        json.dumps(bpe_json(bpe_spec(merges), merges=merges, pre_tokenizer=stages(SPLIT, byte_level(use_regex=False))))
    )
    write_gguf(tmp_path / "model.gguf", bpe_spec(merges, pre="qwen35"))
    case = Case(id="mark", suite="made", text="a\N{COMBINING GRAVE ACCENT}", add_special=False)
    report = verify_model(tmp_path / "model.gguf", tmp_path / "tokenizer.json", [case])
    assert report.results[0].fails
    assert all(each.origin is not Origin.REFERENCE for each in report.differences)


@pytest.mark.parametrize(
    ("contracted", "joined", "pre", "is_at_fault"),
    [
        (8, 0, "gpt-4o", True),
        (7, 0, "gpt-4o", False),
        # The vocabulary has words that the model's pattern splits, and the reference's does not.
        (8, 1, "gpt-4o", False),
        # The model splits like the reference.
        (8, 0, "llama-bpe", False),
    ],
)
def test_a_reference_with_the_pattern_of_another_model_splits_its_own_pieces(
    contracted: int, joined: int, pre: str, is_at_fault: bool, tmp_path
):
    # GPT-4o keeps a contraction with its word, and splits a word before a capital; Llama 3 does neither.
    letters = ascii_lowercase[:contracted]
    merges = ["' s", *(f"{letter} 's" for letter in letters), *(f"{letter} A" for letter in ascii_lowercase[:joined])]
    merges += [f"{first} {second}" for first, second in product(ascii_lowercase, repeat=2)]
    pattern = {**SPLIT, "pattern": {"Regex": ORIGINALS["llama-bpe"]}}
    stage = stages(pattern, byte_level(use_regex=False))
    model, reference = write(tmp_path, bpe_spec(merges, pre=pre), merges=merges, pre_tokenizer=stage)
    cases = [Case(id="contraction", suite="made", text="a's zA", add_special=False)]
    assert_at_fault(model, reference, cases, "splits pieces that its own vocabulary has" if is_at_fault else "")


def test_a_reference_is_not_at_fault_for_the_pattern_that_the_name_of_the_model_stands_for(tmp_path):
    # llama.cpp's function for Kimi K2 ignores case, and so keeps words that the pattern itself splits.
    merges = [*(f"{letter} A" for letter in ascii_lowercase[:8]), *map(" ".join, product(ascii_lowercase, repeat=2))]
    pattern = {**SPLIT, "pattern": {"Regex": ORIGINALS["kimi-k2"]}}
    stage = stages(pattern, byte_level(use_regex=False))
    model, reference = write(tmp_path, bpe_spec(merges, pre="kimi-k2"), merges=merges, pre_tokenizer=stage)
    cases = [Case(id="capitals", suite="made", text="bA", add_special=False)]
    assert_at_fault(model, reference, cases, "")
    assert verify_model(model, reference, cases).results[0].explained_by == ("TL012",)


def assert_at_fault(model: Path, reference: Path, cases: Sequence[Case], sentence: str) -> None:
    """Check that the reference is blamed with this sentence and not followed, or not blamed if there is none."""
    report = verify_model(model, reference, cases, diagnose=True)
    found = [each.message for each in report.differences if each.origin is Origin.REFERENCE]
    assert [sentence in message for message in found] == ([True] if sentence else [])
    if sentence:
        with pytest.raises(TokverifyError, match=r"not repaired: .*the reference is at fault"):
            fix_model(model, None, reference, cases)


@pytest.mark.parametrize(
    ("phrases", "pre_tokenizer", "is_at_fault"),
    [
        ([], byte_level(use_regex=False), True),
        # A trainer that splits no text makes pieces of several words.
        (["Ġaa Ġbb", "Ġcc Ġdd"], byte_level(use_regex=False), False),
        ([], stages(SPLIT, byte_level(use_regex=False)), False),
    ],
)
def test_a_reference_that_splits_no_text_is_at_fault_if_its_pieces_are_words(
    phrases: list[str], pre_tokenizer: dict, is_at_fault: bool, tmp_path
):
    merges = [*SHORT_WORDS, "Ġbb .", *phrases]
    model, reference = write(tmp_path, bpe_spec(merges, pre="qwen2"), merges=merges, pre_tokenizer=pre_tokenizer)
    cases = [Case(id="words", suite="made", text="it aa bb. cc", add_special=False)]
    assert_at_fault(model, reference, cases, "no stage of its pre-tokenizer splits" if is_at_fault else "")


@pytest.mark.parametrize(
    ("numbers", "pre_tokenizer", "pre", "is_at_fault"),
    [
        ([], byte_level(use_regex=True), "smollm", True),
        # A trainer that leaves digits together makes pieces of numbers, and of years.
        ([f"Ġ {digit}" for digit in digits] + [f"{one} {other}" for one, other in product(digits, repeat=2)] + ["19 9"],
         byte_level(use_regex=True), "smollm", False),
        ([], stages({"type": "Digits", "individual_digits": True}, byte_level(use_regex=True)), "gpt-2", False),
    ],
)  # fmt: skip
def test_a_reference_that_has_lost_its_stage_for_digits_is_at_fault(
    numbers: list[str], pre_tokenizer: dict, pre: str, is_at_fault: bool, tmp_path
):
    merges = [*LONGER_WORDS, "Ġ Ġ", *numbers]
    model, reference = write(tmp_path, bpe_spec(merges, pre=pre), merges=merges, pre_tokenizer=pre_tokenizer)
    cases = [Case(id="number", suite="made", text="a  12", add_special=False)]
    assert_at_fault(model, reference, cases, "leaves spaces and digits together" if is_at_fault else "")


@pytest.mark.parametrize(
    ("longer", "numbers", "pre", "is_at_fault"),
    [
        pytest.param([], r"\p{N}{1,3}", "llama-bpe", False, id="split"),
        pytest.param([], r"\p{N}+", "llama-bpe", True, id="no-longer-split"),
        pytest.param([], r"\p{N}+", "gpt-2", False, id="the-model-does-not-split-them"),
        # Granite Docling's pattern leaves them together.
        pytest.param([], r"\p{N}+", "default", False, id="the-model-has-lost-its-pattern"),
        # A trainer that leaves them together makes years, also behind spaces.
        pytest.param(["20 00"], r"\p{N}+", "llama-bpe", False, id="years"),
        pytest.param(["Ġ 1", "Ġ1 9", "Ġ19 9", "Ġ199 9"], r"\p{N}+", "llama-bpe", False, id="years-behind-spaces"),
    ],
)
def test_a_reference_that_keeps_longer_numbers_whole_than_it_was_trained_with_is_at_fault(
    longer: list[str], numbers: str, pre: str, is_at_fault: bool
):
    known = [f"{one} {other}" for one, other in product(digits, repeat=2)]
    known += [f"{one}{two} {three}" for one, two, three in product(digits, repeat=3)]
    spec = bpe_spec([*LONGER_WORDS, *known, *longer], pre=pre)
    split = regex.compile(PATTERN.replace(r"\p{N}|", rf"{numbers}|")).findall
    found = [
        each.message for each in find_longer_numbers(Encoder(spec), SimpleNamespace(pieces=spec.tokens, split=split))
    ]
    assert ["keeps numbers of 4 digits whole" in message for message in found] == [True] * is_at_fault


@pytest.mark.parametrize(
    ("signs", "pre_tokenizer", "pre", "is_at_fault"),
    [
        ([], byte_level(use_regex=True), "falcon", True),
        # A trainer that leaves signs behind their spaces makes pieces of both.
        ([f"Ġ {sign}" for sign in punctuation], byte_level(use_regex=True), "falcon", False),
        ([], stages({"type": "Punctuation", "behavior": "Contiguous"}, byte_level(use_regex=True)), "gpt-2", False),
    ],
)
def test_a_reference_that_has_lost_its_stage_for_punctuation_is_at_fault(
    signs: list[str], pre_tokenizer: dict, pre: str, is_at_fault: bool, tmp_path
):
    merges = [*LONGER_WORDS, "Ġ Ġ", *signs]
    model, reference = write(tmp_path, bpe_spec(merges, pre=pre), merges=merges, pre_tokenizer=pre_tokenizer)
    cases = [Case(id="sign", suite="made", text="a  (", add_special=False)]
    assert_at_fault(model, reference, cases, "leaves spaces and punctuation together" if is_at_fault else "")


@pytest.mark.parametrize(("kept", "is_at_fault"), [(1, True), (19, False)])
def test_a_reference_that_looks_up_tokens_without_merges_is_at_fault(kept: int, is_at_fault: bool, tmp_path):
    # No token is lost, as each that is a whole pre-token is looked up. A few tokens without a merge are common.
    merges = [f". {letter}" for letter in ascii_lowercase]
    stage = stages(SPLIT, byte_level(use_regex=False))
    model, reference = write(tmp_path, bpe_spec(merges, pre="qwen2"), merges=merges[:kept], pre_tokenizer=stage)
    document = json.loads(reference.read_text())
    document["model"]["ignore_merges"] = True
    reference.write_text(json.dumps(document))
    cases = [Case(id="sign", suite="made", text=".zz", add_special=False)]
    assert_at_fault(model, reference, cases, "merges are missing (it has 1)" if is_at_fault else "")


WORD_WITH_MARKS = ORIGINALS["qwen2"].replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(r"^\s\p{L}", r"^\s\p{L}\p{M}")


@pytest.mark.parametrize(
    ("configured", "used", "pre", "is_at_fault"),
    [
        (WORD_WITH_MARKS, ORIGINALS["qwen2"], "qwen35", True),
        # The model splits as the tokenizer.json, or neither as that nor as the configuration.
        (WORD_WITH_MARKS, ORIGINALS["qwen2"], "qwen2", False),
        (WORD_WITH_MARKS, ORIGINALS["qwen2"], "gpt-2", False),
        # The model is at fault.
        (ORIGINALS["qwen2"], ORIGINALS["qwen2"], "qwen35", False),
        ("(", ORIGINALS["qwen2"], "qwen35", False),
        ("(" * 3000 + "a" + ")" * 3000, ORIGINALS["qwen2"], "qwen35", False),
        (r"(?:(\w|\s|.)+)+$x|.", ORIGINALS["qwen2"], "qwen35", False),
    ],
    ids=["replaced", "used", "neither", "fault of the model", "invalid", "nested", "slow"],
)
def test_a_reference_whose_pattern_was_replaced_is_at_fault(
    configured: str, used: str, pre: str, is_at_fault: bool, tmp_path
):
    pre_tokenizer = stages({**SPLIT, "pattern": {"Regex": used}}, byte_level(use_regex=False))
    model, reference = write(tmp_path, bpe_spec(["a Ì"], pre=pre), merges=["a Ì"], pre_tokenizer=pre_tokenizer)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"pretokenize_regex": configured}))
    cases = [Case(id="mark", suite="made", text="a\N{COMBINING GRAVE ACCENT}", add_special=False)]
    assert_at_fault(model, reference, cases, "pretokenize_regex of tokenizer_config.json" if is_at_fault else "")
