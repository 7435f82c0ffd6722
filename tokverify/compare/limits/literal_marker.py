"""TL005: a literal ▁ in a text is read as the marker that pieces contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.no_normalizer import splits_at_white_space
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.engine.normalizer import ESCAPED_SPACE, unescape_spaces
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin

_SPACES_BEFORE = re.compile(rf"\s+{ESCAPED_SPACE}")


@limit(code="TL005", name="literal-marker", origin=Origin.RUNTIME, severity=INFO)
def literal_marker(sides: Sides) -> Iterator[Counterfactual]:
    """A literal `▁` (U+2581) in a text is read as the marker that pieces contain.

    What llama.cpp does:
        Pieces contain a `▁` for a space or for the beginning of a word. llama.cpp looks for added tokens, which GGUF
        stores with spaces, before it replaces spaces by `▁`; the reference does so afterwards, so a `▁` beside a space
        counts as a second space there. Or the reference finds a run of `▁` as an added token, and llama.cpp merges it
        with the spaces beside it. WordPiece in llama.cpp lets a `▁` inside a word begin another word. A unigram model
        whose charsmap makes a `▁` a space merges it with others, unless sentencepiece has it as a user-defined piece.

    Which models:
        Gemma (tokens for runs of spaces), BERT models, and unigram models with a user-defined `▁`.

    How to live with it:
        Replace U+2581 in texts before you send them. Such texts are rare: mostly drawings with block characters.

    What it does not explain:
        Any text without a `▁`.
    """
    if sides.settings.family.splits_words:
        yield Counterfactual(
            reason="llama.cpp takes a ▁ inside a word for the beginning of another word",
            sentence="treating a ▁ in a text as an ordinary character (GGUF marks the start of words with it)",
            deviation=Deviation(plain_marker=True),
            applies=lambda target: ESCAPED_SPACE in target.text,
        )
    elif sides.settings.escape_whitespaces:
        if texts := _literal_texts(sides):
            ordinary = {id: False for id in texts if id not in sides.added}
            yield Counterfactual(
                reason="llama.cpp looks for spaces where the reference looks for the literal ▁ of an added token",
                sentence="matching added tokens with a literal ▁",
                deviation=Deviation(texts=texts, specials=ordinary),
                applies=lambda target: ESCAPED_SPACE in target.text,
            )
        yield Counterfactual(
            reason="llama.cpp reads a literal ▁ beside a space as something other than two spaces",
            sentence="reading a ▁ in a text as a space",
            deviation=Deviation(rewrite=unescape_spaces),
            applies=lambda target: ESCAPED_SPACE in target.text,
        )
        if sides.settings.family.ranking is Ranking.SCORE_SUM and sides.facts.document is None:
            yield Counterfactual(
                reason="llama.cpp makes a literal ▁ a space, and merges it with others",
                sentence="keeping a literal ▁, as sentencepiece keeps a user-defined piece",
                deviation=Deviation(keeps_marker=True),
                applies=lambda target: ESCAPED_SPACE in target.text,
                is_guess=True,
            )
        if sides.facts.document and splits_at_white_space(sides.facts.document):
            yield Counterfactual(
                reason="llama.cpp reads a literal ▁ at the beginning of a word as another space",
                sentence="taking a literal ▁ at the beginning of a word for the one that each word begins with",
                deviation=Deviation(rewrite=partial(_SPACES_BEFORE.sub, ESCAPED_SPACE)),
                applies=lambda target: _SPACES_BEFORE.search(target.text) is not None,
            )


def _literal_texts(sides: Sides) -> dict[int, str]:
    """Return the texts of added tokens that the reference matches with `▁`, and the file with spaces.

    In the file, each is an added token, or an ordinary one that merges make of the spaces.
    """
    document = sides.facts.document
    entries = document.added_tokens if document else ()
    texts = {
        entry["id"]: entry["content"]
        for entry in entries
        if ESCAPED_SPACE in entry["content"]
        and not entry.get("normalized")
        and entry["id"] < len(sides.settings.pieces)
    }
    own = {
        id: sides.added[id].text if id in sides.added else unescape_spaces(sides.settings.pieces[id]) for id in texts
    }
    return {id: text for id, text in texts.items() if own[id] == unescape_spaces(text)}
