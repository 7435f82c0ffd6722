"""The parts of the C++ hybrid tokenizer: fixed ids, splitting of lines, and restoring of spaces."""

import pytest

from tokverify.engine.decoder import join_pieces
from tokverify.engine.models.cpp.pattern import rewrite, words
from tokverify.engine.models.cpp.spacing import Spacing, continues, piece_bytes
from tokverify.engine.models.cpp.vocabulary import FIXED, RANGES, SPECIAL


def test_ranges_are_contiguous_and_contain_each_piece_once():
    ranges = [ids for ids, _ in RANGES.values()]
    assert [ids.start for ids in ranges] == [0, *(ids.stop for ids in ranges[:-1])]
    assert ranges[-1].stop == len(FIXED) == len(set(FIXED)) == 1600
    assert all(len(pieces) <= len(ids) for ids, pieces in RANGES.values())


@pytest.mark.parametrize(
    ("piece", "id"),
    [
        ("<PAD>", 0), ("<UNK>", 1), ("<BOS>", 2), ("<EOS>", 3), ("<RESERVED_19>", 19), ("auto", 20), ("undef", 109),
        ("<RESERVED_110>", 110), ("::", 120), ("->", 121), ("*/", 149), ("#include", 180), ("{", 220), ("`", 251),
        ("std", 320), ("gridDim", 472), ("0", 520), ("42", 562), ("999", 1519), ("<DIFF_ADD>", 1520),
        ("<DIFF_DEL>", 1521), ("@@", 1522), ("b/", 1528), ("\n", 1536), ("\n\n", 1537), ("<RESERVED_1599>", 1599),
    ],
)  # fmt: skip
def test_fixed_ids(piece: str, id: int):
    assert FIXED[id] == piece


def test_lists_are_complete():
    counts = {name: len(pieces) for name, (_, pieces) in RANGES.items()}
    assert counts == {
        "special tokens": 20, "keywords": 90, "operators": 30, "preprocessor directives": 12, "punctuation": 32,
        "library names": 153, "numbers": 1000, "diff markers": 9, "newlines": 2, "reserved": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "cut"),
    [
        ("std::vector<int> *ptr", "std :: vector < int > * ptr"),
        ("a<=>b<<=c>>=d->*e.*f...g", "a <=> b <<= c >>= d ->* e .* f ... g"),
        ("x+++y---z", "x ++ + y -- - z"),
        ("/**/ //// */*", "/* */ // // */ *"),
        ("0xFFu 0b101 1'000'000 10ms 1e5 3.14 007", "0xFFu 0b101 1'000'000 10ms 1e5 3 . 14 007"),
        ("x86 2nd _9", "x86 2nd _9"),
        ("don't 'a' '\\n' '\\x41' '\\'' L'b' 'ab'", "don ' t 'a' '\\n' '\\x41' '\\'' L'b' ' ab '"),
        ('u8"a"_s R"(b)" "\\"" "c"PRI"d" "e', 'u8"a"_s R"(b)" "\\"" "c"PRI "d" " e'),
        ('"a + b" ""', '"a + b" ""'),
        ("#include <a> #  include #ifx #x ##y", "#include < a > # include # ifx # x ## y"),
        ("a\tb\rc\u00a0d\u3000e\u2028f\u0085g\u200bh", "a b c d e f g\u200bh"),
        ("naïve_日本語😀!", "naïve_日本語😀 !"),
        ("@@ -42,6 +42,8 @@ f()", "@@ - 42 , 6 + 42 , 8 @@ f ( )"),
        ("a/b b/c", "a / b b / c"),
        ("\\\"\\\"", "\\ \" \\ \""),
    ],
)  # fmt: skip
def test_words(line: str, cut: str):
    assert list(words(line)) == cut.split(" ")


