import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from support.charsmap_maker import make_charsmap
from support.spec_maker import unigram_spec
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import PYTHON, VARIABLE
from tokverify.errors import BrokenFileError, EncodeError, UnsupportedError
from tokverify.spec import TokenizerSpec

NORMAL, _, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def pieces(spec: TokenizerSpec, text: str) -> list[str]:
    encoder = Encoder(spec)
    return [encoder.piece(id) for id in encoder.encode(text)]


def split(scores: Mapping[str, float], text: str, types: Mapping[str, int] | None = None, **fields: object) -> str:
    return "|".join(pieces(unigram_spec(scores, types, **fields), text))


# The algorithm.


def test_the_example_of_the_module():
    # Up to a: -1. Up to b: -2.5 for ab, before -3 for a + b. Up to c: -2 for a + bc.
    assert split({"a": -1, "b": -2, "ab": -2.5, "bc": -1}, "abc") == "a|bc"


def test_the_last_word_of_the_example_of_what_is_lora():
    # Scores of T5. Up to L: -8.3 for one piece. To o: -10.0, before -8.3 - 5.9. To A: -10.0 - 10.9, before - 8.7 - 7.8.
    scores = {
        "▁": -2.0123, "L": -7.9, "▁L": -8.3011, "o": -5.9256, "▁Lo": -10.0407, "R": -8.7223, "A": -7.8498,
        "RA": -10.9448, "?": -6.5859,
    }  # fmt: skip
    assert split(scores, "LoRA?", add_space_prefix=True) == "▁Lo|RA|?"


def test_the_example_of_what_is_lora(encoder_of: Callable[[str], Encoder]):
    encoder = encoder_of("t5")
    ids = encoder.encode("What is LoRA?", add_special=True)
    assert ids == [363, 19, 1815, 4763, 58, 1]
    assert [encoder.piece(id) for id in ids] == ["▁What", "▁is", "▁Lo", "RA", "?", "</s>"]


def test_the_longest_last_piece_wins_if_sums_are_equal():
    assert split({"a": -1, "b": -1, "ab": -2}, "ab") == "ab"
    assert split({"a": -1, "b": -1, "c": -1, "ab": -2, "bc": -2}, "abc") == "a|bc"


def test_an_unknown_character_costs_ten_more_than_the_worst_piece():
    # x + y cost -11 as an unknown x and a known y. The scores of unused pieces do not count.
    scores = {"a": -1, "y": 0, "u": -500}
    assert split(scores | {"xy": -10.5}, "xy") == "xy"
    assert split(scores | {"xy": -40}, "xy", {"u": UNUSED, "xy": UNUSED}) == "<unk>|y"


def test_runs_of_unknown_characters_are_one_token():
    assert split({"a": -1}, "xxaxyz漢") == "<unk>|a|<unk>"
    assert split({"a": -1, "xy": -900}, "xyza", {"xy": UNUSED}) == "<unk>|a"


def test_runs_of_an_ordinary_token_declared_unknown_are_one_token():
    spec = unigram_spec({"a": -1, "b": -1}, special_ids={"unk": 3})
    assert pieces(spec, "aaxaba") == ["a", "b", "a"]


def test_added_tokens_separate_runs_of_unknown_ones():
    assert split({"a": -1}, "xx</s>xx") == "<unk>|</s>|<unk>"


def test_an_unknown_token_that_is_missing_is_minus_one():
    spec = TokenizerSpec(model="t5", tokens=["a", "\n"], scores=[-1.0, -1.0], types=[NORMAL, NORMAL])
    assert Encoder(spec).encode("axxa") == [0, -1, 0]


def test_types_that_are_matched():
    types = {"u": UNUSED, "d": USER_DEFINED, "c": CONTROL, "<0x41>": BYTE}
    model = Encoder(unigram_spec({"n": -1, "u": -1, "d": -1, "c": -1, "<0x41>": -1}, types)).model
    assert [model.encode(text) for text in types] == [[4], [5], [2], [2]]
    assert model.encode("n") == [3]


