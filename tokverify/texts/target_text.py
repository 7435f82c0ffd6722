"""Make texts that show how single tokens are matched, to check a repair where the shipped cases show nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from random import Random

from tokverify.case import Case
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.text.sequence import thin_out
from tokverify.texts.token_text import is_filler
from tokverify.tokenizer import Tokenizer, why_hidden

SUITE = "generated"
"""The suite of all cases made here."""
_MOST = 1_500
"""At most this many tokens are each put into texts; of more, an even sample."""
_SAMPLED = 300
"""How many ordinary tokens are put into texts in any case."""
_ADDED = 400
"""At most this many added tokens are put into texts in any case."""
_MIXED = 150
"""How many texts consist of several tokens."""
_LENGTH = 12
# subtle: no two of them compose, so that a normalizer, which GGUF cannot express, changes none of the texts.
_CHARACTERS = ("a", "B", "s", "1", " ", "\t", "\n", "\r", "'", ".", "/", "_", "é", "中", "\u0947", "😀")
"""One of each kind that the patterns of pre-tokenizers distinguish."""
_SPLIT_LENGTH = 3
_MOST_DIGITS = 8


def is_generated(case: Case) -> bool:
    """Whether a case was made here."""
    return case.suite == SUITE


def general_cases(actual: Encoder | None, expected: Tokenizer | None) -> list[Case]:
    """Return cases for all added tokens of both sides and for a sample of the other tokens, alone and together."""
    size = max(side.vocab_size if side else 0 for side in (actual, expected))
    ids = dict.fromkeys([*_added_ids(actual, expected), *thin_out(range(size), _SAMPLED)])
    return [*target_cases(ids, actual, expected), *_mixed_cases(actual, expected, size)]


def _added_ids(actual: Encoder | None, expected: Tokenizer | None) -> Sequence[int]:
    """Return the ids that are matched in texts on our side, and those with a role on the other."""
    matched = [token.id for token in actual.settings.added_tokens] if actual else []
    roles = expected.special_ids.values() if expected else ()
    return [*roles, *thin_out(matched, _ADDED)]


def target_cases(ids: Iterable[int], actual: Encoder | None, expected: Tokenizer | None) -> list[Case]:
    """Return cases that contain each token between letters and spaces, with and without control tokens in texts."""
    cases: list[Case] = []
    for id in thin_out(list(ids), _MOST):
        for number, text in enumerate(_texts_of(id, actual, expected)):
            around = in_contexts(text)
            for parse_special in (True, False):
                name = f"{id}-{number}-{'parsed' if parse_special else 'plain'}"
                cases.append(Case(id=name, suite=SUITE, text=around, parse_special=parse_special))
            alone = Case(id=f"{id}-{number}-alone", suite=SUITE, text=text, add_special=True, parse_special=False)
            cases.append(alone)
    return cases


def in_contexts(text: str) -> str:
    """Return a text that contains another one between letters, between spaces, and twice in a row."""
    return f"a{text}b {text} {text}{text}"


def ids_in(cases: Iterable[Case]) -> set[int]:
    """Return the ids of the tokens that cases of `target_cases` are made for."""
    names = (case.id.partition("-")[0] for case in cases if is_generated(case))
    return {int(name) for name in names if name.isdecimal()}


def _texts_of(id: int, actual: Encoder | None, expected: Tokenizer | None) -> Iterator[str]:
    """Yield the different texts that the two sides have for a token, but not for padding that only one of them has."""
    sides: list[Tokenizer] = [side for side in (actual, expected) if side is not None]
    is_shared = all(id < side.vocab_size or why_hidden(side) for side in sides)
    texts: dict[str, None] = {}
    for side in sides:
        try:
            data = side.token_bytes(id) if id < side.vocab_size else b""
            texts[data.decode()] = None
        except (TokverifyError, UnicodeDecodeError):
            continue
    yield from (text for text in texts if text and (is_shared or not is_filler(text)))


def _mixed_cases(actual: Encoder | None, expected: Tokenizer | None, size: int) -> Iterator[Case]:
    """Yield cases of random sequences of tokens; the same vocabulary always yields the same ones."""
    if not size:
        return
    random = Random(0)  # noqa: S311 - texts, not secrets
    for number in range(_MIXED):
        parts = [next(_texts_of(random.randrange(size), actual, expected), " ") for _ in range(_LENGTH)]
        yield Case(id=f"mixed-{number}", suite=SUITE, text="".join(parts), parse_special=bool(number % 2))


def split_texts(encoder: Encoder) -> Iterator[str]:
    """Yield all short sequences of the characters, and runs of digits; nothing if the family has no choice of names."""
    family = encoder.settings.family
    if not family.uses_pre_tokenizer or family.pre:
        return
    yield from map("".join, product(_CHARACTERS, repeat=_SPLIT_LENGTH))
    yield from ("1" * count for count in range(2, _MOST_DIGITS))
