import unicodedata
from dataclasses import replace
from itertools import islice, pairwise
from random import Random

import pytest

from support import paths
from support.bare_tokenizer import Bare
from support.fake_tokenizer import FakeTokenizer
from support.paths import ROOT
from tokverify.sources.load import load_gguf
from tokverify.spec import AddedToken
from tokverify.texts import alphabet
from tokverify.texts.generator import GENERATORS, make_batch, scatter, select_usable
from tokverify.texts.sample import Sample, Vocabulary, common_vocabulary, vocabulary_of

SAMPLE = paths.SAMPLE / "sample.gguf"


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    known = vocabulary_of(load_gguf(SAMPLE), ["Once upon a time\n\nthere was\ta corpus."])
    return replace(known, one_sided=["<only-here>", "<only-there>", "there"])


def take(name: str, vocabulary: Vocabulary, count: int = 400, *, seed: int = 1, start: int = 0) -> list[Sample]:
    return list(islice(GENERATORS[name](Random(seed), vocabulary, start), count))  # noqa: S311 - no secret


def texts(name: str, vocabulary: Vocabulary) -> str:
    return "\n".join(sample.text for sample in take(name, vocabulary))


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_is_reproducible_and_makes_encodable_texts(name, vocabulary):
    samples = take(name, vocabulary)
    assert samples == take(name, vocabulary)
    if name not in {"added-tokens", "one-sided"}:  # which go through all of them first, whatever the seed
        assert samples != take(name, vocabulary, seed=2)
    assert len(set(samples)) > 150
    assert {sample[1:] for sample in samples} == {(False, False), (False, True), (True, False), (True, True)}
    for sample in samples:
        sample.text.encode()


