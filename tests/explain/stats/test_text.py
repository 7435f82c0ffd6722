"""Probes of tokenizers that are small enough to know the right results."""

from __future__ import annotations

import string

import pytest

from support.fake_tokenizer import FakeTokenizer
from support.spec_maker import bpe_spec, spm_spec
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.explain.stats import text as module
from tokverify.explain.stats.text import compare_with_english, parallel_samples, probe, read_pieces, samples, texts_of
from tokverify.report.stats import TextKind

LETTERS = (*string.ascii_letters, " ", "\n")


def write(directory, name, content):
    path = directory / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_the_samples_are_of_every_kind():
    every = list(samples())
    assert {text.kind for text in every} == set(TextKind)
    assert [text.name for text in every if text.kind is TextKind.PROSE] == list(parallel_samples())
    assert len(parallel_samples()) == 10
    assert len([text for text in every if text.kind is TextKind.CODE]) == 6
    assert all(100 < len(text.content) < 1000 for text in every)


@pytest.mark.parametrize(
    ("name", "kind", "language"),
    [("a.py", TextKind.CODE, "Python"), ("a.CPP", TextKind.CODE, "C++"), ("a.rs", TextKind.CODE, "Rust"),
     ("a.h", TextKind.CODE, "C"),
     ("a.txt", TextKind.PROSE, "Latin"), ("a.md", TextKind.PROSE, "Latin"), ("README", TextKind.PROSE, "Latin")],
)  # fmt: skip
def test_the_suffix_implies_the_kind(tmp_path, name, kind, language):
    [text] = texts_of(write(tmp_path, name, "some words\n"))
    assert (text.kind, text.name, text.content) == (kind, language, "some words\n")


def test_prose_is_cut_where_the_script_of_its_lines_changes(tmp_path):
    content = "1\nOne\n\nthree – 3\nЧетыре\n---\nпять\n六\n"
    texts = list(texts_of(write(tmp_path, "a.txt", content)))
    assert [(text.name, text.content) for text in texts] == [
        ("Latin", "1\nOne\n\nthree – 3\n"),
        ("Cyrillic", "Четыре\n---\nпять\n"),
        ("Han", "六\n"),
    ]
    assert [text.spaced for text in texts] == [True, True, False]


def test_prose_without_letters_says_so(tmp_path):
    [text] = texts_of(write(tmp_path, "a.txt", "1 2 3\n"))
    assert text.name == "no letters"


def test_code_is_not_cut_by_script(tmp_path):
    [text] = texts_of(write(tmp_path, "a.py", "a = 1\n# Привет\n"))
    assert text.content == "a = 1\n# Привет\n"


def test_an_empty_file_has_no_text(tmp_path):
    assert list(texts_of(write(tmp_path, "a.txt", ""))) == []


@pytest.mark.parametrize("content", ["", "ab", "ab\ncd\nef\n", "a\r\nb\r\n", "é" * 50, "\n" * 20, "🦙\n" * 9 + "x"])
def test_long_files_are_read_in_pieces_that_make_up_the_whole(tmp_path, monkeypatch, content):
    monkeypatch.setattr(module, "PIECE_BYTES", 7)
    assert "".join(read_pieces(write(tmp_path, "a", content))) == content


def test_pieces_end_at_line_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PIECE_BYTES", 4)
    assert list(read_pieces(write(tmp_path, "a", "ab\ncd\nefg\n"))) == ["ab\ncd\n", "efg\n"]


def test_short_files_are_read_whole(tmp_path):
    assert list(read_pieces(write(tmp_path, "a", "a\nb\n" * 1000))) == ["a\nb\n" * 1000]


