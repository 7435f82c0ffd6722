"""TL016: llama.cpp adds a space before each stretch of text, where Metaspace has its own rules."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, Text, limit
from tokverify.compare.limits.no_normalizer import normalize_like
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.engine.models.unigram_normalizer import replacing_normalizer
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.errors import EncodeError
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.tokenizer import Staged

_ALWAYS, _FIRST = "always", "first"


@limit(code="TL016", name="space-prefix", origin=Origin.RUNTIME, severity=WARNING)
def space_prefix(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp adds a space before a text and after each added token, while `Metaspace` has rules of its own.

    What llama.cpp does:
        If a file says `add_space_prefix`, it adds a space before the text and after each added token in it, also where
        there is one already. The pre-tokenizer `Metaspace` adds none before another space and, with `prepend_scheme`
        `first`, none after an added token. For byte-level BPE, llama.cpp never adds one, whereas `ByteLevel` does with
        `add_prefix_space`. Its unigram model adds none before spaces alone, and always does if it also merges spaces,
        so that a file for a model that adds none must leave them unmerged, although the model merges them.

    Which models:
        Llama 2, Mistral and others whose tokenizer.json has a `Metaspace` instead of the normalizer `Prepend`; unigram
        models such as XLM-R; and models of byte-level BPE with `add_prefix_space`, such as NB-Whisper.

    How to live with it:
        Only texts that begin with a space, and texts after an added token, are affected: a prompt has one more space
        after each marker. With byte-level BPE, all texts are affected: write the space yourself. For a unigram model
        that merges spaces, write single ones, and none around a text.

    What it does not explain:
        A file that adds a space where the reference never does, also because it merges spaces, or none where it does.
    """
    document, settings = sides.facts.document, sides.settings
    if document and settings.family.is_bpe and any(stage.get("add_prefix_space") for stage in document.pre_tokenizer):
        yield Counterfactual(
            reason="llama.cpp adds no space before a text for models of byte-level BPE",
            sentence="adding a space before a text and after added tokens, as the reference's ByteLevel does",
            deviation=Deviation(prefix=lambda stretch, _: bool(stretch) and not stretch.startswith(" ")),
        )
        return
    is_unigram = settings.family.ranking is Ranking.SCORE_SUM
    if is_unigram and document is None:
        yield from _of_sentencepiece(sides)
    prepends = document is not None and any(stage["type"] == "Prepend" for stage in document.normalizer)
    if is_unigram and prepends and not settings.remove_extra_whitespaces:
        yield _before_spaces(sides)
    if document is None or not settings.add_space_prefix or not (settings.family.prefixes_space or is_unigram):
        return
    schemes = {stage["prepend_scheme"] for stage in document.pre_tokenizer if stage["type"] == "Metaspace"}
    if len(schemes) != 1 or prepends:
        return
    scheme = schemes.pop()
    if scheme not in {_ALWAYS, _FIRST}:
        return

    def has_space(stretch: str, is_first: bool) -> bool:
        is_bare = bool(stretch) and not stretch.startswith((" ", ESCAPED_SPACE))
        return is_bare and (is_first or scheme == _ALWAYS)

    def applies(target: Text) -> bool:
        has_added = any(token.text in target.text for token in sides.added.values())
        # A normalizer can make spaces of all other characters.
        return has_added or not "!" <= target.text[:1] <= "~"

    added = "also after each added token, and " if scheme == _FIRST else ""
    yield Counterfactual(
        reason=f"llama.cpp adds a space before a text, {added}where there is one already",
        sentence=f"adding spaces as the reference's Metaspace does (prepend_scheme {scheme})",
        deviation=Deviation(prefix=has_space),
        applies=applies,
    )


def _of_sentencepiece(sides: Sides) -> Iterator[Counterfactual]:
    """Yield what a unigram model of sentencepiece does with spaces and llama.cpp does not, if a file leaves them."""
    settings, declared, tokenizer = sides.settings, sides.facts.spec, sides.facts.tokenizer
    if settings.remove_extra_whitespaces:
        return
    if settings.add_space_prefix:
        yield _before_spaces(sides)
    elif declared and not declared.add_space_prefix and isinstance(tokenizer, Staged):
        normalize = normalize_like(declared, tokenizer)
        if normalize("a  b") == "a b":
            yield Counterfactual(
                reason="llama.cpp's unigram model cannot merge spaces without adding one before each text",
                sentence="merging spaces, and removing those around a text",
                deviation=Deviation(rewrite=normalize, ignore_charsmap=True),
                applies=lambda target: normalize(target.text) != target.text,
            )


def _before_spaces(sides: Sides) -> Counterfactual:
    normalizer = replacing_normalizer(sides.spec.charsmap)

    def is_blank(text: str) -> bool:
        try:
            return bool(text) and not normalizer.normalize(text).strip(ESCAPED_SPACE)
        except EncodeError:
            return False

    def add_space(text: str) -> str:
        return f" {text}" if is_blank(text) else text

    # sentencepiece finds user-defined pieces later, and tokenizers has then split the text at added tokens.
    is_split = sides.facts.document is not None
    return Counterfactual(
        reason="llama.cpp's unigram model adds no space before a text of spaces alone",
        sentence="adding a space also before a text of spaces alone",
        deviation=Deviation(normalizers=(add_space,)) if is_split else Deviation(rewrite=add_space),
        applies=lambda target: is_split or is_blank(target.text),
    )
