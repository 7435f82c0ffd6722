import json
from pathlib import Path

import pytest

from tokverify.errors import TokverifyError
from tokverify.train import corpus
from tokverify.train.corpus import LONGEST_CHUNK, check_corpus, read_blocks, read_lines


@pytest.fixture
def write(tmp_path: Path):
    def write(data: bytes, name: str = "corpus.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(corpus, "BLOCK_BYTES", 8)


@pytest.mark.parametrize("data", [b"a", "é".encode(), b"\xef\xbb\xbfx\r\n", b" \n\t x"])
def test_text_is_accepted(write, data: bytes):
    check_corpus([write(data)])


def test_an_empty_file_beside_a_text_is_accepted(write):
    check_corpus([write(b"", "empty"), write(b"text")])


@pytest.mark.parametrize("data", [b"", b" \n\n\t"])
def test_a_corpus_without_text_is_refused(write, data: bytes):
    with pytest.raises(TokverifyError, match=r"corpus\.txt: no text to train on"):
        check_corpus([write(data)])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"text \xff", r"byte 0xFF at offset 5 is not UTF-8 text: the file is binary"),
        (b"\x7fELF\0\0", r"byte 0x00 at offset 4 "),
        (b"1234567\xe2\x82", r"byte 0xE2 at offset 7 "),
        (b"1234567\xe2\x82x", r"byte 0xE2 at offset 7 "),
        (b"123456789\xe2x", r"byte 0xE2 at offset 9 "),
        ("1234567é\0".encode(), r"byte 0x00 at offset 9 "),
    ],
)
@pytest.mark.usefixtures("small_blocks")
def test_the_file_and_offset_of_non_text_are_reported(write, data: bytes, message: str):
    with pytest.raises(TokverifyError, match=message):
        check_corpus([write(b"fine", "other.txt"), write(data)])


def test_a_bad_file_after_a_good_one_is_found(write):
    with pytest.raises(TokverifyError, match=r"bad: byte"):
        check_corpus([write(b"text"), write(b"\xff", "bad")])


def test_only_regular_files_are_accepted(tmp_path: Path):
    with pytest.raises(TokverifyError, match="no such file"):
        check_corpus([tmp_path / "absent"])
    with pytest.raises(TokverifyError, match="not a regular file"):
        check_corpus([Path("/dev/null")])


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("one two\nthree\nfour five\n", ["one", " two\nthree\n", "four", " five\n"]),
        ("one\n\n\n\n\n\n\n\ntwo\n", ["one\n\n\n\n\n\n\n\n", "two\n"]),
        ("一二三四五六七八", ["一二三四五六七八"]),
        ("word word word word", ["word", " word word", " word"]),
    ],
)
@pytest.mark.usefixtures("small_blocks")
def test_blocks_end_at_lines_or_words(write, text: str, blocks: list[str]):
    found = list(read_blocks([write(text.encode())]))
    assert "".join(found) == text
    assert found == blocks


def test_files_are_read_in_order_and_not_joined(write):
    paths = [write(b"one", "a"), write(b"two\r\n\r\nthree \n", "b")]
    assert list(read_blocks(paths)) == ["one", "two\r\n\r\n", "three \n"]
    assert list(read_lines(paths)) == ["one", "two", "three "]


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "cpp"])
def test_no_piece_is_longer_than_a_chunk(trained_on, algorithm: str):
    trained = trained_on(algorithm, "ab" * 2 * LONGEST_CHUNK, vocab_size=2500)
    pieces = json.loads(trained.data)["model"]["vocab"]
    assert max(len(piece.removeprefix("##")) for piece in pieces) == LONGEST_CHUNK
