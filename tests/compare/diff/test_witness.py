"""Whether two tokenizers decode at all, found out with the options that both support."""

import pytest

from support.bare_tokenizer import Bare
from support.fake_tokenizer import FakeTokenizer
from tokverify.compare.diff.witness import Versions
from tokverify.errors import UnsupportedError


class NeverParsing(Bare):
    """Refuses `parse_special`, instead of ignoring it."""

    def encode(self, text, *, add_special, parse_special):
        if parse_special:
            raise UnsupportedError("it does not parse")
        return super().encode(text, add_special=add_special, parse_special=False)


class NotDecoding(NeverParsing):
    """Does not decode, either."""

    def decode(self, ids):
        raise UnsupportedError("it does not decode")


OTHER = FakeTokenizer("a", "b")
UNABLE = FakeTokenizer("a", "b", parses_special=False)
WITHOUT_LETTER = FakeTokenizer("b", parses_special=False)


@pytest.mark.parametrize("unable", [UNABLE, WITHOUT_LETTER])
def test_an_option_that_a_side_does_not_support_says_nothing_about_decoding(unable):
    assert Versions(NeverParsing(unable), OTHER).why_not_decoded == ""
    assert Versions(OTHER, NeverParsing(unable)).why_not_decoded == ""


@pytest.mark.parametrize("unable", [UNABLE, WITHOUT_LETTER])
def test_a_side_that_does_not_decode_is_recognized(unable):
    assert Versions(NotDecoding(unable), OTHER).why_not_decoded == "it does not decode"
    assert Versions(OTHER, NotDecoding(unable)).why_not_decoded == "it does not decode"
