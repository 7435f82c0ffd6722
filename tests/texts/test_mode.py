"""The mode of a comparison, for each combination of what two tokenizers can do."""

import pytest

from support.bare_tokenizer import Bare
from support.fake_tokenizer import FakeTokenizer
from support.spec_maker import spm_spec
from tokverify.engine.encoder import Encoder
from tokverify.texts.mode import Mode, Modes

MODES = [Mode(add, parse) for add in (False, True) for parse in (False, True)]


class OneMode(FakeTokenizer):
    """Always matches its user-defined pieces and never its control tokens, as sentencepiece does."""

    def __init__(self, *pieces, special=()):
        super().__init__(*pieces, special=special, parses_special=False, name="one mode")

    def encode(self, text, *, add_special, parse_special):
        return super().encode(text, add_special=add_special, parse_special=False)


LETTERS = ("a", "<", "s", "u", ">")
ABLE = FakeTokenizer(*LETTERS, "<s>", "<u>", special=["<s>", "<u>"], special_ids={"bos": 5})
ONE_MODE = OneMode(*LETTERS, "<s>", "<u>", special=["<s>"])


@pytest.mark.parametrize("asked", MODES)
def test_two_sides_that_can_do_everything_are_compared_as_asked(asked):
    modes = Modes(ABLE, ABLE)
    assert modes.choose("<s>", asked) == asked
    assert modes.summary == ()


@pytest.mark.parametrize("asked", MODES)
@pytest.mark.parametrize("sides", [(ABLE, ONE_MODE), (ONE_MODE, ABLE)])
def test_parsing_is_on_unless_the_text_contains_a_control_token_of_the_side_with_one_mode(asked, sides):
    modes = Modes(*sides)
    for text, expected in {"a": True, "": True, "<u>a": True, "<s>": False, "<u>a<s>": False}.items():
        assert modes.choose(text, asked) == Mode(asked.add_special, expected)


def test_the_chosen_mode_makes_equal_tokenizers_agree():
    modes = Modes(ABLE, ONE_MODE)
    for text in ("<u>", "a<u>a", "<s>", "a<s>"):
        mode = modes.choose(text, Mode(add_special=False, parse_special=True))
        assert ABLE.encode(text, **mode._asdict()) == ONE_MODE.encode(text, **mode._asdict())


def test_a_token_that_is_a_control_token_on_one_side_only_is_compared_as_that_side_matches_it():
    # `<u>` is a control token of the first side, and the second one always matches it.
    mode = Modes(ABLE, ONE_MODE).choose("<u>", Mode(add_special=False, parse_special=False))
    assert ABLE.encode("<u>", **mode._asdict()) == [6]


@pytest.mark.parametrize("asked", MODES)
def test_parsing_is_off_if_control_tokens_are_unknown(asked):
    unknown = Bare(FakeTokenizer("a", parses_special=False))
    assert Modes(ABLE, unknown).choose("a", asked).parse_special is False


@pytest.mark.parametrize("asked", MODES)
def test_parsing_is_off_for_control_tokens_after_the_last_one_of_a_side_that_lists_none(asked):
    # For the ranks, `<s>` is an ordinary piece, and `<end>` does not exist.
    ranks = FakeTokenizer(*("<unk>", "<s>", "</s>"), parses_special=False, name="ranks")
    modes = Modes(Encoder(spm_spec({"<end>": 0.0}, {"<end>": 3}, byte_pieces=False)), ranks)
    for text, expected in {"a": True, "<s>": True, "a<end>": False}.items():
        assert modes.choose(text, asked) == Mode(asked.add_special, expected)
    assert "control tokens that ranks does not list" in modes.summary[0]


def test_a_changed_option_is_decisive_only_if_it_can_change_the_ids():
    modes, on, off = Modes(ABLE, ONE_MODE), Mode(False, True), Mode(False, False)
    assert modes.decisive_options("a", off, on) == []
    assert modes.decisive_options("<u>", off, on) == ["parse_special"]
    assert modes.decisive_options("<s>", on, off) == ["parse_special"]
    assert modes.decisive_options("<s>", on, on) == []


def test_adding_tokens_is_decisive_only_if_a_side_adds_any():
    unable = FakeTokenizer("a", adds_special=False, name="unable")
    asked, chosen = Mode(True, True), Mode(False, True)
    assert Modes(ABLE, unable).choose("a", asked) == chosen
    assert Modes(ABLE, unable).decisive_options("a", asked, chosen) == ["add_special"]

    class AddsNothing(FakeTokenizer):
        def encode(self, text, *, add_special, parse_special):
            return super().encode(text, add_special=False, parse_special=parse_special)

    assert Modes(AddsNothing("a"), unable).decisive_options("a", asked, chosen) == []


def test_reasons_name_the_side_and_the_option():
    modes = Modes(ABLE, ONE_MODE)
    assert modes.reason("parse_special", "<s>").startswith("parse_special off: one mode never recognizes control")
    assert modes.reason("parse_special", "<u>") == "parse_special on: one mode has no other way to encode this text"
    unable = Modes(ABLE, FakeTokenizer("a", adds_special=False, name="unable"))
    assert unable.reason("add_special", "a").startswith("add_special off: unable does not know")
    assert "off for texts that contain a control token of one mode" in modes.summary[0]


def test_characters_with_a_meaning_in_patterns_are_plain():
    modes = Modes(ABLE, OneMode("a", "[s|", special=["[s|"]))
    asked = Mode(add_special=False, parse_special=True)
    assert modes.choose("s", asked).parse_special
    assert not modes.choose("a[s|", asked).parse_special
