import pytest

from tokverify.text.sequence import common_ends, common_length


@pytest.mark.parametrize(
    ("left", "right", "length"),
    [("", "", 0), ("abc", "abd", 2), ("ab", "abc", 2), (b"xa", b"ya", 0), ([1, 2], [1, 2], 2), ([1, 2], [], 0)],
)
def test_common_length(left, right, length):
    assert common_length(left, right) == common_length(right, left) == length


@pytest.mark.parametrize(
    ("left", "right", "lengths"),
    [
        ("", "", (0, 0)),
        ("abc", "abc", (3, 0)),
        ("axc", "ayc", (1, 1)),
        ("aa", "aaa", (2, 0)),
        ([1, 2, 3], [1, 4, 5, 3], (1, 1)),
        (b"ab", b"cb", (0, 1)),
    ],
)
def test_common_ends_do_not_overlap(left, right, lengths):
    assert common_ends(left, right) == common_ends(right, left) == lengths
