"""Find how llama.cpp adds spaces before texts where the pre-tokenizer `Metaspace` of a tokenizer.json does not.

Metaspace adds a space only if there is none yet, with `prepend_scheme: first` only before the whole text, and otherwise
also after each added token. llama.cpp adds one before the text and after each added token, whatever follows. The
normalizer `Prepend` does the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tokverify.compare.convert.loss import Loss, Sides
from tokverify.engine.families import find_family
from tokverify.engine.family import Ranking
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.sources.huggingface.document import Document
from tokverify.sources.huggingface.stage import Stage
from tokverify.spec import TokenizerSpec

_FIRST, _ALWAYS, _NEVER = "first", "always", "never"
_PREPEND: Stage = {"type": "Prepend", "prepend": ESCAPED_SPACE}
_PREPEND_TO_WORDS: Stage = {
    "type": "Replace",
    "pattern": {"Regex": r"\A(?= *[^ ])"},
    "content": ESCAPED_SPACE,
}
"""With unigram, llama.cpp adds no space to a stretch that consists of spaces."""


def space_losses(document: Document, spec: TokenizerSpec) -> Iterator[Loss]:
    """Yield the loss of Metaspace's own rules, if they differ from llama.cpp's."""
    prepends = any(stage["type"] == "Prepend" for stage in document.normalizer)
    schemes = {stage["prepend_scheme"] for stage in document.pre_tokenizer if stage["type"] == "Metaspace"} - {_NEVER}
    if prepends or not schemes:
        return
    family = find_family(spec.model)
    # Where spaces around a text are removed, none is left that could take the place of the added one.
    strips = bool(family and "remove_extra_whitespaces" in family.flags and spec.remove_extra_whitespaces)
    rules: list[str] = []
    if _FIRST in schemes:
        rules.append(
            "with prepend_scheme first, it adds a space before the text only; llama.cpp also after each added token"
        )
    if not strips:
        rules.append("it adds no space before another one; llama.cpp does")
    prepend = _PREPEND_TO_WORDS if family and family.ranking is Ranking.SCORE_SUM else _PREPEND
    if rules:
        undo = _add_to_stripped if strips else partial(_add_always, prepend)
        yield Loss(f"pre_tokenizer Metaspace: {', and '.join(rules)}", undo)


def _add_to_stripped(sides: Sides) -> None:
    """Add a space before each stretch of text, none of which begins with one."""
    _set_schemes(sides.content["pre_tokenizer"], _ALWAYS)


def _add_always(prepend: Stage, sides: Sides) -> None:
    """Add a space before each stretch of text, with a normalizer."""
    content = sides.content
    _set_schemes(content["pre_tokenizer"], _NEVER)
    before = [content["normalizer"]] if content["normalizer"] else []
    content["normalizer"] = {"type": "Sequence", "normalizers": [*before, prepend]}


def _set_schemes(stage: Stage, scheme: str) -> None:
    if stage["type"] == "Sequence":
        for part in stage["pretokenizers"]:
            _set_schemes(part, scheme)
    elif stage["type"] == "Metaspace":
        stage["prepend_scheme"] = scheme
        # The form of older files, which the library accepts only if it does not contradict the scheme.
        stage.pop("add_prefix_space", None)