def test_a_user_defined_piece_scores_zero():
    assert split({"a": -1, "b": -1, "ab": -9}, "ab") == "a|b"
    # The splitting at added tokens would find it first.
    assert Encoder(unigram_spec({"a": -1, "b": -1, "ab": -9}, {"ab": USER_DEFINED})).model.encode("ab") == [5]


def test_user_defined_pieces_with_characters_of_the_last_planes():
    scores = {"a": -1, "a\U00100000b": -9, "\U0010fffda": -9}
    types = {"a\U00100000b": USER_DEFINED, "\U0010fffda": USER_DEFINED}
    model = Encoder(unigram_spec(scores, types)).model
    assert model.encode("aa\U00100000b\U0010fffda\U0010ffff") == [3, 4, 5, 2]


def test_a_type_that_a_text_overrides_counts_only_for_the_score():
    # llama.cpp always renders <|channel|>, so it is made USER_DEFINED, after the tables of pieces were filled.
    spec = unigram_spec({"<|channel|>": -50, **dict.fromkeys("<|>abcdehlnÉ", -1)}, {"<|channel|>": NORMAL})
    model = Encoder(replace(spec, charsmap=make_charsmap({"<": "É"}))).model
    assert model.encode("<a") == [spec.tokens.index("É"), spec.tokens.index("a")]
    assert Encoder(spec).model.encode("<|channel|>") == [3]


def test_no_types_are_all_normal():
    assert pieces(replace(unigram_spec({"a": -1}), types=None), "a</s>") == ["a", "</s>"]


def test_empty_texts():
    spec = unigram_spec({"a": -1}, remove_extra_whitespaces=True, add_space_prefix=True)
    assert pieces(spec, "") == []
    assert pieces(spec, "   ") == []
    assert Encoder(spec).encode("", add_special=True) == [1]
    assert pieces(replace(spec, charsmap=make_charsmap({"\x07": ""})), "\x07") == []


def test_rounding_decides_between_sums_that_are_nearly_equal():
    # a + b is better than ab by 2**-25, which a sum of -2**30 cannot hold: then they are equal, and ab wins.
    scores = {"a": -0.5, "b": -0.5 + 2**-25, "ab": -1, "x": -(2**30)}
    assert split(scores, "ab") == "a|b"
    assert split(scores, "xab") == "x|ab"
    assert split(scores, "abxab") == "a|b|x|ab"


def test_the_cache_of_short_texts_is_not_used_for_long_ones():
    scores = {"a": -0.5, "b": -0.5 + 2**-25, "ab": -1, "x": -(2**20)}
    encoder = Encoder(unigram_spec(scores))
    assert encoder.encode("ab") == [3, 4]
    assert encoder.encode("xab") == [6, 3, 4]
    assert encoder.encode("x" * 2**11 + "ab")[-1] == 5
    assert encoder.encode("ab") == [3, 4]


def test_a_score_that_is_not_a_number_is_refused():
    with pytest.raises(BrokenFileError, match="the score of id 4 is nan"):
        Encoder(unigram_spec({"a": -1, "b": math.nan}))


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (-math.inf, {"abc": [6, 5], "cb": [2], "cabab": [5, 6, 6], "bcb": [2], "ccx": [2]}),
        (math.inf, {"abc": [3, 4, 5], "cb": [5, 4], "cabab": [5, 3, 4, 6], "bcb": [4, 5, 4], "ccx": [5, 5, 2]}),
    ],
)
def test_infinite_scores_are_compared_like_others(score: float, expected: dict[str, list[int]]):
    spec = unigram_spec({"a": -1, "b": score, "c": -1, "ab": -3})
    assert {text: Encoder(spec).encode(text) for text in expected} == expected


# Spaces and the charsmap.


