"""TL010: llama.cpp cleans up and splits texts for BERT in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tokverify.compare.limits.limit import Counterfactual, Text, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Settings
from tokverify.engine.normalizer import split_at_spaces, word_normalizer
from tokverify.errors import EncodeError
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.system.library_error import raised_as

_ACCENTED = "A\u00e9"


@limit(code="TL010", name="word-clean-up", origin=Origin.RUNTIME, severity=WARNING)
def word_clean_up(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp cleans up texts and splits them into words for BERT in its own way.

    What llama.cpp does:
        It reduces a character to the first one of its decomposition, so that a Hangul syllable becomes its first
        consonant; it drops all combining marks, also those of Indic scripts; it splits at more kinds of whitespace and
        punctuation, by a newer version of Unicode than the reference.

    Which models:
        All BERT models, such as MiniLM and bge; mostly texts in Korean and in Indic scripts, and some symbols.

    How to live with it:
        Do not use such a model for Korean or Indic texts in llama.cpp. English texts are not affected.

    What it does not explain:
        A file that is wrong about whether texts are lowercased or accents stripped.
    """
    settings, words = sides.settings, sides.facts.words
    if not settings.family.splits_words:
        return
    # A reference that shows nothing but ids probably does what BERT does elsewhere.
    is_guess = words is None and sides.facts.spec is None
    if is_guess:
        words = "BertNormalizer, BertPreTokenizer", _usual_words(settings)
    if words is None:
        return
    names, split = words
    normalize = word_normalizer(lowercase=settings.lowercase, strip_accents=settings.strip_accents)
    if _outline(split) != _outline(lambda text: split_at_spaces(normalize(text))):
        return

    def applies(target: Text) -> bool:
        return split(target.text) != split_at_spaces(normalize(target.text))

    others = "BERT does elsewhere" if is_guess else "the reference does"
    yield Counterfactual(
        reason=f"llama.cpp does not clean up and split texts exactly as {others} ({names})",
        sentence=f"normalizing and splitting texts as {others} ({names}) instead of llama.cpp's"
        " clean-up (which keeps one character of a decomposition and drops all marks)",
        deviation=Deviation(split_words=split),
        applies=applies,
        is_guess=is_guess,
    )


def _usual_words(settings: Settings) -> Callable[[str], list[str]]:
    """Return how BERT splits a text into words elsewhere, with the flags of a file."""
    from tokenizers import normalizers, pre_tokenizers

    normalizer = normalizers.BertNormalizer(lowercase=settings.lowercase, strip_accents=settings.strip_accents)
    pre_tokenize = pre_tokenizers.BertPreTokenizer().pre_tokenize_str

    def split(text: str) -> list[str]:
        with raised_as(EncodeError, "the library cannot split this text", quietly=True):
            return [word for word, _ in pre_tokenize(normalizer.normalize_str(text))]

    return split


def _outline(split: Callable[[str], list[str]]) -> list[str]:
    """Return what shows whether texts are lowercased and accents stripped."""
    return split(_ACCENTED)
