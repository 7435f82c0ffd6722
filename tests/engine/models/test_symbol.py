import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokverify.engine.models.symbol import UNKNOWN, Symbols

texts = st.text("aé漢😀 \udce2\udc80\udcc3\udcf0\udcbf", max_size=20)


def steps(text: str) -> list[bytes]:
    """Split bytes into symbols whose length depends on the upper half of their first byte."""
    data, found = text.encode("utf-8", "surrogateescape"), []
    while data:
        size = (1,) * 12 + (2, 2, 3, 4)
        found.append(data[: size[data[0] >> 4]])
        data = data[len(found[-1]) :]
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aé漢😀", "aé漢😀"),
        ("\udce2ab" + "c", UNKNOWN + "c"),  # three bytes
        ("\udce2漢c", UNKNOWN * 2 + "c"),  # E2 E6 BC, A2
        ("\udce2a\udce2bc", UNKNOWN + "bc"),  # E2 61 E2
        ("\udce2\udc80\udc93", "–"),
        ("a\udcc3", "a" + UNKNOWN),
    ],
)
def test_symbols_of_texts(text: str, expected: str):
    assert Symbols().of_text(text) == expected


def test_symbols_of_pieces_are_recognized():
    symbols = Symbols()
    first, second, third = symbols.of_pieces(["a\udce2bc", "\udcc3", "a"])
    assert (len(first), len(second), third) == (2, 1, "a")
    assert symbols.of_text("xa\udce2bc\udcc3") == f"x{first}{second}"
    assert symbols.of_text("\udce2xx") == UNKNOWN


@given(texts, st.lists(texts, max_size=4))
@example("\udce2a\udce2bcd", [])
def test_searching_equals_a_walk_from_the_beginning(text: str, pieces: list[str]):
    symbols = Symbols()
    symbols.of_pieces(pieces)
    known = {step for piece in pieces for step in steps(piece)}
    written = symbols.of_text(text)
    assert len(written) == len(symbols.sizes(text)) == len(steps(text))
    assert symbols.sizes(text) == [len(step) for step in steps(text)]
    for symbol, step in zip(written, steps(text), strict=True):
        if symbol == UNKNOWN:
            assert step not in known
        elif step in known:
            assert symbols.of_text(step.decode("utf-8", "surrogateescape")) == symbol
        else:
            assert step.decode() == symbol
