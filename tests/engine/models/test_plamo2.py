import re
from collections.abc import Mapping
from math import floor, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.engine.models.plamo2 import Plamo2
from tokverify.engine.models.plamo3 import Plamo3, segments
from tokverify.errors import BrokenFileError

BYTES = {f"<0x{byte:02X}>": 0.0 for byte in range(0x100)}


def make(scores: Mapping[str, float]) -> tuple[Plamo2, list[str]]:
    pieces = {"<unk>": 0.0, **BYTES, **scores}
    ids = {piece: id for id, piece in enumerate(pieces)}
    return Plamo2(ids, list(pieces.values()), range(1, 0x101)), [*pieces]


def pieces_of(text: str, scores: Mapping[str, float]) -> list[str]:
    model, pieces = make(scores)
    return [pieces[id] for id in model.encode(text)]


def test_the_pieces_with_the_greatest_sum_of_scores_are_chosen():
    assert pieces_of("abc", {"a": -1, "ab": -2, "bc": -4, "c": -1}) == ["ab", "c"]
    assert pieces_of("abc", {"a": -1, "ab": -5, "bc": -2, "c": -1}) == ["a", "bc"]
    assert pieces_of("abc", {"a": -1, "ab": -5, "bc": -2, "c": -1, "abc": -2.5}) == ["abc"]


def test_the_longest_first_piece_wins_if_sums_are_equal():
    assert pieces_of("ab", {"a": -1, "b": -1, "ab": -2}) == ["ab"]
    assert pieces_of("abc", {"a": -1, "ab": -2, "bc": -2, "c": -1}) == ["ab", "c"]


def test_scores_are_rounded_to_ten_thousandths_away_from_zero():
    assert pieces_of("ab", {"a": -1, "b": 0, "ab": -1.00004}) == ["ab"]
    assert pieces_of("ab", {"a": -1, "b": 0, "ab": -1.00006}) == ["a", "b"]
    # 0.5 of the unit, exactly, as a 32-bit float can hold it.
    assert pieces_of("ab", {"a": -0.0625, "b": 0, "ab": -0.0625}) == ["ab"]
    assert pieces_of("ab", {"a": -0.0312, "b": 0, "ab": -0.03125}) == ["a", "b"]
    assert pieces_of("ab", {"a": 0.0313, "b": 0, "ab": 0.03125}) == ["ab"]


def test_unknown_characters_are_encoded_as_bytes():
    assert pieces_of("aé", {"a": -1}) == ["a", "<0xC3>", "<0xA9>"]
    assert pieces_of("🦙\n", {}) == ["<0xF0>", "<0x9F>", "<0xA6>", "<0x99>", "<0x0A>"]
    # Byte tokens are never found by their texts.
    assert pieces_of("<0x41>", {}) == [f"<0x{ord(character):02X}>" for character in "<0x41>"]


def test_spelling_a_character_costs_as_much_as_a_score_of_minus_1000():
    assert pieces_of("ab", {"b": -1, "ab": -1000.9}) == ["ab"]
    assert pieces_of("ab", {"b": -1, "ab": -1001}) == ["ab"]
    assert pieces_of("ab", {"b": -1, "ab": -1001.1}) == ["<0x61>", "b"]
    assert pieces_of("a", {"a": -1000.5}) == ["<0x61>"]
    assert pieces_of("a", {"a": -999.9}) == ["a"]


def test_a_piece_with_a_score_of_minus_2000_is_never_used():
    assert pieces_of("abc", {"abc": -1999.9999}) == ["abc"]
    assert pieces_of("abc", {"abc": -2000}) == ["<0x61>", "<0x62>", "<0x63>"]
    assert pieces_of("abc", {"abc": -1e30}) == ["<0x61>", "<0x62>", "<0x63>"]
    # llama.cpp has 32 bits for it, and takes what does not fit for the least of all numbers.
    assert pieces_of("abc", {"abc": 214_748}) == ["abc"]
    assert pieces_of("abc", {"abc": 214_749}) == ["<0x61>", "<0x62>", "<0x63>"]


