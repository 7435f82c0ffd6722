import pytest

from tokverify.text.sequence import common_length


@pytest.mark.parametrize(
    ("left", "right", "length"),
    [("", "", 0), ("abc", "abd", 2), ("ab", "abc", 2), (b"xa", b"ya", 0), ([1, 2], [1, 2], 2), ([1, 2], [], 0)],
)
def test_common_length(left, right, length):
    assert common_length(left, right) == common_length(right, left) == length