def test_scattered_numbers_cover_each_number_once_and_resume():
    for size in (1, 2, 3, 10, 84, 97):
        numbers = list(scatter(size, 0))
        assert sorted(numbers) == list(range(size))
        assert list(scatter(size, size // 2)) == numbers[size // 2 :]
    assert list(scatter(5, 9)) == []
    assert list(scatter(0, 0)) == []
    # The first few already come from everywhere.
    assert {number // 250 for number in islice(scatter(1000, 0), 8)} == {0, 1, 2, 3}


def test_every_context_and_mode_of_an_added_token_is_tried_before_any_repeats():
    vocabulary = Vocabulary(["a"], added=["<x>", "<y>"])
    samples = take("added-tokens", vocabulary, 1000)
    every = {text.replace("<y>", "<x>") for text, _, _ in samples[: 2 * 4 * 21]}
    assert len(set(samples[: 2 * 4 * 21])) == 2 * 4 * len(every)
    assert every >= {"<x>", "a<x>", "<x>a", " <x>", "<x> ", "\n<x>\n", "<x><x>", "<x> <x>", "a  <x>  a", "1<x>1"}
    assert any("<x>" in text and "<y>" in text for text, _, _ in samples[2 * 4 * 21 :])


def test_exhaustive_generators_continue_through_the_batches():
    vocabulary = Vocabulary(["a"], added=[f"<{index}>" for index in range(50)])
    samples = [sample for number in range(7) for sample in make_batch(["added-tokens"], vocabulary, 0, number)]
    assert len(samples) == len(set(samples)) == 4200 == 50 * 4 * 21


def test_every_token_comes_up_in_the_first_lap():
    vocabulary = Vocabulary([f"[{index}]" for index in range(100)])
    found = "".join(sample.text for sample in take("pieces", vocabulary, 25))
    assert all(text in found for text in vocabulary.texts)


def test_generators_produce_their_kind_of_text(vocabulary):
    assert "'s" in texts("apostrophes", vocabulary)
    assert "\u200d" in texts("marks", vocabulary)
    assert {"\0", "\ufeff", "\ue000", "\u0378", "\uffff"} <= set(texts("odd", vocabulary))
    assert all(run in texts("whitespace", vocabulary) for run in ("\t\t\t", " " * 8, "\u3000"))
    assert "<0x" in texts("stored", vocabulary)
    assert "▁" in texts("stored", vocabulary)
    assert {unicodedata.category(c) for c in texts("unicode", vocabulary)} == set(alphabet.category_ranges())
    assert sum(c.isdigit() for c in texts("digits", vocabulary)) > 1000
    assert max(len(sample.text) for sample in take("repeats", vocabulary)) > 256
    assert all(part in texts("code", vocabulary) for part in ("{", "    ", "->"))
    names = {unicodedata.name(c, "").split()[0] for c in texts("scripts", vocabulary) if c.isalpha()}
    assert {"LATIN", "CYRILLIC", "HANGUL", "CJK", "ARABIC", "THAI"} <= names
    near = {sample.text for sample in take("near-misses", vocabulary)}
    assert len(near - set(vocabulary.added)) > 150


def test_a_corpus_is_cut_into_excerpts_and_mutated(vocabulary):
    samples = take("corpus", vocabulary)
    unchanged = [text for text, _, _ in samples if text in vocabulary.corpus[0]]
    assert 50 < len(unchanged) < 350
    assert len(set(unchanged)) > 30


def test_generators_without_material_are_left_out(vocabulary):
    assert "corpus" in select_usable(["words", "corpus"], vocabulary)
    bare = Vocabulary(["a"])
    assert select_usable(list(GENERATORS), bare) == [
        name for name in GENERATORS if name not in {"one-sided", "added-tokens", "near-misses", "stored", "corpus"}
    ]
    assert select_usable(["pieces"], Vocabulary([])) == []


def test_a_batch_takes_generators_in_turn_and_depends_on_seed_and_number_alone(vocabulary):
    samples = make_batch(["digits", "code"], vocabulary, 7, 3)
    assert len(samples) == 600
    assert sum(any(c.isnumeric() for c in text) for text, _, _ in samples[::2]) == 300
    assert samples == make_batch(["digits", "code"], vocabulary, 7, 3)
    assert samples != make_batch(["digits", "code"], vocabulary, 8, 3)
    assert samples != make_batch(["digits", "code"], vocabulary, 7, 4)


def test_the_vocabulary_of_an_encoder(vocabulary):
    assert {" the", "  ", "<bos>"} <= set(vocabulary.texts)
    assert {"▁the", "<0x0A>"} <= set(vocabulary.stored)
    assert "the" in vocabulary.words
    assert {"<bos>", "<eos>", "  ", "\t\t\t"} <= set(vocabulary.added)


def test_the_vocabulary_of_another_tokenizer():
    tokenizer = FakeTokenizer("a", "▁b", "\udcff", "", "x" * 600, "<s>", special_ids={"bos": 5})
    assert vocabulary_of(tokenizer) == Vocabulary(["a", " b", "<s>"], ["▁b"], ["<s>"], [])


class Listing(FakeTokenizer):
    """A tokenizer that lists its added tokens."""

    added_texts = ("<s>", "<x>", "<y>")


def test_the_common_vocabulary_begins_with_what_only_one_side_has():
    actual = Listing("a", "b", "<s>", "<x>", "<y>", special=["<s>"])
    expected = Listing("a", "c", "<s>", "<x>", "<y>", "д", special=["<s>", "<y>"])
    expected.added_texts = ("<s>", "<z>", "<y>")
    vocabulary = common_vocabulary(actual, expected)
    # One is matched by our side only, one by the other only, one is a control token of the other only.
    assert vocabulary.one_sided == ["<x>", "<y>", "<z>", "b", "c", "д"]
    assert vocabulary.added == ["<s>", "<x>", "<y>", "<z>"]
    assert vocabulary.texts == ["a", "b", "<s>", "<x>", "<y>", "c", "д"]
    assert "д" in vocabulary.words
    first = make_batch(tuple(GENERATORS), replace(vocabulary, stored=["x"], corpus=["x"]), 0, 0)[0]
    assert any(text in first.text for text in vocabulary.one_sided)


def test_spaces_are_the_same_however_a_library_lists_them():
    actual, expected = Listing("a"), Listing("a")
    actual.added_texts, expected.added_texts = ("  ", "\n", "   "), ("▁▁", "\n")
    assert common_vocabulary(actual, expected).one_sided == ["   "]


class Matching(FakeTokenizer):
    """A tokenizer that knows how its added tokens are matched, like llama.cpp."""

    def added_tokens(self) -> dict[int, AddedToken]:
        return {1: AddedToken(1, "<s>", special=True), 2: AddedToken(2, "<x>", special=False)}


def test_tokens_that_another_side_matches_are_disputed():
    actual = Listing("a", "<s>", "<x>", special=["<s>"])
    actual.added_texts = ("<s>",)
    assert common_vocabulary(actual, Matching("a", "<s>", "<x>", special=["<s>"])).one_sided == ["<x>"]


def test_a_side_that_lists_no_added_tokens_disputes_none():
    bare = Bare(FakeTokenizer("a", "<s>", special=["<s>"]))
    assert common_vocabulary(Listing("a", "<s>", special=["<s>"]), bare).one_sided == []


def test_categories_cover_all_of_unicode_but_surrogates():
    ranges = sorted(pair for pairs in alphabet.category_ranges().values() for pair in pairs)
    assert sum(last - first + 1 for first, last in ranges) == 0x110000 - 0x800
    assert all(last < first for (_, last), (first, _) in pairwise(ranges))
    for category, pairs in alphabet.category_ranges().items():
        assert {unicodedata.category(chr(code)) for first, last in pairs for code in range(first, last + 1)} == {
            category
        }


def test_each_generator_says_what_it_makes_in_the_documentation():
    documented = ROOT.joinpath("docs", "fuzz.md").read_text(encoding="utf-8")
    for name, generator in GENERATORS.items():
        assert f"| `{name}` | {generator.__doc__} |" in documented