@pytest.mark.parametrize("score", [-inf, inf])
def test_a_piece_with_an_infinite_score_is_never_used(score: float):
    assert pieces_of("ab", {"a": -1, "b": -1, "ab": score}) == ["a", "b"]


def test_a_piece_of_score_minus_1000_hides_shorter_ones():
    scores = {"a": -1, "b": -1, "[": -1, "[P]": -1000, "P": -1, "]": -1}
    assert pieces_of("[P", scores) == ["[", "P"]
    assert pieces_of("[P]", scores) == ["[P]"]
    # What stands before it is not found either.
    assert pieces_of("a[P]b", scores) == ["<0x61>", "[P]", "b"]
    assert pieces_of("ba[P]b", scores) == ["b", "<0x61>", "[P]", "b"]


def test_a_byte_order_mark_is_dropped_from_the_beginning():
    scores = {"a": -1, "\ufeff": -1}
    assert pieces_of("\ufeffa\ufeff", scores) == ["a", "\ufeff"]
    assert pieces_of("\ufeff\ufeff", scores) == ["\ufeff"]
    assert pieces_of("\ufeff", scores) == pieces_of("", scores) == []


def ids_of(pieces: list[str]) -> dict[str, int]:
    return {piece: id for id, piece in enumerate(pieces)}


@pytest.mark.parametrize(
    ("pieces", "byte"), [([*BYTES], "<0x00>"), (["a", *BYTES][:-1], "<0xFF>"), (["a", *BYTES, "<0x0>"][1:], "<0x00>")]
)
def test_a_byte_without_a_token_is_refused(pieces: list[str], byte: str):
    byte_ids = [id for id, piece in enumerate(pieces) if piece.startswith("<")]
    with pytest.raises(BrokenFileError, match=f"no token for the byte {byte}, or its id is 0"):
        Plamo2(ids_of(pieces), [0.0] * len(pieces), byte_ids)


def test_the_last_token_of_a_byte_counts_in_any_case():
    pieces = ["a", *BYTES, "<0x0a>", "<0x0A", "<0xZZ>"]
    model = Plamo2(ids_of(pieces), [0.0] * len(pieces), range(1, len(pieces)))
    assert model.encode("\n") == [257]


