import pytest

from tokverify.text.sequence import common_ends, common_length, thin_out


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


@pytest.mark.parametrize(
    ("count", "most", "kept"), [(0, 3, []), (3, 3, [0, 1, 2]), (4, 3, [0, 2]), (9, 3, [0, 3, 6]), (10, 3, [0, 4, 8])]
)
def test_items_are_thinned_out_evenly(count, most, kept):
    assert list(thin_out(range(count), most)) == kept