@pytest.mark.parametrize(
    ("line", "cut"),
    [
        ("+x", "<DIFF_ADD> x"),
        ("-x", "<DIFF_DEL> x"),
        ("+", "<DIFF_ADD>"),
        ("+ x", "<DIFF_ADD> x"),
        (" +x", "+ x"),
        ("++x", "++ x"),
        ("--x", "-- x"),
        ("+=x", "+= x"),
        ("->x", "-> x"),
        ("+++x", "<DIFF_ADD> ++ x"),
        ("+--x", "<DIFF_ADD> -- x"),
        ("---x", "<DIFF_DEL> -- x"),
        ("-->x", "<DIFF_DEL> -> x"),
        ("+->x", "<DIFF_ADD> -> x"),
        ("+++ b/x", "+++ b/ x"),
        ("--- a/x", "--- a/ x"),
        ("---", "---"),
        ("+++\tx", "+++ x"),
        ("--- x a/y", "--- x a / y"),
        ("diff --git a/x/y b/x/y", "diff -- git a/ x / y b/ x / y"),
        ("diff a/x b/x", "diff a / x b / x"),
        ("<DIFF_ADD>x", "< DIFF_ADD > x"),
        ("+<DIFF_ADD>x", "<DIFF_ADD> < DIFF_ADD > x"),
    ],
)
def test_the_beginning_of_a_line(line: str, cut: str):
    assert list(words(line)) == cut.split(" ")


@pytest.mark.parametrize(
    ("line", "rewritten"),
    [
        ("<BOS> x", "< BOS> x"),
        ("x <A1_B> y", "x < A1_B> y"),
        ("x<BOS>", "x<BOS>"),
        ("<bos>", "<bos>"),
        ("##x", "## x"),
        ("a ##b", "a ## b"),
        ("a## b", "a## b"),
        ("## b", "## b"),
        ("", ""),
    ],
)
def test_look_alikes_of_pieces_are_split(line: str, rewritten: str):
    assert rewrite(line) == rewritten


@pytest.mark.parametrize("special", SPECIAL)
def test_no_word_is_spelled_like_a_special_token(special: str):
    assert special not in list(words(f'"a {special} b" {special}'))


def decoded(*pieces: str) -> str:
    return join_pieces(Spacing(), ((piece, piece_bytes(piece)) for piece in pieces)).decode()


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["int", "x"], "int x"),
        (["int", "_", "##x"], "int _x"),
        (["_", "_"], "_ _"),
        (["a", "+", "b"], "a+b"),
        (["%", "##d", "x"], "%d x"),
        (["x", "%", "##d"], "x %d"),
        ([":", "##:", "x"], "::x"),
        (["a", "\n", "b", "\n\n", "c"], "a\nb\n\nc"),
        (["<DIFF_ADD>", "x", "<DIFF_DEL>", "y"], "+x-y"),
        (["git", "a/", "x", "b/", "y"], "git a/x b/y"),
        (["<BOS>", "int", "<EOS>", "x"], "<BOS>int<EOS>x"),
        (["##x", "y"], "x y"),
        (["##+", "y"], "+y"),
        (["##"], "##"),
        (["a", "##", "b"], "a##b"),
        (["#define", "X", "1"], "#define X 1"),
        (["æ", "##Ĺ", "##¥"], "日"),
        (["<RESERVED_110>", "x"], "<RESERVED_110> x"),
        ([], ""),
    ],
)
def test_spacing(pieces: list[str], text: str):
    assert decoded(*pieces) == text


def test_a_word_is_complete_when_the_next_begins():
    spacing = Spacing()
    assert [spacing.push(piece, piece_bytes(piece)) for piece in ("in", "##te", "x", ";")] == [b"", b"", b"inte", b" x"]
    assert spacing.finish() == b";"
    assert spacing.finish() == b""


@pytest.mark.parametrize(
    ("piece", "answer"), [("##x", True), ("###", True), ("##", False), ("#", False), ("x##", False)]
)
def test_pieces_that_continue_a_word(piece: str, answer: bool):
    assert continues(piece) is answer
