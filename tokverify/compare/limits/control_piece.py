"""TL015: whether the model itself finds the texts of control tokens in a text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.overridden_type import contains_token, name_tokens
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.engine.special_text import is_converted_control, is_converted_sentinel
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.sources.huggingface.bpe import splits_of
from tokverify.spec import TokenType, ids_of_type


@limit(code="TL015", name="control-piece", origin=Origin.RUNTIME, severity=WARNING)
def control_piece(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp decides by the model whether the text of a control token is also found as an ordinary piece.

    What llama.cpp does:
        Its RWKV model looks up every token of the vocabulary, also the control token `<s>`, whether or not special
        tokens are parsed. So does its BPE where a whole pre-token is looked up before merging (`ignore_merges`), and
        its model `llama` with a control token of one character, from which it starts, or one that it can merge from
        two other tokens. Its unigram model never uses control tokens and the unknown token, while that of
        HuggingFace tokenizers finds their texts in plain text like any other piece.

    Which models:
        RWKV (`<s>`, which its own vocabulary does not contain), GLM 4.5 (`/nothink`), Llama models to which a line
        break was added, InternVL 2 (`<img>`, as `<img` is a piece), and unigram models with a tokenizer.json.

    How to live with it:
        Do not let users write these texts, or break them up before you send them.

    What it does not explain:
        An ordinary token that is typed CONTROL, or a control token that is typed NORMAL.
    """
    types, ranking = sides.spec.types or (), sides.settings.family.ranking
    control = ids_of_type(types, TokenType.CONTROL, TokenType.UNKNOWN)
    reference = sides.reference_matching
    if reference is None:
        if ranking is Ranking.SCORE_SUM:
            yield from _guess_shown(sides, control)
        return
    if ranking is Ranking.LENGTH or sides.looks_up_pre_tokens:
        hidden = [id for id in control if reference(id) is not False]
        if sides.looks_up_pre_tokens:
            known = sides.facts.document.tables.vocab if sides.facts.document else ()
            hidden = [
                id for id in hidden if (piece := sides.settings.pieces[id]) not in known and _is_word(sides, piece)
            ]
        if hidden:
            yield Counterfactual(
                reason=f"llama.cpp finds {name_tokens(sides, hidden)} in every text",
                sentence=f"not finding {name_tokens(sides, hidden)} in texts",
                deviation=Deviation(
                    usable=dict.fromkeys(hidden, False),
                    specials=dict.fromkeys(hidden) if ranking is Ranking.LENGTH else {},
                ),
                applies=contains_token(sides, hidden),
            )
    elif ranking is Ranking.SCORE_SUM and sides.facts.document:
        pieces = {entry[0] for entry in sides.facts.document.tables.vocab}
        shown = [id for id in control if reference(id) is not False and sides.settings.pieces[id] in pieces]
        if shown:
            # A text can also become one of them when it is normalized.
            yield replace(_show(sides, shown), applies=lambda _: True)
    elif ranking is Ranking.SCORE:
        made = [id for id in control if reference(id) and _is_made(sides.settings.pieces[id], sides.settings.ids)]
        if made:
            yield Counterfactual(
                reason=f"llama.cpp also finds {name_tokens(sides, made)} in plain text",
                sentence=f"not finding {name_tokens(sides, made)} in plain text",
                # No text contains these pieces, so that only the text of the token itself is found.
                deviation=Deviation(pieces={id: f"\0{id}" for id in made}),
                applies=contains_token(sides, made),
            )


def _is_made(piece: str, known: Collection[str]) -> bool:
    """Whether the model `llama` begins with a piece, or could merge it from two others."""
    return len(piece) == 1 or any(splits_of(piece, known, range(1, len(piece))))


def _guess_shown(sides: Sides, control: Sequence[int]) -> Iterator[Counterfactual]:
    """Yield what tokenizers does, if the reference may be that: use tokens that only look special in plain text, too.

    Another control token may be one that the file types wrongly.
    """
    roles, pieces = set(sides.settings.special_ids.values()), sides.settings.pieces
    special = [
        id for id in control if id in roles or is_converted_control(pieces[id]) or is_converted_sentinel(pieces[id])
    ]
    if special:
        yield replace(_show(sides, special), is_guess=True)


def _show(sides: Sides, ids: Sequence[int]) -> Counterfactual:
    return Counterfactual(
        reason=f"llama.cpp's unigram model does not use {name_tokens(sides, ids)} in plain text",
        sentence=f"using {name_tokens(sides, ids)} in plain text, too",
        deviation=Deviation(usable=dict.fromkeys(ids, True)),
        applies=contains_token(sides, ids),
    )


def _is_word(sides: Sides, text: str) -> bool:
    return sides.own_split(text) == [text]
