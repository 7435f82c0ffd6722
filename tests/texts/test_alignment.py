from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tokverify.report.difference import DecodeDifference, Difference, Excerpt
from tokverify.texts.alignment import compare, compare_decoded
from tokverify.tokenizer import Token


def tokens(*pieces: str | bytes | tuple[int, str | bytes]) -> list[Token]:
    """Make tokens whose ids follow from their pieces, unless given."""
    return [_token(*(piece if isinstance(piece, tuple) else (_id(piece), piece))) for piece in pieces]


def _token(id: int, piece: str | bytes) -> Token:
    data = piece.encode() if isinstance(piece, str) else piece
    return Token(id, data.decode("utf-8", "surrogateescape"), data)


def _id(piece: str | bytes) -> int:
    return int.from_bytes(piece.encode() if isinstance(piece, str) else piece)


def shape(difference: Difference) -> list[str]:
    """Write blocks as `=a b` and `a|bc`."""
    return [
        f"={joined(block.actual)}" if block.equal else f"{joined(block.actual)}|{joined(block.expected)}"
        for block in difference.blocks
    ]


def joined(side):
    return " ".join(token.piece for token in side)


def test_blocks_meet_at_common_byte_boundaries():
    difference = compare(tokens("w", "_", "_", "x", "y", "z"), tokens("w", "__", "x", "yz"))
    assert shape(difference) == ["=w", "_ _|__", "=x", "y z|yz"]


def test_neighboring_differences_stay_apart_where_both_end_at_the_same_byte():
    assert shape(compare(tokens("ab", "c", "d"), tokens("a", "b", "cd"))) == ["ab|a b", "c d|cd"]


def test_equal_bytes_with_other_ids_differ():
    difference = compare(tokens((1, "a"), (2, "b")), tokens((1, "a"), (3, "b")))
    assert shape(difference) == ["=a", "b|b"]
    assert [token.id for token in difference.blocks[1].expected] == [3]


def test_tokens_without_bytes_are_aligned_too():
    bos, eos = (7, ""), (8, "")
    assert shape(compare(tokens(bos, "a", eos), tokens(bos, "a"))) == ["=" + " a", "|"]
    assert shape(compare(tokens("a"), tokens(bos, "a", eos)))[1:] == ["=a", "|"]


def ids_only(side: list[Token]) -> list[Token]:
    return [Token(token.id, f"<{token.id}>", b"") for token in side]


def test_the_text_of_a_side_with_only_ids_is_that_of_the_other_one():
    actual, expected = tokens("w", "_", "x"), tokens("w", "_x")
    whole = compare(actual, expected)
    for sides in ((ids_only(actual), expected), (actual, ids_only(expected))):
        difference = compare(*sides)
        assert difference.excerpt == whole.excerpt == Excerpt("w", "_x", "_x")
        assert difference.first.byte_offset == 1


def test_a_side_with_only_ids_ends_where_its_ids_do():
    whole = tokens("w", "_", "x")
    assert compare(whole, ids_only(whole[:2])).excerpt == Excerpt("w_", "x", "")
    assert compare(ids_only(whole[:2]), whole).excerpt == Excerpt("w_", "", "x")
    assert compare(whole, []).excerpt == Excerpt("", "w_x", "")
    assert compare(ids_only(whole), ids_only(whole[:2])).excerpt == Excerpt()


def test_other_bytes_are_aligned_by_ids():
    difference = compare(tokens("<s>", "e", "x", "y"), tokens("é", "x", "y", "!"))
    assert shape(difference) == ["<s> e|é", "=x y", "|!"]


def test_an_empty_side_is_one_difference():
    assert shape(compare([], tokens("a", "b"))) == ["|a b"]
    assert compare(tokens("a"), []).first.expected is None


def test_first_divergence_counts_tokens_and_bytes():
    first = compare(tokens("é", "a", "b"), tokens("é", "ab")).first
    assert (first.token_index, first.byte_offset) == (1, 2)
    assert (first.actual.piece, first.expected.piece) == ("a", "ab")


def test_first_divergence_at_the_end_of_one_side():
    first = compare(tokens("a"), tokens("a", "b")).first
    assert (first.token_index, first.byte_offset, first.actual) == (1, 1, None)
    assert first.expected.piece == "b"


def test_excerpt_starts_at_a_whole_character():
    emoji = "🦙".encode()
    difference = compare(tokens("a", emoji[:2], emoji[2:3], emoji[3:]), tokens("a", emoji[:2], emoji[2:]))
    assert difference.first.byte_offset == 3
    shown = difference.excerpt
    assert (shown.before, shown.actual, shown.expected) == ("a", "🦙", "🦙")


def test_the_excerpt_shows_what_each_side_decodes():
    shown = compare(tokens("caf", "e\u0301", "!"), tokens("caf", "é", "!")).excerpt
    assert (shown.before, shown.actual, shown.expected) == ("caf", "e\u0301!", "é!")


def test_excerpt_is_short_in_a_long_text():
    shown = compare(tokens("🦙" * 50, "x", "é" * 50), tokens("🦙" * 50, "x" + "é" * 50)).excerpt
    assert (shown.before, shown.actual) == ("🦙" * 8, "x" + "é" * 7)


def test_long_runs_of_one_token_do_not_take_quadratic_time():
    difference = compare(tokens("<s>", *["a"] * 30_000, "b"), tokens("c", *["a"] * 30_001, "d"))
    assert len(difference.blocks) == 1


PIECES = st.lists(st.sampled_from(["a", "b", "ab", "aa", "ba", ""]), max_size=12)


@given(PIECES, PIECES)
def test_blocks_tile_both_sides(left, right):
    actual, expected = tokens(*left), tokens(*right)
    blocks = compare(actual, expected).blocks
    assert [token for block in blocks for token in block.actual] == actual
    assert [token for block in blocks for token in block.expected] == expected
    assert all(block.equal == ([t.id for t in block.actual] == [t.id for t in block.expected]) for block in blocks)


@given(st.text("ab", min_size=1), st.data())
def test_the_same_text_is_cut_wherever_both_end(text, data):
    def cut():
        at = sorted(data.draw(st.sets(st.integers(0, len(text)))) | {0, len(text)})
        return tokens(*[text[a:b] for a, b in pairwise(at)])

    for block in compare(cut(), cut()).blocks:
        joined = ["".join(token.piece for token in side) for side in (block.actual, block.expected)]
        assert joined[0] == joined[1]


def test_equal_bytes_are_no_decode_difference():
    assert compare_decoded(b"a", b"a") is None


def test_a_decode_difference_says_where_it_begins():
    difference = compare_decoded(b"ab\xff", b"ab")
    assert difference == DecodeDifference(
        offset=2, actual_text="ab\ufffd", expected_text="ab", actual=b"ab\xff", expected=b"ab"
    )


def test_text_with_replacement_characters_equals_the_bytes_that_are_no_utf_8():
    assert compare_decoded(b"a\x80\x80", "a\ufffd\ufffd".encode()) is None
    assert compare_decoded("\ufffd".encode(), b"\xe2\x96") is None
    assert compare_decoded(b"a\x80", b"a\x81") is not None
    assert compare_decoded(b"a", "\ufffd".encode()) is not None
