import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.engine.models.rwkv import Rwkv, unescape
from tokverify.errors import BrokenFileError, EncodeError

BYTES = [f"\\x{byte:02x}" for byte in range(0x100)]
UNKNOWN = 7_777


def make(pieces: list[str]) -> Rwkv:
    return Rwkv({piece: id for id, piece in enumerate(pieces)}, UNKNOWN)


def pieces_of(text: str, pieces: list[str]) -> list[str]:
    return [pieces[id] if id != UNKNOWN else "unknown" for id in make(pieces).encode(text)]


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("abc", b"abc"),
        ("\\t\\n\\r", b"\t\n\r"),
        ("\\'\\\\\\q\\0", b"'\\q0"),
        ("\\x41\\xe4b", b"A\xe4b"),
        ("é\\xa9\udcff", b"\xc3\xa9\xa9\xff"),
        # Capital digits are not meant to be used: A counts as 17.
        ("\\x4A\\xFF", b"\x51\x76"),
        ("\\x !", b"\xf1"),
        ("\\xé", bytes([((0xC3 - 0x30) * 16 + 0xA9 - 0x30) % 256])),
        # An escape that does not end is ignored.
        ("a\\", b"a"),
        ("a\\x", b"a"),
        ("a\\x4", b"a"),
        ("", b""),
    ],
)
def test_stored_tokens_are_unescaped(piece: str, expected: bytes):
    assert unescape(piece) == expected


@given(st.binary())
def test_repr_of_python_is_read_back(data: bytes):
    assert unescape(repr(data)[2:-1]) == data


def test_the_longest_token_is_matched_from_left_to_right():
    pieces = ["<s>", *BYTES, "ab", "abcd", "bc", " a"]
    assert pieces_of("abcd abc", pieces) == ["abcd", " a", "bc"]
    assert pieces_of("abab", pieces) == ["ab", "ab"]


def test_tokens_can_begin_and_end_inside_characters():
    pieces = ["<s>", *BYTES, "a\\xe4\\xb8", "\\xad\\n", "\\xe4\\xb8"]
    assert pieces_of("a中\n中", pieces) == ["a\\xe4\\xb8", "\\xad\\n", "\\xe4\\xb8", "\\xad"]


def test_the_later_of_two_tokens_for_the_same_bytes_counts():
    assert pieces_of("aa", ["\\n", "a", "\\x61", "\\a"]) == ["\\a", "\\a"]


def test_a_byte_that_no_token_begins_with_is_unknown():
    assert pieces_of("aéa", ["\\n", "a"]) == ["a", "unknown", "unknown", "a"]


def test_an_escape_without_an_end_is_no_token():
    assert pieces_of("a", ["\\", "\\x", "a"]) == ["a"]


@pytest.mark.parametrize("text", ["b", "ab", "abd", "xb", "bcb"])
def test_a_text_that_llama_cpp_never_finishes_is_an_error(text: str):
    with pytest.raises(EncodeError, match=r"begin with the byte 0x62, but none matches at 'bd?'; llama.cpp never"):
        make(["a", "bc", "\\n"]).encode(text)


def test_a_vocabulary_that_llama_cpp_never_finishes_loading_is_refused():
    with pytest.raises(BrokenFileError, match="cannot encode a line feed"):
        make(["a", "\\n\\n"])
    assert make(["a"]).encode("a\n") == [0, UNKNOWN]


def encode_plainly(pieces: list[str], text: str) -> list[int] | None:
    """Walk along the tokens as llama.cpp does along its tree; None where it would begin again."""
    tokens = {unescape(piece): id for id, piece in enumerate(pieces)}
    begun = {token[:end] for token in tokens for end in range(1, len(token) + 1)}
    data, position, output = text.encode(), 0, []
    while position < len(data):
        if data[position : position + 1] not in begun:
            output.append(UNKNOWN)
            position += 1
            continue
        end, found, length = position + 1, 0, 0
        while data[position:end] in begun:
            if data[position:end] in tokens:
                found, length = tokens[data[position:end]], end
            if end >= len(data):
                break
            end += 1
        if length == 0:
            return None
        output.append(found)
        position = length
    return output


TOKEN = st.text("ab é中\n\0.。", min_size=1, max_size=4).map(str.encode)
PARTIAL = st.tuples(TOKEN, st.integers(0, 2), st.integers(0, 2)).map(lambda cut: cut[0][cut[1] : len(cut[0]) - cut[2]])


@pytest.mark.process  # takes seconds
@given(
    st.lists(st.one_of(TOKEN, PARTIAL), unique=True),
    st.booleans(),
    st.lists(st.text("ab é中\n\0x.。", min_size=1, max_size=10), max_size=4),
)
def test_encoding_equals_the_literal_algorithm(tokens: list[bytes], all_bytes: bool, texts: list[str]):
    pieces = [*dict.fromkeys([*(BYTES if all_bytes else ["\\n"]), *(repr(token)[2:-1] for token in tokens if token)])]
    model = make(pieces)
    for text in texts:
        expected = encode_plainly(pieces, text)
        if expected is None:
            with pytest.raises(EncodeError):
                model.encode(text)
        else:
            assert model.encode(text) == expected
