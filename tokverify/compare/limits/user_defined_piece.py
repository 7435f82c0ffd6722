"""TL013: llama.cpp splits a text at user-defined pieces, where sentencepiece finds them in the normalized text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tokverify.compare.limits.limit import Counterfactual, Text, limit
from tokverify.compare.limits.overridden_type import contains_token, name_tokens
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.sources.sentencepiece.plain_piece import find_plain_pieces
from tokverify.spec import TokenType, ids_of_type
from tokverify.text.utf8 import to_bytes


@limit(code="TL013", name="user-defined-piece", origin=Origin.RUNTIME, severity=WARNING)
def user_defined_piece(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp splits a text at its user-defined pieces, while sentencepiece finds them in the normalized text.

    What llama.cpp does:
        It splits the text first, normalizes each part for itself, and adds a space before each, so that spaces beside
        such a piece are lost or doubled. With a unigram model, it also leaves alone what only begins like such a piece.

    Which models:
        Those with user-defined pieces of several characters in a sentencepiece model of merges: Mistral
        (`[REFERENCE_DOC_0]`). Of unigram models, those with a piece that normalization changes. Other pieces need not
        be user-defined in the file (TL024).

    How to live with it:
        Only texts that contain these pieces, or characters that they begin with, are affected.

    What it does not explain:
        A user-defined piece of the reference that the file types NORMAL, or the other way around.
    """
    yield from _find_whole_pieces(sides) if sides.facts.document else split_at_pieces(sides, plain=False)


def _find_whole_pieces(sides: Sides) -> Iterator[Counterfactual]:
    """Yield what would be if the normalizer of a unigram model left alone only what is such a piece."""
    ids = ids_of_type(sides.spec.types, TokenType.USER_DEFINED)
    if ids and sides.settings.family.ranking is Ranking.SCORE_SUM:
        yield Counterfactual(
            reason=f"llama.cpp does not normalize what only begins like {name_tokens(sides, ids)}",
            sentence=f"normalizing what only begins like {name_tokens(sides, ids)}",
            deviation=Deviation(whole_pieces=True),
            applies=_contains_beginning(sides, ids),
        )


def split_at_pieces(sides: Sides, *, plain: bool) -> Iterator[Counterfactual]:
    """Yield what would be if pieces were found in the normalized text.

    Args:
        sides: The file and its reference.
        plain: Whether to do so with those that could be NORMAL in the file, or with the others.
    """
    if sides.facts.document or sides.facts.gguf_spec is None:
        return
    could_be_plain = set(find_plain_pieces(sides.spec))
    is_unigram = sides.settings.family.ranking is Ranking.SCORE_SUM
    if is_unigram:
        # A text is split at all of them, or at none.
        ids = sides.always_matched if plain is bool(could_be_plain) else []
    else:
        ids = [id for id in sides.always_matched if plain is (id in could_be_plain)]
    if not ids:
        return
    sentence = f"finding {name_tokens(sides, ids)} in the normalized text, as sentencepiece does"
    reason = f"llama.cpp splits texts at {name_tokens(sides, ids)} before it normalizes them"
    if is_unigram:
        yield Counterfactual(
            reason=reason,
            sentence=sentence,
            deviation=Deviation(user_defined_inside=True),
            applies=_contains_beginning(sides, ids),
        )
    elif sides.settings.family.prefixes_space and sides.settings.add_space_prefix:
        yield Counterfactual(
            reason=reason,
            sentence=sentence,
            deviation=Deviation(leftmost=True, prefix=lambda _, is_first: is_first),
            applies=contains_token(sides, ids),
        )


def _contains_beginning(sides: Sides, ids: Sequence[int]) -> Callable[[Text], bool]:
    """Return whether a text contains a byte with which one of these pieces begins."""
    first = {to_bytes(sides.settings.pieces[id])[0] for id in ids}
    return lambda target: not first.isdisjoint(target.text.encode("utf-8", "surrogatepass"))
