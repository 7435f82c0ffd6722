"""Find what GGUF cannot express of a tokenizer.json, and what llama.cpp always does differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from tokverify.compare.convert.added_token_loss import added_token_losses
from tokverify.compare.convert.loss import Loss, Sides, name_texts
from tokverify.compare.convert.sentencepiece_loss import NO_BYTES, score_losses
from tokverify.engine.deviation import Deviation
from tokverify.engine.families import find_family
from tokverify.engine.family import Ranking
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.sources.huggingface.conversion import Omission, convert_leniently
from tokverify.sources.huggingface.document import Document
from tokverify.sources.huggingface.stage import Stage
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type

_DEFAULT_LONGEST = 100


def fit(document: Document, ids: Mapping[str, int]) -> tuple[TokenizerSpec, tuple[Loss, ...]]:
    """Convert a tokenizer.json without the parts that GGUF cannot express, and return those parts as losses.

    Args:
        document: The tokenizer.json.
        ids: The ids of its tokens, by their texts in it.

    Raises:
        BrokenFileError: If a part of it is invalid.
        UnsupportedError: If GGUF cannot express anything like it.
    """
    fitted = convert_leniently(document)
    document, spec = fitted.document, fitted.spec
    losses = list(map(_to_loss, fitted.omissions))
    losses += added_token_losses(document, spec, ids)
    losses += space_losses(document, spec)
    losses += [*_runtime_losses(document, spec, ids), *_silent_losses(document)]
    return spec, tuple(losses)


def _to_loss(omission: Omission) -> Loss:
    if not omission.outline:
        return Loss(omission.sentence)
    return Loss(omission.sentence, lambda sides: sides.content.update(omission.outline))


def _runtime_losses(document: Document, spec: TokenizerSpec, ids: Mapping[str, int]) -> Iterator[Loss]:
    """Yield what llama.cpp always does in its own way."""
    family = find_family(spec.model)
    if family and family.splits_words:
        yield from _word_losses(document)
    if family and family.ranking is Ranking.SCORE_SUM:
        yield from _control_piece_losses(document, ids)
    if family and family.ignores_byte_pieces and document.model.get("byte_fallback"):
        yield _byte_loss(spec)
    yield from score_losses(spec)


def _byte_loss(spec: TokenizerSpec) -> Loss:
    """Return the loss that a unigram model in llama.cpp has no byte tokens, neither for bytes nor for their texts."""
    types = spec.types or ()
    unknown = set(ids_of_type(types, TokenType.BYTE, TokenType.UNKNOWN))

    def mark(ids: Sequence[int]) -> list[int | None]:
        """Replace each run of bytes and unknown tokens by None."""
        marked = (None if id in unknown else id for id in ids)
        return [id for id, run in groupby(marked) for id in ([None] if id is None else run)]

    def undo(sides: Sides) -> None:
        plain = [TokenType.NORMAL.value if type == TokenType.BYTE else type for type in sides.spec.types or ()]
        sides.spec = replace(sides.spec, types=plain)

    return Loss(
        f"model.byte_fallback: {NO_BYTES}; IN's model also finds a piece such as `<0x0A>` in a text",
        undo,
        lambda actual, expected: mark(actual) == mark(expected),
    )


def _control_piece_losses(document: Document, ids: Mapping[str, int]) -> Iterator[Loss]:
    """Yield the loss that a unigram model does not use the pieces of control tokens for plain text."""
    pieces = {entry[0] for entry in document.model["vocab"]}
    texts = [token["content"] for token in document.added_tokens if token["special"] and token["content"] in pieces]
    if not texts:
        return

    def undo(sides: Sides) -> None:
        types = list(sides.spec.types or ())
        for text in texts:
            types[ids[text]] = TokenType.NORMAL.value
        sides.spec = replace(sides.spec, types=types)
        _deviate(sides, Deviation(specials=dict.fromkeys((ids[text] for text in texts), True)))

    yield Loss(
        f"{name_texts(texts)}: IN's model also finds them in plain text, where control tokens are not parsed; "
        "llama.cpp's does not",
        undo,
    )


def _word_losses(document: Document) -> Iterator[Loss]:
    normalize, split = document.library.normalizer.normalize_str, document.library.pre_tokenizer.pre_tokenize_str
    limit = document.model.get("max_input_chars_per_word", _DEFAULT_LONGEST)

    def split_words(text: str) -> list[str]:
        return [word for word, _ in split(normalize(text))]

    yield Loss(
        "BertNormalizer and BertPreTokenizer: llama.cpp cleans up and splits texts in its own way",
        lambda sides: _deviate(sides, Deviation(split_words=split_words)),
    )
    yield Loss(
        f"max_input_chars_per_word: llama.cpp does not treat words of more than {limit} characters as unknown",
        lambda sides: _deviate(sides, Deviation(longest_word=limit)),
    )
    yield Loss(
        "a `▁` in a text: GGUF marks the pieces that begin words with it, so llama.cpp begins a word there",
        lambda sides: _deviate(sides, Deviation(plain_marker=True)),
    )


def _deviate(sides: Sides, deviation: Deviation) -> None:
    sides.deviation = sides.deviation.combine(deviation)


def _silent_losses(document: Document) -> Iterator[Loss]:
    """Yield what does not affect the ids of a single text unless a program asks for it."""
    for part, action in (("truncation", "truncate"), ("padding", "pad")):
        if document.outline.get(part):
            yield Loss(f"{part}: llama.cpp does not {action} texts")
    if document.model.get("dropout"):
        yield Loss("model.dropout: llama.cpp does not skip merges at random, which is for training")
    if Counter(stage["type"] for stage in document.post_processor)["TemplateProcessing"]:
        yield Loss("post_processor: the template for pairs of texts; llama.cpp encodes one text at a time")


_FIRST, _ALWAYS, _NEVER = "first", "always", "never"
_PREPEND: Stage = {"type": "Prepend", "prepend": ESCAPED_SPACE}
_PREPEND_TO_WORDS: Stage = {
    "type": "Replace",
    "pattern": {"Regex": r"\A(?= *[^ ])"},
    "content": ESCAPED_SPACE,
}
"""With unigram, llama.cpp adds no space to a stretch that consists of spaces."""


# Metaspace adds a space only if there is none yet, with `prepend_scheme: first` only before the whole text, and
# otherwise also after each added token. llama.cpp adds one before the text and after each added token, whatever
# follows. The normalizer `Prepend` does the same.
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
