"""What is said of ids that represent different tokens: the words for an exchange and a shift, if it is one."""

import pytest

from support.fake_tokenizer import FakeTokenizer
from tokverify.compare.piece_difference import find_piece_differences
from tokverify.report.vocabulary_difference import PieceDifference, VocabularyDifference

WORDS = [f"w{number}" for number in range(20)]


def message(ours: list[str], theirs: list[str]) -> str:
    size = min(len(ours), len(theirs))
    pairs = zip(range(size), ours, theirs, strict=False)
    pieces = tuple(PieceDifference(id, left, right) for id, left, right in pairs if left != right)
    return next(find_piece_differences(VocabularyDifference(size, size, pieces))).message


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        ([*WORDS[:5], "x", *WORDS[5:]], WORDS, 'ids 5 to 19 are shifted by 1 since 5 "x", which the reference'),
        ([*WORDS[:5], *WORDS[7:]], WORDS, 'ids 5 to 17 are shifted by 2 since 5, where the model lacks "w5"; 13 ids'),
        (["w1", "w0", *WORDS[2:]], WORDS, "ids 0 and 1 are swapped; 2 ids represent different tokens"),
        (["x", *WORDS[1:]], WORDS, "1 id represents a different token"),
        (WORDS[::-1], WORDS, "20 ids represent different tokens"),
        ([*WORDS[:3], "a", "b"], WORDS, "2 ids represent different tokens"),
    ],
)
def test_moved_tokens_are_named_as_such(ours, theirs, words):
    assert message(ours, theirs).startswith(words)


def test_a_text_that_only_looks_like_the_other_is_marked():
    found = message(["a", "e\u0301"], ["a", "é"])
    assert found.endswith('1 "e\u0301" (not in NFC), not "é"')


def test_a_damaged_text_is_named_as_such():
    assert damage("é\udcc3", "éé").endswith('; the text of token 1 is damaged: "é\\xc3" is not UTF-8, but "éé" is')
    assert "damaged" not in damage("b", "éé")
    assert "damaged" not in damage("é\udcc3", "é\udcc4")


def damage(ours: str, theirs: str) -> str:
    vocabulary = VocabularyDifference(2, 2, (PieceDifference(1, ours, theirs),))
    return next(find_piece_differences(vocabulary, FakeTokenizer("a", ours), FakeTokenizer("a", theirs))).message
