import pytest

from tokverify.engine.models.boundary import adjacent_pairs, split_parts

PIECES = ["▁", "a", "b", ".", "▁a", "ab", "▁▁", "..", "é"]


def test_pairs_are_the_neighbors_inside_a_piece():
    assert adjacent_pairs(["a", "abc", "▁a"]) == {"ab", "bc", "▁a"}


def test_pieces_do_not_touch_each_other():
    assert adjacent_pairs(["ab", "cd"]) == {"ab", "cd"}
    assert adjacent_pairs([]) == set()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("a", ["a"]),
        ("ab", ["ab"]),
        ("ba", ["b", "a"]),
        ("▁ab▁▁ab..é", ["▁ab", "▁▁ab", "..", "é"]),
        ("🦙🦙", ["🦙", "🦙"]),
    ],
)
def test_parts_are_split_at_every_hard_boundary(text: str, parts: list[str]):
    assert split_parts(text, adjacent_pairs(PIECES)) == parts
