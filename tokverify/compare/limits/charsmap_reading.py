"""TL019: HuggingFace tokenizers applies a charsmap in another way than sentencepiece, whose way is llama.cpp's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tokverify.compare.limits.limit import Counterfactual, Text, limit
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
        A charsmap in the file that is not the one of the reference.
    """
    document = sides.facts.document
    found = sides.facts.normalizer
    if document is None or found is None or sides.settings.family.ranking is not Ranking.SCORE_SUM:
        return
    if not any(stage["type"] == "Precompiled" for stage in document.normalizer):
        return
    splits = any(stage["type"] == "WhitespaceSplit" for stage in document.pre_tokenizer)
    read = _reader(found[1], splits=splits)

    def applies(target: Text) -> bool:
        return not target.text.isascii()

    yield Counterfactual(
        reason="llama.cpp reads a charsmap as sentencepiece does, and the reference in another way",
        sentence="reading the charsmap as HuggingFace tokenizers does",
        deviation=Deviation(normalizers=(read,), ignore_charsmap=True),
        applies=applies,
    )


def _reader(normalize: Callable[[str], str], *, splits: bool) -> Callable[[str], str]:
    def read(text: str) -> str:
        normalized = normalize(text)
        return "".join(" " if each.isspace() else each for each in normalized) if splits else normalized

    return read
