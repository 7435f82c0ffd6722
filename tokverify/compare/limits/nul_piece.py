"""TL017: llama.cpp ends a piece at a NUL character."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.joined_strings import find_containing
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.text.wording import plural

_NUL = "\0"


@limit(code="TL017", name="nul-piece", origin=Origin.RUNTIME, severity=WARNING)
def nul_piece(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp ends a piece at a NUL character, so that no piece contains one.

    What llama.cpp does:
        It reads pieces as C strings. A piece that is only a NUL (U+0000) becomes empty, and is then called `[EMPTY_7]`
        or the like, which is found in texts instead; a NUL in a text is encoded as a byte, or is unknown.

    Which models:
        Those whose vocabulary contains the character itself and not only its byte, such as InternLM 2.

    How to live with it:
        Texts hardly ever contain this character; remove it.

    What it does not explain:
        A piece that the file does not declare as the reference does.
    """
    declared, effective = sides.spec.tokens, sides.settings.pieces
    with_nul = [id for id in find_containing(sides.facts.pieces, _NUL) if id < len(declared)]
    pieces = {id: declared[id] for id in with_nul if declared[id] == sides.facts.pieces[id] != effective[id]}
    if pieces:
        # llama.cpp matches the name that it gives to an empty piece, such as `[EMPTY_7]`.
        affected = (_NUL, *(effective[id] for id in pieces))
        count = plural(len(pieces), "piece")
        yield Counterfactual(
            reason=f"llama.cpp ends {count} at a NUL",
            sentence=f"reading {count} with the NUL in it",
            deviation=Deviation(pieces=pieces, texts=pieces),
            applies=lambda target: any(text in target.text for text in affected),
        )
