"""The cache of texts that differed: written by one run, tried first by the next, and never a reason to fail."""

from dataclasses import replace

import pytest

from support.fake_tokenizer import FakeTokenizer
from tokverify.compare.fuzz.earlier import MAX_KEPT, EarlierFailures
from tokverify.compare.fuzz.loop import EARLIER, fuzz
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.system.cache import VARIABLE, CacheFile
from tokverify.texts.sample import Sample

SAMPLES = (Sample('a\n"é🦙', False, True), Sample("\0", True, False))


@pytest.fixture
def cache(tmp_path) -> EarlierFailures:
    return EarlierFailures(CacheFile(tmp_path / "fuzz" / "key.json"))


def test_texts_are_read_as_they_were_written(cache):
    assert cache.read() == ()
    assert cache.write([*SAMPLES, SAMPLES[0]])
    assert cache.read() == SAMPLES


def test_without_texts_no_file_is_left(cache):
    cache.write(SAMPLES)
    assert cache.write([])
    assert not cache.file.path.exists()
    assert cache.write([])


def test_only_the_first_texts_are_kept(cache):
    cache.write(Sample(str(index), False, False) for index in range(MAX_KEPT + 5))
    assert len(cache.read()) == MAX_KEPT


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{", "null", '{"version": 1}', '{"version": 2, "texts": []}', '{"version": 1, "texts": [1]}', "\xff",
        '{"version": 1, "texts": [{"text": 1, "add_special": true, "parse_special": true}]}',
        '{"version": 1, "texts": [{"text": "a", "add_special": 1, "parse_special": true}]}',
    ],
)  # fmt: skip
def test_a_damaged_file_contains_nothing(cache, content):
    cache.file.path.parent.mkdir()
    cache.file.path.write_text(content, encoding="latin-1")
    assert cache.read() == ()


def test_a_directory_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    assert EarlierFailures(CacheFile(tmp_path / "file" / "key.json")).write(SAMPLES) is False


def test_each_model_and_reference_has_its_own_file(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.gguf").touch()
    paths = [
        EarlierFailures.of(model, reference).file.path
        for model, reference in (("a.gguf", "r"), ("b.gguf", "r"), ("a.gguf", "s"))
    ]
    assert len(set(paths)) == 3
    assert paths[0] == EarlierFailures.of(str(tmp_path / "a.gguf"), "r").file.path
    assert paths[0].parent == tmp_path / "fuzz"


def test_earlier_texts_are_tried_first_and_counted_separately():
    right = FakeTokenizer("a", "b", "ab", "x", "y", special_ids={"bos": 0})
    wrong = FakeTokenizer("a", "b", "", "x", "y", special_ids={"bos": 0})
    earlier = (Sample("xaby", False, False), Sample("ab", False, True), Sample("a", False, False))
    plan = FuzzPlan(count=20, generators=("digits",))
    fuzzed = fuzz(wrong, right, replace(plan, earlier=earlier))
    tally = fuzzed.generators[EARLIER]
    assert (tally.strings, fuzzed.strings) == (3, 23)
    assert fuzzed.causes[0].generator == EARLIER
    assert EARLIER not in fuzz(wrong, right, plan).generators
    assert [*fuzzed.generators] == [EARLIER, "digits"]