class Table:
    """llama.cpp's table, built as it builds it: the rows of a suffix are its beginnings, then a last row."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        known: dict[str, float | None] = dict(scores)
        for piece in scores:
            for start in range(1, len(piece)):
                known.setdefault(piece[start:], None)
        suffixes = sorted([*known, ""], key=lambda suffix: suffix.encode()[::-1])
        self.first_row: dict[str, int] = {}
        self.rows: list[tuple[str | None, float]] = []
        for suffix in suffixes:
            self.first_row[suffix] = len(self.rows)
            beginnings = [suffix[:end] for end in range(len(suffix), 0, -1)]
            self.rows += [(piece, self.rounded(known[piece])) for piece in beginnings if piece in known]
            self.rows.append((None, -10_000_000))

    @staticmethod
    def rounded(score: float | None) -> float:
        if score is None:
            return -20_000_000
        return floor(abs(score) * 1e4 + 0.5) * (-1 if score < 0 else 1)

    def pieces(self, text: str) -> list[str]:
        scores, steps, row = [0.0] * (len(text) + 1), [("", 1)] * len(text), 0
        for start in reversed(range(len(text))):
            for piece, score in self.rows[row:]:
                row = self.first_row.get(text[start] + (piece or ""), 0)
                if row or score == -10_000_000:
                    break
            best = None
            for piece, score in self.rows[row:]:
                if score > -20_000_000:
                    length = len(piece) if piece else 1
                    if best is None or score + scores[start + length] > best:
                        best = score + scores[start + length]
                        steps[start] = (piece or "", length)
                if score == -10_000_000:
                    break
            scores[start] = best
        output, start = [], 0
        while start < len(text):
            piece, length = steps[start]
            output += [piece] if piece else [f"<0x{byte:02X}>" for byte in text[start].encode()]
            start += length
        return output


SCORE = st.sampled_from([-1.0, -2.0, -3.0, -4.0, 0.0, 2.5, -1000.0, -1001.0, -2000.0, -999.5])


@given(
    st.dictionaries(st.text("ab[]é\n ", min_size=1, max_size=4), SCORE, max_size=14),
    st.lists(st.text("ab[]éx\n ", min_size=1, max_size=10), max_size=4),
)
def test_encoding_equals_the_table(scores: dict[str, float], texts: list[str]):
    model, pieces = make(scores)
    plamo3 = Plamo3(model)
    table = Table({"<unk>": 0.0} | scores)
    for text in texts:
        assert [pieces[id] for id in model.encode(text)] == table.pieces(text)
        expected = [piece for segment in segments(text) for piece in table.pieces(segment)]
        assert [pieces[id] for id in plamo3.encode(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("abc", ["abc"]),
        ("a<|plamo:bos|>b", ["a", "<|plamo:bos|>", "b"]),
        ("<|plamo:|>x", ["<|plamo:|>", "x"]),
        ("a<|plamo:b", ["a<|plamo:b"]),
        ("a<|plamo:b c|>", ["a<|plamo:b c|>"]),
        ("a<|plamo:b\x1cc|>", ["a<|plamo:b\x1cc|>"]),
        ("a<|plamo:b\u3000c|>", ["a<|plamo:b\u3000c|>"]),
        ("a<|plamo:b|c|>", ["a<|plamo:b|c|>"]),
        (f"a<|plamo:{'xy' * 32}|>", ["a", f"<|plamo:{'xy' * 32}|>"]),
        (f"a<|plamo:{'xy' * 32}x|>", [f"a<|plamo:{'xy' * 32}x|>"]),
        ("<|plamo:<|plamo:a|>", ["<|plamo:", "<|plamo:a|>"]),
        ("a b  c", ["a b", "  ", "c"]),
        ("aaab", ["aaab"]),
        ("baaaab", ["b", "aaaa", "b"]),
        ("a\n\n\n\n\nb", ["a\n\n\n\n\nb"]),
        ("\t\t\t\ta", ["\t\t\t\t", "a"]),
        ("<|plamo:bbbb|>", ["<|plamo:", "bbbb", "|>"]),
        # A run ends where a marker begins.
        ("<<<<|plamo:|>>>>", ["<<<", "<|plamo:|>", ">>>"]),
        ("a\uee00b\uee00\uee00", ["a", "b"]),
        ("a\uee00\uee00\uee00\uee00b", ["a", "b"]),
        ("<|plamo:\uee00|>", ["<|plamo:", "|>"]),
        ("\ufeffa", ["\ufeffa"]),
    ],
)
def test_segments_of_plamo_3(text: str, expected: list[str]):
    assert segments(text) == expected


def lines(text: str) -> list[str]:
    return re.findall("[^\n]*\n|[^\n]+", text)


some = st.sampled_from(["<|plamo:a|>", "<|plamo:", "|>", "aaaa", "aa", "   ", " ", "\n", "\uee00", "b"])


@given(st.lists(some).map("".join))
def test_segments_do_not_depend_on_other_lines(text: str):
    by_line = [segment for line in lines(text) for segment in segments(line)]
    assert by_line == [line for segment in segments(text) for line in lines(segment)]


def test_no_piece_crosses_a_segment_of_plamo_3():
    plamo2, pieces = make({"a": -1, "  a": -1, "  ": -1, "\ufeff": -1, "\ufeffa": -1})
    assert [pieces[id] for id in Plamo3(plamo2).encode("  a")] == ["  ", "a"]
    assert [pieces[id] for id in Plamo3(plamo2).encode("\ufeffa")] == ["\ufeffa"]
    assert Plamo3(plamo2).encode("\uee00") == []
