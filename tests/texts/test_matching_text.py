"""Which tokens two sides use in the same way, although only one of them matches them before its model runs."""

from dataclasses import replace

import pytest

from support.spec_maker import USER_DEFINED, bpe_spec
from tokverify.engine.encoder import Encoder
from tokverify.texts.matching_text import find_alike


def sides(merges: list[str], text: str) -> tuple[Encoder, Encoder, int]:
    """Return a tokenizer, the same with a token that is matched before its merges, and the id of that token."""
    spec = bpe_spec(merges, tokens=[text])
    id = spec.tokens.index(text)
    types = [USER_DEFINED if token == text else type for token, type in zip(spec.tokens, spec.types, strict=True)]
    return Encoder(spec), Encoder(replace(spec, types=types)), id


@pytest.mark.parametrize(
    ("merges", "text", "expected"),
    [
        (["a b"], "ab", True),
        # `abc` is made first where it can be, and `cd` takes the `c` of `abc`.
        (["b c", "a bc", "a b"], "ab", False),
        (["c d", "ab c", "a b"], "abc", False),
        # The token is never made.
        (["a b"], "xyz", False),
    ],
)
def test_a_token_that_is_always_made_is_used_alike(merges, text, expected):
    plain, matched, id = sides(merges, text)
    assert find_alike(plain, matched, [id]) == (frozenset([id]) if expected else frozenset())


@pytest.mark.parametrize("other", ["x\0abcd", "\ud800"])
def test_other_pieces_may_hold_nul_or_a_lone_surrogate(other: str):
    class Odd(Encoder):
        """Lists a piece as a reference can that is no GGUF file."""

        def piece(self, id: int) -> str:
            return other if id == odd else super().piece(id)

    plain, matched, id = sides(["a b"], "ab")
    odd = plain.spec.tokens.index("ab") - 1
    assert find_alike(plain, Odd(matched.spec), [id]) == frozenset([id])


def test_nothing_is_tried_without_tokens_or_with_too_many():
    plain, matched, id = sides(["a b"], "ab")
    assert find_alike(plain, matched, []) == frozenset()
    assert find_alike(plain, matched, [id] * 1001) == frozenset()