@pytest.mark.parametrize("size", [3, 4, 5, 7, 1 << 20])
@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"caf\xe9", "byte 0xE9 at offset 3"),
        (b"ab\ncd\xff\n", "byte 0xFF at offset 5"),
        (b"\xf0\x9f\xa6", "byte 0xF0 at offset 0"),
        (b"abc\n\xe2\x28\xa1", "byte 0xE2 at offset 4"),
    ],
)
def test_invalid_utf8_is_reported_with_its_location(tmp_path, monkeypatch, data, place, size):
    monkeypatch.setattr(module, "PIECE_BYTES", size)
    path = write(tmp_path, "a.txt", data)
    with pytest.raises(TokverifyError) as caught:
        list(read_pieces(path))
    assert str(caught.value) == f"{path}: {place} is not UTF-8; convert the file first"


@pytest.mark.parametrize("name", ["absent.txt", "."])
def test_an_unreadable_file_is_reported(tmp_path, name):
    with pytest.raises(TokverifyError, match="cannot read the text: "):
        list(read_pieces(tmp_path / name))


def test_numbers_of_one_token_are_counted():
    found = probe(FakeTokenizer(*LETTERS, *string.digits, "42", "100", "1000"))
    assert found.single_numbers == 12
    # 1,003 numbers of four to six digits, one of which begins with "1000".
    assert 4 < found.tokens_per_long_number < 6


def test_a_space_put_before_a_number_does_not_count():
    encoder = Encoder(spm_spec({"▁": 0.0, **dict.fromkeys(string.digits, -1.0), "▁7": 1.0}, add_space_prefix=True))
    assert [encoder.piece(id) for id in encoder.encode("8")] == ["▁", "8"]
    assert probe(encoder).single_numbers == 10


def test_numbers_that_are_lost_are_not_counted():
    assert probe(FakeTokenizer(*LETTERS)).single_numbers is None
    assert probe(FakeTokenizer(*LETTERS)).tokens_per_long_number is None


def test_an_indentation_with_one_token_per_space_is_measured():
    found = probe(FakeTokenizer(*LETTERS))
    assert found.indentation == {width: width for width in range(1, 17)}
    assert found.spaces_per_token == 1.0


def test_runs_of_spaces_are_fewer_tokens():
    found = probe(FakeTokenizer(*LETTERS, "    ", "\n  ", " b"))
    # A newline with two spaces, then four at a time, then one each; the last one may be a part of the word.
    assert [found.indentation[width] for width in (1, 2, 3, 6, 7)] == [1, 1, 2, 2, 3]


def test_indentation_that_is_not_kept_is_not_measured():
    class Collapsing(FakeTokenizer):
        def encode(self, text, **options):
            return super().encode(" ".join(text.split()), **options)

    found = probe(Collapsing(*LETTERS))
    assert (found.indentation, found.spaces_per_token, found.trailing_space) == (None, None, None)


@pytest.mark.parametrize(("pieces", "alone"), [((), False), ((" dog",), True), ((" d",), True)])
def test_a_space_at_the_end_of_a_prompt(pieces, alone):
    assert probe(FakeTokenizer(*LETTERS, *pieces)).trailing_space is alone


def test_languages_are_compared_with_english_unless_they_are_unknown():
    encoder = Encoder(bpe_spec([]))
    found = probe(encoder).against_english
    assert "English" not in found
    assert found["Hindi"] == pytest.approx(961 / 403)
    assert probe(encoder, unknown={encoder.encode("न")[0]}).against_english.keys() == found.keys() - {"Hindi"}
    assert probe(encoder, unknown={encoder.encode("e")[0]}).against_english is None
    assert probe(FakeTokenizer("a")).against_english is None


def test_the_mean_leaves_english_out():
    assert compare_with_english({"English": 5, "Thai": 10, "Lao": 20}) == {"Thai": 2.0, "Lao": 4.0}
    assert compare_with_english({"English": 5}) == {}
    assert compare_with_english(None) is None
    found = probe(Encoder(bpe_spec([])))
    assert found.mean_against_english == pytest.approx(sum(found.against_english.values()) / 9)