@pytest.mark.parametrize(
    ("prefix", "merge", "text", "expected"),
    [
        (False, False, "  a  b ", "▁|▁|a|▁|▁|b|▁"),
        (True, False, "a b", "▁|a|▁|b"),
        (True, False, "  a  b ", "▁|▁|▁|a|▁|▁|b|▁"),  # the one before "a" is the prefix, though two spaces stand there
        (True, False, "   ", "▁|▁|▁"),
        (False, True, "  a  b ", "▁|a|▁|b"),  # a prefix, though none is asked for
        (True, True, "  a  b ", "▁|a|▁|b"),
        (True, True, "a</s> b", "▁|a|</s>|▁|b"),
        (False, False, "a</s> b", "a|</s>|▁|b"),
    ],
)
def test_spaces(prefix: bool, merge: bool, text: str, expected: str):
    flags = {"add_space_prefix": prefix, "remove_extra_whitespaces": merge}
    assert split({"▁": -1, "a": -1, "b": -1}, text, **flags) == expected


def test_no_flags_leave_spaces_alone():
    assert split({"▁": -1, "a": -1}, " a  a") == "▁|a|▁|▁|a"


def test_a_piece_can_cross_words():
    scores = {"▁": -1, "a": -1, "b": -1, "a▁b": -1, "▁▁": -1}
    assert split(scores, "a b  b", remove_extra_whitespaces=True) == "▁|a▁b|▁|b"
    assert split(scores, "a b  b") == "a▁b|▁▁|b"


def test_the_charsmap_makes_spaces_too():
    charsmap = make_charsmap({"\n": " ", "¨": " x", "▁": " ", "Ａ": "a"})
    scores = {"▁": -1, "a": -1, "x": -1}
    assert split(scores, "\na\n\n¨Ａ▁a", charsmap=charsmap) == "▁|a|▁|▁|▁|x|a|▁|a"
    assert split(scores, "\na\n\n¨Ａ▁a", charsmap=charsmap, remove_extra_whitespaces=True) == "▁|a|▁|x|a|▁|a"


def test_a_string_of_the_charsmap_may_begin_with_any_character():
    charsmap = make_charsmap({"e\u0301": "é", " \u0301": "´", "\u0301": "", "é": "E"})
    scores = dict.fromkeys("▁eéE´", -1.0)
    texts = ("e\u0301e", "ee\u0301\u0301 \u0301é", "\u0301", " \u0301 e\u0301")
    encoder = Encoder(unigram_spec(scores, charsmap=charsmap))
    assert list(map(encoder.encode, texts)) == [[5, 4], [4, 5, 7, 6], [], [7, 3, 5]]
    encoder = Encoder(unigram_spec(scores, charsmap=charsmap, remove_extra_whitespaces=True))
    assert list(map(encoder.encode, texts)) == [[3, 5, 4], [3, 4, 5, 7, 6], [], [3, 7, 3, 5]]
    assert split(scores, "ee\u0301\u0301 \u0301é", charsmap=charsmap) == "e|é|´|E"


def test_the_beginning_of_a_user_defined_piece_is_not_mapped():
    charsmap = make_charsmap({"<": "E", "a": "A", "b": "B"})
    spec = unigram_spec(dict.fromkeys("<>abAEB", -1.0) | {"<ab>": 0}, {"<ab>": USER_DEFINED}, charsmap=charsmap)
    assert pieces(spec, "a<ab>b") == ["A", "<ab>", "B"]
    # These are only the beginning of one.
    assert pieces(spec, "<ab<a<bb") == ["<", "a", "b", "<", "a", "<", "B", "B"]


def test_the_beginning_of_a_long_user_defined_piece_is_not_mapped():
    piece = "<" + "a" * 100
    spec = unigram_spec(
        {"<": -1, "a": -1, "A": -1, piece: 0}, {piece: USER_DEFINED}, charsmap=make_charsmap({"a": "A"})
    )
    assert pieces(spec, f"{piece[:90]}\naa") == ["<", *"a" * 89, "<unk>", "A", "A"]


