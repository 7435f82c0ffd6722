"""TL001: llama.cpp decides by the texts of some tokens whether they are control tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice

from tokverify.compare.limits.limit import Counterfactual, Text, limit
from tokverify.compare.limits.sides import Matching, Sides, matching_of_attribute
from tokverify.engine.attribute import Attributes
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.engine.special_text import TYPED_BY_TEXT
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.spec import TokenType
from tokverify.text.wording import quote

_TYPES = {True: TokenType.CONTROL.value, False: TokenType.USER_DEFINED.value, None: TokenType.NORMAL.value}
_SHOWN = 4


@limit(code="TL001", name="overridden-type", origin=Origin.RUNTIME, severity=WARNING)
def overridden_type(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp decides by the texts of some tokens whether they are control tokens, whatever the file declares.

    What llama.cpp does:
        It makes tokens such as `</s>`, `<|im_end|>`, `<|endoftext|>` and `<|fim_prefix|>` control tokens, and
        `<|channel|>`, `<|message|>`, `<|start|>` and `<|constrain|>` user-defined ones, so that a generation ends and
        channels are shown. A control token is matched in a text only if special tokens are parsed; a user-defined one
        always is.

    Which models:
        Qwen (`</s>` is ordinary text there), gpt-oss (`<|channel|>` and others), Gemma and other models whose
        vocabulary contains the end token of another model.

    How to live with it:
        Texts that do not contain these tokens are not affected. Do not parse special tokens in texts that users write;
        the user-defined ones are matched even then.

    What it does not explain:
        A token that llama.cpp would match as the reference does if the file declared the right type.
    """
    reference = sides.reference_matching
    is_unigram = sides.settings.family.ranking is Ranking.SCORE_SUM
    wanted: dict[int, Matching] = {}
    for text in TYPED_BY_TEXT:
        id = sides.settings.ids.get(text)
        if id is not None:
            declared = sides.declared_matching(id)
            how = reference(id) if reference else declared
            if how is False and declared is None and is_unigram:
                # sentencepiece finds it in the normalized text, where an ordinary piece is found, too.
                how = None
            if how != sides.matching(id):
                wanted[id] = how
    yield from _counterfactual(sides, wanted)
    if reference is None:
        # A reference that shows nothing but ids may match them in every text.
        control = (id for id in map(sides.settings.ids.get, TYPED_BY_TEXT) if id is not None and sides.matching(id))
        yield from _counterfactual(sides, dict.fromkeys(control, False), is_guess=True)


def _counterfactual(sides: Sides, wanted: dict[int, Matching], *, is_guess: bool = False) -> Iterator[Counterfactual]:
    found = {id: wanted[id] for id in _find_overridden(sides, wanted)}
    if found:
        names = name_tokens(sides, found)
        yield Counterfactual(
            reason=f"llama.cpp decides by {'its text' if len(found) == 1 else 'their texts'} how {names} "
            f"{'is' if len(found) == 1 else 'are'} matched",
            sentence=f"ignoring llama.cpp's override of the type of {names}",
            deviation=Deviation(specials=found),
            applies=contains_token(sides, found),
            is_guess=is_guess,
        )


def _find_overridden(sides: Sides, wanted: dict[int, Matching]) -> list[int]:
    """Return the tokens that llama.cpp would match in another way than `wanted`, even if the file declared that."""
    if not wanted:
        return []
    types = list(sides.spec.types or [TokenType.NORMAL.value] * len(sides.settings.pieces))
    for id, how in wanted.items():
        types[id] = _TYPES[how]
    attributes = Attributes(types, sides.settings.pieces, sides.settings.ids)
    attributes.override(sides.spec.valid_special_ids)
    return [id for id, how in wanted.items() if matching_of_attribute(attributes.values[id]) != how]


def name_tokens(sides: Sides, ids: Collection[int]) -> str:
    """Name tokens by their texts, of many the first ones."""
    texts = [quote(sides.settings.pieces[id]) for id in islice(ids, _SHOWN)]
    if len(ids) > _SHOWN:
        texts.append(f"{len(ids) - _SHOWN} more")
    return f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else texts[0]


def contains_token(sides: Sides, ids: Collection[int]) -> Callable[[Text], bool]:
    """Return a function that checks whether a text contains one of these tokens."""
    texts = {sides.settings.pieces[id] for id in ids}
    first, lengths = {text[:1] for text in texts}, {len(text) for text in texts}

    def contains(target: Text) -> bool:
        starts = (at for at, character in enumerate(target.text) if character in first)
        return any(target.text[at : at + length] in texts for at in starts for length in lengths)

    return contains
