"""Reconstruct small tokenizers of every family from ids alone."""

from dataclasses import replace

import pytest

from support.bare_tokenizer import Bare
from support.selection import thinned
from support.spec_maker import CONTROL, USER_DEFINED, bpe_spec, spec_of, spm_spec, unigram_spec
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.repair.probe import learn
from tokverify.repair.probe.convention import all_splits
from tokverify.repair.probe.ids_only import IdsOnly

pytestmark = pytest.mark.process  # each comparison of all pre-tokenizers takes about a second

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?'-"
WORDS = ["th", "he", "in", "er", "an", "the", "ing", "▁a", "▁t", "▁the", "▁in", "er", "est", "▁▁"]
SPM = spm_spec(
    {piece: -float(rank) for rank, piece in enumerate(dict.fromkeys([*WORDS, "▁", *LETTERS]))} | {"<x>": -900.0},
    {"<x>": CONTROL},
    add_bos=True,
    special_ids={"bos": 1, "eos": 2},
    add_space_prefix=True,
)
MERGES = ["t h", "th e", "i n", "in g", "Ġ a", "Ġ t", "Ġ th", "Ġ the", "Ġ Ġ", "ĠĠ ĠĠ", "1 2", "12 3", "' t", "Ċ Ċ"]
BPE = bpe_spec(MERGES, {"<|endoftext|>": CONTROL, "<y>": USER_DEFINED}, pre="qwen2", add_bos=False)
PIECES = dict.fromkeys(["▁", *LETTERS, "é", "a\u0301"], 0.0) | dict.fromkeys(WORDS, 0.0)
UNIGRAM = unigram_spec(
    {piece: -2.0 - rank / 20 for rank, piece in enumerate(dict.fromkeys([*WORDS, *PIECES]))},
    special_ids={"eos": 1, "unk": 2},
    add_eos=True,
    add_space_prefix=True,
    remove_extra_whitespaces=True,
)
BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BERT = spec_of(
    "bert",
    [*BERT_SPECIAL, *(f"▁{letter}" for letter in LETTERS.lower()[:26] + LETTERS[52:]), *LETTERS[:26], "▁the", "ing"],
    dict.fromkeys(BERT_SPECIAL, CONTROL),
    special_ids={"unk": 1, "bos": 2, "sep": 3},
)
GEMMA4 = replace(SPM, model="gemma4", scores=None, add_space_prefix=False)
GEMMA4 = replace(GEMMA4, merges=all_splits(tuple(GEMMA4.tokens), tuple(range(259, len(GEMMA4.tokens) - 1))))

TEXTS = (
    "the thing in there",
    "  Then   the  theater's\n\n\nend.",
    "123 1234, don't <x><y> stop",
    "<|endoftext|>the</s>",
    "é \u65e5\u672c\u8a9e \U0001f600",
    "theing thething athe",
)


def assert_learned(spec, reference):
    learned = Encoder(learn(reference).spec)
    original = Encoder(spec)
    for text in TEXTS:
        for modes in ({}, {"parse_special": False}, {"add_special": True}):
            assert learned.encode(text, **modes) == original.encode(text, **modes), text


@pytest.mark.parametrize("hide", thinned(2, [Bare, IdsOnly]), ids=["bytes", "stored strings"])
@pytest.mark.parametrize("spec", [SPM, BPE, UNIGRAM, BERT, GEMMA4], ids=["llama", "gpt2", "t5", "bert", "gemma4"])
def test_a_learned_tokenizer_encodes_like_its_reference(spec, hide):
    assert_learned(spec, hide(Encoder(spec)))


def test_merges_are_recovered_in_their_order():
    learned = learn(Bare(Encoder(BPE)))
    assert list(learned.spec.merges) == MERGES
    assert list(learned.spec.types) == list(BPE.types)
    assert list(learned.spec.tokens) == list(BPE.tokens)


def test_the_pre_tokenizer_is_one_that_gives_the_same_ids():
    learned = learn(Bare(Encoder(BPE)))
    assert "qwen2" in {learned.spec.pre, *learned.alike}
    assert "gpt-2" not in {learned.spec.pre, *learned.alike}


def test_flags_are_recovered():
    spec = learn(Bare(Encoder(SPM))).spec
    assert (spec.add_bos, spec.add_eos, spec.add_space_prefix) == (True, False, True)
    spec = learn(Bare(Encoder(UNIGRAM))).spec
    assert (spec.add_bos, spec.add_eos) == (False, True)
    assert (spec.add_space_prefix, spec.remove_extra_whitespaces) == (True, True)


@pytest.mark.parametrize(("lowercase", "strip_accents"), [(True, True), (True, False), (False, False)])
def test_the_cleanup_of_words_is_recovered(lowercase, strip_accents):
    words = [f"▁q{letter}q" for letter in "ABCDEéèàüöñçîôâabcdeuonia"]
    more = list(dict.fromkeys([*words, *"ABCDEFGHIJKLMNOPQRS"]))
    tokens = [*BERT.tokens, *more]
    types = [*BERT.types, *[1] * len(more)]
    spec = replace(BERT, tokens=tokens, types=types, lowercase=lowercase, strip_accents=strip_accents)
    learned = learn(Bare(Encoder(spec))).spec
    assert (learned.lowercase, learned.strip_accents) == (lowercase, strip_accents)


def test_what_ids_reveal_is_told_apart_from_what_is_assumed():
    roles = learn(Bare(Encoder(SPM))).roles
    assert roles.revealed == {"bos": 1}
    assert roles.assumed == {"eos": 2, "unk": 0}
    assert roles.declared == {}


@pytest.mark.slow
def test_a_reference_that_lists_types_is_asked_for_them():
    asked, probed = learn(Encoder(BPE)), learn(Bare(Encoder(BPE)))
    assert asked.encodings < probed.encodings
    assert list(asked.spec.types) == list(BPE.types)


def test_stored_strings_can_come_from_a_file():
    spec = learn(Bare(Encoder(SPM)), SPM.tokens).spec
    assert list(spec.tokens) == list(SPM.tokens)


def test_a_vocabulary_of_another_size_is_rejected():
    with pytest.raises(TokverifyError, match="the vocabulary has 1 tokens and the reference"):
        learn(Bare(Encoder(SPM)), ["a"])


def test_a_tokenizer_of_no_known_kind_is_rejected():
    class Shifted(Bare):
        def encode(self, text, **modes):
            return [(id + 1) % self.vocab_size for id in super().encode(text, **modes)]

    with pytest.raises(UnsupportedError, match="no family that can be learned encodes like the reference"):
        learn(Shifted(Encoder(BPE)))


@pytest.mark.slow
def test_merges_that_the_reference_lacks_are_left_out():
    spec = replace(BPE, merges=[merge for merge in MERGES if merge not in {"in g", "Ġ the"}])
    learned = learn(Bare(Encoder(spec))).spec
    assert list(learned.merges) == list(spec.merges)
    assert_learned(spec, Bare(Encoder(spec)))
