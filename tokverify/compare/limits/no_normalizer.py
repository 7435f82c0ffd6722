"""TL003: llama.cpp does not normalize texts, except by a charsmap."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tokverify.compare.limits.limit import Counterfactual, Text, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.engine.normalizer import ESCAPED_SPACE, WHITE_SPACE, unescape_spaces
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.sources.huggingface.document import Document
from tokverify.sources.huggingface.stage import RUNS_OF_SPACES
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type
from tokverify.tokenizer import Staged

Normalize = Callable[[str], str]

FORMS: Mapping[str, Normalize] = {form: partial(unicodedata.normalize, form) for form in ("NFC", "NFKC", "NFD", "NFKD")}
"""The normalization forms of Unicode."""


@limit(code="TL003", name="no-normalizer", origin=Origin.RUNTIME, severity=WARNING)
def no_normalizer(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp does not normalize texts, except with the charsmap of a unigram model, or NFC for one.

    What llama.cpp does:
        Nothing: GGUF has no key for a normalizer such as NFKC or Lowercase, and one for NFC that llama.cpp reads only
        for unigram models, since b11739. A text that is not in that form, such as an `é` that is written as `e` and a
        combining accent, is encoded as it is, usually to more tokens, and some that the model has hardly ever seen.

    Which models:
        Qwen 2 and 3, MPT and GPT-NeoX (NFC), and others whose tokenizer.json has a `normalizer`; and models of merges
        that sentencepiece trained with its default rules, `nmt_nfkc` and `remove_extra_whitespaces`.

    How to live with it:
        Normalize texts to the form that the message names before you send them: for NFC,
        `unicodedata.normalize("NFC", text)` in Python. Most texts on the web are in NFC; those typed or copied on
        macOS, and Vietnamese, Korean and Indic texts from some sources, are not.

    What it does not explain:
        A normalizer that the reference does not declare, unless the reference declares nothing at all; and a charsmap
        or NFC that a GGUF file could state.
    """
    facts, family = sides.facts, sides.settings.family
    if family.splits_words:
        return
    if facts.document is None:
        if facts.spec is None:
            yield from (_counterfactual(name, normalize, is_guess=True) for name, normalize in FORMS.items())
        elif family.ranking is Ranking.SCORE and isinstance(facts.tokenizer, Staged):
            yield from _of_sentencepiece(facts.spec, normalize_like(facts.spec, facts.tokenizer))
        return
    # With byte-level BPE, nothing of a normalizer can be expressed.
    is_byte_level = family.is_bpe and not sides.settings.escape_whitespaces
    found = facts.normalizer if is_byte_level else facts.left_out_normalizer
    if found and family.ranking is Ranking.SCORE_SUM and splits_at_white_space(facts.document):
        found = f"{found[0]}, WhitespaceSplit", unify_spaces(found[1])
    if found:
        counterfactual = _counterfactual(*found, added=[token.text for token in sides.added.values()])
        if any(stage["type"] == "Prepend" for stage in facts.document.normalizer) and sides.settings.add_space_prefix:
            # A text of which normalization leaves nothing gets no space.
            deviation = replace(counterfactual.deviation, prefix=lambda stretch, _: bool(stretch))
            counterfactual = replace(counterfactual, deviation=deviation)
        yield counterfactual


def splits_at_white_space(document: Document) -> bool:
    """Whether a pre-tokenizer takes every white space of Unicode for a space."""
    return any(stage["type"] == "WhitespaceSplit" for stage in document.pre_tokenizer)


def merges_spaces(document: Document) -> bool:
    """Whether a normalizer makes one space of several."""
    return any(stage.get("pattern") == RUNS_OF_SPACES for stage in document.normalizer)


def unify_spaces(normalize: Normalize) -> Normalize:
    """Return a normalizer that then makes a space of every white space."""
    return lambda text: WHITE_SPACE.sub(" ", normalize(text))


def normalize_like(spec: TokenizerSpec, tokenizer: Staged) -> Normalize:
    """Return the normalizer of a sentencepiece model, without the space that it adds before a text."""

    def normalize(text: str) -> str:
        stretches = tokenizer.stages(text, parse_special=False).stretches or ()
        normalized = "".join(stretch.normalized for stretch in stretches)
        return unescape_spaces(normalized.removeprefix(ESCAPED_SPACE) if spec.add_space_prefix else normalized)

    return normalize


def _of_sentencepiece(spec: TokenizerSpec, normalize: Normalize) -> Iterator[Counterfactual]:
    """Normalize texts as a sentencepiece model does, which llama.cpp's model `llama` does not."""
    names = ["charsmap"] if spec.charsmap else []
    names += ["removal of extra spaces"] if spec.remove_extra_whitespaces else []
    # The library normalizes the whole text, in which it then finds user-defined pieces.
    is_whole = any(ids_of_type(spec.types, TokenType.USER_DEFINED))

    def has_space(stretch: str, is_first: bool) -> bool:
        # The library also adds one before a user-defined piece that begins the text.
        return is_first and bool((stretch or is_whole) and spec.add_space_prefix)

    if names:
        found = _counterfactual(f"the reference's {' and '.join(names)}", normalize)
        # It never recognizes a control token, not even one that the normalization makes.
        hidden = dict.fromkeys(ids_of_type(spec.types, TokenType.CONTROL, TokenType.UNKNOWN), None)
        how = Deviation(rewrite=normalize, specials=hidden) if is_whole else Deviation(normalizers=(normalize,))
        yield replace(found, deviation=replace(how, prefix=has_space))


def _counterfactual(
    name: str, normalize: Normalize, *, added: Sequence[str] = (), is_guess: bool = False
) -> Counterfactual:
    # What happens to the ends of a text also happens beside the added tokens in it.
    changes_ends = normalize(" a ") != " a "

    def applies(target: Text) -> bool:
        return normalize(target.text) != target.text or (changes_ends and any(text in target.text for text in added))

    return Counterfactual(
        reason=f"llama.cpp does not normalize texts with {name}",
        sentence=f"normalizing texts with {name} first",
        deviation=Deviation(normalizers=(normalize,)),
        applies=applies,
        is_guess=is_guess,
    )
