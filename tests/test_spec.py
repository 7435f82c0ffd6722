from tokverify.spec import TokenType, TokenTypes, piece_made_by, pieces_made_by

TYPES = [TokenType.NORMAL, TokenType.CONTROL, TokenType.UNDEFINED, TokenType.BYTE]


def test_types_are_like_a_list_of_them():
    types = TokenTypes(bytes(TYPES))
    assert types == TYPES == types
    assert types != TYPES[:3]
    assert (len(types), types[1], types[-1], types[1:3]) == (4, TYPES[1], TYPES[-1], TYPES[1:3])
    assert all(type(each) is TokenType for each in types)
    assert TokenType.BYTE in types
    assert TokenType.UNUSED not in types
    assert "a" not in types


def test_a_merge_makes_both_pieces_without_the_space_between_them():
    merges = ["a b", "  x", " a b", "a  b", "ab", "", " ", "▁ ▁"]
    made = ["ab", " x", " ab", "a b", "ab", "", " ", "▁▁"]
    assert pieces_made_by(merges) == made
    assert list(map(piece_made_by, merges)) == made
