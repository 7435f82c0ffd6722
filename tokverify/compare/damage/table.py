"""Find out that the tables of a reference are damaged: its tokens were misread, or its scores rounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from math import frexp, isfinite, ldexp

from tokverify.compare.blame import ADVICE
from tokverify.compare.damage.difference import LEAST
from tokverify.compare.opened import Opened
from tokverify.engine.families import find_family
from tokverify.engine.joined_strings import find_changed
from tokverify.report.run import NEARLY_ALL
from tokverify.report.tokenizer_difference import BLAME
from tokverify.sources.huggingface.document import Document
from tokverify.spec import TokenizerSpec
from tokverify.text.wording import list_tokens, plural

_ENCODINGS = ("latin-1", "cp1252")
"""What a program reads text in that expects no UTF-8."""
_MOST_DIGITS, _TOLERANCE = 4, 1e-4
"""Of scores; a float of 32 bits has seven digits, of which two or three are before the point."""
_SHORT_FLOATS = {"float16": 11, "bfloat16": 8}
"""Name -> the bits of its mantissa; models are stored so, and a vocabulary that was made of one has such scores."""


def explain_misread_tokens(pieces: Sequence[str], facts: Opened) -> str:
    """Say that the tokens of a reference are UTF-8 that was read in another encoding, and the model's are not.

    A byte-level vocabulary spells bytes in an alphabet that looks the same.

    Args:
        pieces: The tokens of the model.
        facts: What is known of the reference.

    Returns:
        What is wrong and what to do; empty if it is not so.
    """
    differing = find_changed(pieces, facts.pieces)
    if not differing or facts.spec is None or _spells_bytes(facts.spec, facts.document):
        return ""
    pairs = {id: (facts.pieces[id], pieces[id]) for id in differing}
    misread = [id for id, pair in pairs.items() if any(is_misread(*pair, encoding) for encoding in _ENCODINGS)]
    if len(misread) < max(LEAST, NEARLY_ALL * len(differing)):
        return ""
    return (
        f"{BLAME}: {plural(len(misread), 'token')} are UTF-8 that was read in another encoding:"
        f" {list_tokens(misread, facts.pieces)}; {ADVICE}"
    )


def explain_rounded_scores(spec: TokenizerSpec, facts: Opened) -> str:
    """Say that the scores of a reference are those of the model, rounded; empty if they are not."""
    has_scores = facts.document is None or facts.document.model_type == "Unigram"
    # To convert the reference, which comes last, takes long.
    if not spec.scores or not has_scores or facts.spec is None or not facts.spec.scores:
        return ""
    reference, scores = facts.spec, facts.spec.scores
    # Padding behind the tokens of either side has scores of its own, and a damaged file may lack some.
    size = min(len(spec.tokens), len(reference.tokens), len(spec.scores), len(scores))
    moved = set(find_changed(spec.tokens[:size], reference.tokens[:size]))
    pairs = [(spec.scores[id], scores[id]) for id in range(size) if id not in moved]
    # Few tokens in common, or what is no number, shows nothing.
    if len(pairs) < max(LEAST, NEARLY_ALL * size) or not all(map(isfinite, chain.from_iterable(pairs))):
        return ""
    if len({other for _, other in pairs}) >= len({one for one, _ in pairs}):
        return ""
    if all(abs(one - other) <= _TOLERANCE for one, other in pairs):
        return ""
    for name, rounded in _rounders():
        if all(abs(rounded(one) - other) < _TOLERANCE for one, other in pairs):
            scores_are = f"its scores are those of the model, rounded to {name}"
            return f"{BLAME}: {scores_are}, so that pieces are tied that should not be; {ADVICE}"
    return ""


def _rounders() -> Iterator[tuple[str, Callable[[float], float]]]:
    for digits in range(_MOST_DIGITS):
        yield plural(digits, "decimal"), partial(round, ndigits=digits)
    for name, bits in _SHORT_FLOATS.items():
        yield name, partial(_round_bits, bits=bits)


def _round_bits(number: float, bits: int) -> float:
    mantissa, exponent = frexp(number)
    return ldexp(round(ldexp(mantissa, bits)), exponent - bits)


def _spells_bytes(spec: TokenizerSpec, document: Document | None) -> bool:
    family = find_family(spec.model)
    return document.is_byte_level if document else family is None or family.is_bpe


def is_misread(piece: str, right: str, encoding: str) -> bool:
    """Whether a piece is what becomes of the right one if its UTF-8 is read in another encoding."""
    wanted = right.encode("utf-8", "surrogateescape")
    return b"".join(_to_byte(character, encoding) for character in piece) == wanted


def _to_byte(character: str, encoding: str) -> bytes:
    # A marker of a space may have been put in afterward.
    try:
        return character.encode(encoding)
    except UnicodeEncodeError:
        return character.encode("utf-8", "surrogateescape")
