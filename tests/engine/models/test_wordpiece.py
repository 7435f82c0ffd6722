import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.engine.models.wordpiece import WordPiece
from tokverify.engine.normalizer import word_normalizer

PIECES = [
    "[UNK]",
    "▁un",
    "▁unaff",
    "aff",
    "able",
    "▁",
    "▁a",
    "▁a,",
    ",",
    "▁,",
    "a",
    "b",
    "ab",
    "▁é",
    "é",
    "▁中",
    "中",
    "▁ab",
]


def make(pieces: list[str] = PIECES, *, lowercase: bool = True, strip_accents: bool = False) -> WordPiece:
    ids = {piece: id for id, piece in enumerate(pieces)}
    return WordPiece(ids, 0, lowercase=lowercase, strip_accents=strip_accents)


def pieces_of(text: str, pieces: list[str] = PIECES, **options: bool) -> list[str]:
    return [pieces[id] for id in make(pieces, **options).encode(text)]


def test_the_longest_piece_is_matched_from_left_to_right():
    assert pieces_of("unaffable") == ["▁unaff", "able"]
    assert pieces_of("abab") == ["▁ab", "ab"]
    assert pieces_of("aba") == ["▁ab", "a"]


def test_matching_never_goes_back_for_a_shorter_piece():
    # `▁un` and `aff` would spell the word, but `▁unaff` is longer and leaves a remainder that is not a piece.
    assert pieces_of("unaffx") == ["[UNK]"]
    assert pieces_of("unaff", ["[UNK]", "▁un", "▁una", "aff"]) == ["[UNK]"]


def test_a_word_that_cannot_be_composed_is_one_unknown_token():
    assert pieces_of("abx a xab") == ["[UNK]", "▁a", "[UNK]"]


def test_only_the_beginning_of_a_word_is_marked():
    assert pieces_of("a ba") == ["▁a", "▁", "b", "a"]


def test_punctuation_and_chinese_characters_are_words():
    # `▁a,` is a piece that no word can be.
    assert pieces_of("a,a") == ["▁a", "▁,", "▁a"]
    assert pieces_of("a中中ab") == ["▁a", "▁中", "▁中", "▁ab"]


def test_lowercase_and_accents():
    assert pieces_of("AB É") == ["▁ab", "▁é"]
    assert pieces_of("AB É", lowercase=False) == ["[UNK]", "[UNK]"]
    assert pieces_of("á", strip_accents=True) == ["▁a"]
    assert pieces_of("é", strip_accents=True) == ["[UNK]"]


def test_control_characters_do_not_end_a_word():
    assert pieces_of("a\x1cb\x00\xadab\ufffd") == ["▁ab", "ab"]


def test_a_text_without_words_has_no_tokens():
    assert pieces_of("") == pieces_of(" \n\t\x1c\x00") == []


def test_a_piece_can_be_a_part_of_a_character():
    # é is C3 A9, and ▁ is E2 96 81.
    pieces = ["[UNK]", "▁\udcc3", "\udca9", "\udca9a", "\udce2\udc96", "\udc81a"]
    assert pieces_of("é éa a", pieces) == ["▁\udcc3", "\udca9", "▁\udcc3", "\udca9a", "\udce2\udc96", "\udc81a"]
    assert pieces_of("è", pieces) == ["[UNK]"]


def encode_plainly(pieces: list[str], text: str) -> list[int]:
    """The algorithm as llama.cpp writes it, byte by byte, on one word after the other."""
    ids = {piece.encode("utf-8", "surrogateescape"): id for id, piece in enumerate(pieces)}
    longest = max(map(len, ids))
    output = []
    for word in word_normalizer(lowercase=True, strip_accents=True)(text).split(" "):
        if not word:
            continue
        data, found, start = "▁".encode() + word.encode(), [], 0
        while start < len(data):
            ends = range(min(len(data), start + longest + 1), start, -1)
            end = next((end for end in ends if data[start:end] in ids), None)
            if end is None:
                found = [0]
                break
            found.append(ids[data[start:end]])
            start = end
        output += found
    return output


@given(
    st.lists(st.text("ab▁é中,\udcc3\udca9\udce2", min_size=1, max_size=3), unique=True),
    st.lists(st.text("abAé中, \x1c\u0301\n\r\u3000", max_size=12), max_size=4),
)
def test_encoding_equals_the_literal_algorithm(pieces: list[str], texts: list[str]):
    pieces = [*dict.fromkeys(["[UNK]", "▁", *pieces])]
    model = make(pieces, strip_accents=True)
    # One model for several texts: what it remembers of one must fit the next.
    for text in texts:
        assert model.encode(text) == encode_plainly(pieces, text)


@pytest.mark.parametrize(("text", "differs"), [("한", True), ("e\u0301", False), ("café", False)])
def test_differences_between_llama_cpp_and_the_reference(vocabs, encoder_of, text: str, differs: bool):
    from tokenizers import Tokenizer

    reference = Tokenizer.from_file(str(vocabs / "bert-bge.tokenizer.json"))
    reference.no_padding()
    expected = reference.encode(text, add_special_tokens=False).ids
    assert (encoder_of("bert-bge").encode(text) != expected) is differs