def test_characters_that_share_only_bytes_with_a_user_defined_piece_are_broken_up():
    # "–" is E2 80 93, "—" E2 80 94, "€" E2 82 AC: two bytes and one pass, the others become U+FFFD. llama.cpp then
    # takes the first byte and the two after it for one character, and what is left of a U+FFFD for one each.
    spec = unigram_spec({"a": -1, "–": 0, "—": -1, "€": -1, "\ufffd": -1}, {"–": USER_DEFINED})
    assert pieces(spec, "a–a") == ["a", "–", "a"]
    assert pieces(spec, "a—a") == ["a", "<unk>", "a"]
    assert pieces(spec, "a€a") == ["a", "<unk>", "\ufffd", "a"]
    assert pieces(spec, "aéa") == ["a", "<unk>", "a"]


def test_pieces_of_broken_characters():
    # "€" becomes E2, EF BF BD, EF BF BD, which is read as E2 EF BF, BD, EF BF BD.
    broken = {"a": -1, "–": 0, "\udce2\udcef\udcbf": -1, "\udcbd\ufffd": -1, "\udce2": -1}
    assert split(broken, "€a", {"–": USER_DEFINED}) == "\udce2\udcef\udcbf|\udcbd\ufffd|a"


def test_a_piece_that_is_not_a_whole_character_is_never_found_in_one():
    assert split(dict.fromkeys(["\udcc3", "\udca9"], -1) | {"é": -20}, "éè") == "é|<unk>"


def test_too_many_broken_characters_are_unsupported_by_the_python_engine(monkeypatch):
    monkeypatch.setenv(VARIABLE, PYTHON)
    broken = {f"\udce2{chr(first)}{chr(second)}": -1.0 for first in range(32, 127) for second in range(97, 123)}
    with pytest.raises(UnsupportedError, match="not UTF-8"):
        Encoder(unigram_spec(broken))


# Files that llama.cpp refuses, and texts that it aborts on.


def test_a_truncated_charsmap_is_refused():
    charsmap = make_charsmap({"a": "b"})
    with pytest.raises(BrokenFileError, match="is truncated"):
        Encoder(unigram_spec({"a": -1}, charsmap=charsmap[:100]))
    with pytest.raises(BrokenFileError, match="too few"):
        Encoder(unigram_spec({"a": -1}, charsmap=b""))


def test_a_charsmap_that_fails_on_a_newline_is_refused():
    charsmap = make_charsmap({"\n": " ", "a": "b"})
    with pytest.raises(BrokenFileError, match="on loading"):
        Encoder(unigram_spec({"a": -1}, charsmap=charsmap.replace(b" \0", b" \1").replace(b"b\0", b"b\1")))


def test_a_charsmap_that_fails_on_a_text_is_an_error_of_that_text():
    charsmap = make_charsmap({"a": "b"})
    encoder = Encoder(unigram_spec({"a": -1, "c": -1}, charsmap=charsmap[:-1]))
    assert encoder.encode("c") == [4]
    with pytest.raises(EncodeError, match="no replacement ends"):
        encoder.encode("ca")


@pytest.mark.parametrize("tokens", [["a"], ["a", "b"]])
def test_a_vocabulary_without_the_default_unknown_token_is_refused(tokens: Sequence[str]):
    spec = TokenizerSpec(model="t5", tokens=tokens, special_ids={"unk": 0})
    with pytest.raises(BrokenFileError, match="no token for a newline"):
        Encoder(spec)


def test_a_piece_of_a_million_characters():
    spec = unigram_spec({"a": -1, "aa": -1.5, "a" * 10**6: -3})
    assert pieces(spec, "aaa") == ["a", "aa"]
    assert Encoder(replace(spec, types=[*spec.types[:-1], USER_DEFINED])).model.encode("aab") == [4, 2]
