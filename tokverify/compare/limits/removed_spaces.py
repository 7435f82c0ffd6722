"""TL023: llama.cpp removes the spaces around a text wherever it merges runs of spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tokverify.compare.limits.charsmap_reading import deviate_in_normalizer
from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.no_normalizer import merges_spaces, splits_at_white_space
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin
from tokverify.sources.huggingface.document import Document
from tokverify.sources.huggingface.stage import RUNS_OF_SPACES


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
    document = sides.facts.document
    if document is None or splits_at_white_space(document):
        return
    is_plain = _only_merges(document) and sides.settings.remove_extra_whitespaces
    merging = Deviation(normalizers=(_merge_spaces,), keep_spaces=True)
    deviation = merging if is_plain else deviate_in_normalizer(sides)
    if deviation is None:
        return
    yield Counterfactual(
        reason="llama.cpp removes the spaces around a text, and the reference only merges them",
        sentence="keeping the spaces around a text as the reference does",
        deviation=deviation,
        # In any other text, a charsmap makes the difference.
        applies=lambda target: is_plain or sides.replaces_alike(target.text),
    )


def _only_merges(document: Document) -> bool:
    """Whether a tokenizer.json without a charsmap merges runs of spaces, and removes none."""
    others = {"Precompiled", "Strip"}
    return merges_spaces(document) and all(stage["type"] not in others for stage in document.normalizer)


def _merge_spaces(text: str) -> str:
    return re.sub(RUNS_OF_SPACES["Regex"], " ", text)
