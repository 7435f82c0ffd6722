"""TL023: llama.cpp removes the spaces around a text wherever it merges runs of spaces."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.charsmap_reading import deviate_in_normalizer
from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.no_normalizer import splits_at_white_space
from tokverify.compare.limits.sides import Sides
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL023", name="removed-spaces", origin=Origin.RUNTIME, severity=INFO)
def removed_spaces(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp removes the spaces around a text wherever it merges runs of spaces.

    What llama.cpp does:
        GGUF has one key for both, `remove_extra_whitespaces`, as sentencepiece does. In a tokenizer.json, a `Replace`
        can merge runs of spaces and leave the one before or after a text, and a charsmap makes spaces of line feeds and
        tabs.

    Which models:
        Unigram models whose tokenizer.json merges spaces without a `Strip` on both sides, such as T5's in an older form
        and those that were made with old versions of transformers.

    How to live with it:
        Only texts that begin or end with white space are affected, and white space beside an added token. In training,
        sentencepiece removed it, too.

    What it does not explain:
        Spaces that the file does not merge, and a text that the charsmap changes in another way (see TL019).
    """
    document, deviation = sides.facts.document, deviate_in_normalizer(sides)
    if document is None or deviation is None or splits_at_white_space(document):
        return
    yield Counterfactual(
        reason="llama.cpp removes the spaces around a text, and the reference only merges them",
        sentence="keeping the spaces around a text as the reference does",
        deviation=deviation,
        # In any other text, the charsmap makes the difference.
        applies=lambda target: sides.replaces_alike(target.text),
    )
