"""Pieces with an empty text, such as WordPiece's `##`, to which llama.cpp gives a name."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.limits import assert_different, verify
from tokverify.report.finding import ERROR, INFO, WARNING
from tokverify.report.tokenizer_difference import Aspect, Origin, Verdict
from tokverify.sources.tokenizer_file import read_spec

TEXTS = ("fox", "foxes", "fo##es", "## fox", "xes", "[EMPTY_7] fox[EMPTY_7]", "[EMPTY_9]")
PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fox", "##es", "##", "x")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n")
    return path


def test_the_name_of_an_empty_piece_is_a_limit_of_llama_cpp(path):
    report = verify(read_spec(path), path, TEXTS)
    assert report.verdict is Verdict.EQUAL
    [found] = [each for each in report.differences if each.aspect is Aspect.BYTES]
    assert (found.origin, found.severity, list(found.ids)) == (Origin.RUNTIME, WARNING, [7])
    assert '7 "[EMPTY_7]", not "##" (the file declares what the reference does' in found.message


def test_an_empty_piece_for_another_token_is_an_error(path):
    spec = read_spec(path)
    assert_different(verify(replace(spec, tokens=[*spec.tokens[:-1], ""]), path, TEXTS))
    assert_different(
        verify(replace(spec, tokens=["" if piece == "es" else piece for piece in spec.tokens]), path, TEXTS)
    )


def test_an_empty_line_of_a_vocabulary_begins_no_word(path):
    path.write_text("\n".join((*PIECES, "")) + "\n")
    spec = read_spec(path)
    assert spec.tokens[-1] == ""
    # With `▁`, llama.cpp would find a beginning for `es`.
    assert verify(spec, path, (*TEXTS, "es")).verdict is Verdict.EQUAL
    assert_different(verify(replace(spec, tokens=[*spec.tokens[:-1], "▁"]), path, ["es"]))


def test_a_marker_inside_a_piece_is_decoded_as_a_space(path):
    """As in the vocabularies of KoBERT's kin, whose words already begin with a marker."""
    path.write_text("\n".join((*PIECES, "▁fox", "▁")) + "\n")
    spec = read_spec(path)
    assert spec.tokens[-2:] == ["▁▁fox", "▁▁"]
    report = verify(spec, path, ("fox", "foxes"))
    assert report.verdict is Verdict.EQUAL
    [found] = [each for each in report.differences if each.aspect is Aspect.BYTES and 9 in each.ids]
    assert (found.origin, found.severity, list(found.ids)) == (Origin.RUNTIME, WARNING, [9, 10])
    assert "llama.cpp decodes each ▁ as a space" in found.message
    wrong = replace(spec, tokens=[*spec.tokens[:-2], "▁fix", "▁▁"])
    differences = verify(wrong, path, ("fox", "foxes")).differences
    assert [each.severity for each in differences if 9 in each.ids] == [ERROR]


def test_a_piece_that_is_a_line_separator_is_trimmed_by_some_programs(path):
    """As in the vocab.txt of Chinese BERT, which other lines follow."""
    pieces = (*PIECES[:-1], "\N{LINE SEPARATOR}", "##\N{LINE SEPARATOR}", "x")
    path.write_text("\n".join(pieces) + "\n")
    spec = read_spec(path)
    assert spec.tokens[-3:] == ["▁\N{LINE SEPARATOR}", "\N{LINE SEPARATOR}", "▁x"]
    texts = ("fox\N{LINE SEPARATOR}x", "x", "foxes")
    report = verify(replace(spec, tokens=[*spec.tokens[:-3], "▁", "", "▁x"]), path, texts)
    assert report.verdict is Verdict.EQUAL
    [found] = [each for each in report.differences if each.aspect is Aspect.BYTES and 8 in each.ids]
    assert (found.severity, list(found.ids)) == (INFO, [8, 9])
    assert "words are split at whitespace, so no text is encoded to it" in found.message
    assert_different(verify(replace(spec, tokens=[*spec.tokens[:-3], "▁", "", "▁y"]), path, texts))


def test_a_word_with_a_line_end_is_a_fault_and_not_trimmed(path):
    spec = read_spec(path)
    wrong = replace(spec, tokens=[f"{piece}\r" if piece == "▁fox" else piece for piece in spec.tokens])
    differences = verify(wrong, path, ("x",)).differences
    assert [each.severity for each in differences if 5 in each.ids] == [ERROR]
