"""TL019: HuggingFace tokenizers applies a charsmap in another way than sentencepiece, whose way is llama.cpp's."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, Text, limit
from tokverify.compare.limits.no_normalizer import merges_spaces, splits_at_white_space, unify_spaces
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL019", name="charsmap-reading", origin=Origin.RUNTIME, severity=INFO)
def charsmap_reading(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp reads a charsmap as sentencepiece does, and HuggingFace tokenizers in another way.

    What llama.cpp does:
        At each place in a text, it replaces the longest sequence that the charsmap contains. HuggingFace tokenizers
        looks only at the beginning of each short grapheme and replaces all of it, so that a second accent is lost. It
        also takes every white space of Unicode, such as U+0085, for a space if its pre-tokenizer is WhitespaceSplit.

    Which models:
        XLM-RoBERTa and what is made from it (bge-m3, multilingual E5), and others whose tokenizer.json contains a
        `Precompiled` normalizer.

    How to live with it:
        Texts in NFC are not affected. For the others, llama.cpp's ids are those of sentencepiece, with which such
        models were trained.

    What it does not explain:
        A charsmap in the file that is not the one of the reference, or spaces that the file does not merge; and spaces
        around a text (see TL023).
    """
    document, deviation = sides.facts.document, deviate_in_normalizer(sides)
    if document is None or deviation is None:
        return
    splits = splits_at_white_space(document)

    def applies(target: Text) -> bool:
        return not target.text.isascii() if splits else not sides.replaces_alike(target.text)

    yield Counterfactual(
        reason="llama.cpp reads a charsmap as sentencepiece does, and the reference in another way",
        sentence="reading the charsmap as HuggingFace tokenizers does",
        deviation=deviation,
        applies=applies,
    )


def deviate_in_normalizer(sides: Sides) -> Deviation | None:
    """Return what lets a unigram model normalize texts just as the reference; None if the file's charsmap is another.

    It is also None if the reference merges spaces and the file does not, which is no limit.
    """
    document, found = sides.facts.document, sides.facts.normalizer
    if document is None or found is None or sides.settings.family.ranking is not Ranking.SCORE_SUM:
        return None
    tables = [stage["precompiled_charsmap"] for stage in document.normalizer if stage["type"] == "Precompiled"]
    if not tables or b64decode(tables[0]) != sides.spec.charsmap:
        return None
    splits = splits_at_white_space(document)
    merges = splits or merges_spaces(document)
    if merges and not sides.settings.remove_extra_whitespaces:
        return None
    return Deviation(
        normalizers=(unify_spaces(found[1]) if splits else found[1],),
        ignore_charsmap=True,
        keep_spaces=None if splits else True,
    )
