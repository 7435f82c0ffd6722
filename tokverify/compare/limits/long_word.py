"""TL011: llama.cpp encodes words of any length."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin

DEFAULT_LONGEST_WORD = 100
"""HuggingFace's `max_input_chars_per_word`."""


@limit(code="TL011", name="long-word", origin=Origin.RUNTIME, severity=INFO)
def long_word(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp encodes words of any length, while WordPiece elsewhere gives up on long ones.

    What llama.cpp does:
        It composes every word of pieces. The reference treats a word of more than `max_input_chars_per_word`
        characters (usually 100) as one unknown token.

    Which models:
        All BERT models.

    How to live with it:
        Only texts with words of more than 100 characters are affected, such as encoded data; llama.cpp loses less.

    What it does not explain:
        Any text without such a word.
    """
    if not sides.settings.family.splits_words:
        return
    most = sides.facts.longest_word or DEFAULT_LONGEST_WORD
    yield Counterfactual(
        reason=f"llama.cpp also encodes words of more than {most} characters",
        sentence=f"treating words of more than {most} characters as unknown",
        deviation=Deviation(longest_word=most),
        applies=lambda target: len(target.text) > most,
        is_guess=sides.facts.longest_word is None,
    )
