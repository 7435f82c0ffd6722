"""What a tokenizer.json says and GGUF cannot, or what llama.cpp does otherwise whatever a file says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.convert.added_token_loss import added_token_losses
from tokverify.convert.loss import Loss
from tokverify.convert.score_loss import score_losses
from tokverify.diagnosis.deviation import Deviation
from tokverify.engine.families import find_family
from tokverify.errors import UnsupportedError
from tokverify.files.huggingface import convert_document

if TYPE_CHECKING:
    from tokverify.convert.loss import Sides
    from tokverify.files.huggingface.document import Document
    from tokverify.files.huggingface.pipeline import Stage
    from tokverify.spec import TokenizerSpec

_SPACES = ({"String": " "}, {"Regex": " {2,}"})
_DEFAULT_LONGEST = 100


def convert_leniently(document: Document, ids: Mapping[str, int]) -> tuple[TokenizerSpec, tuple[Loss, ...]]:
    """Convert a tokenizer.json without those of its parts that can be left out, and tell them.

    Args:
        document: The tokenizer.json.
        ids: The ids of its tokens, by their texts there.

    Raises:
        BrokenFileError: If a part of it makes no sense.
        UnsupportedError: If nothing like it can be said in GGUF.
    """
    document, losses = _fit_post_processor(document)
    document, spec, left_out = _fit_normalizer(document)
    losses += left_out
    losses += [*added_token_losses(document, spec, ids), *_engine_losses(document, spec), *_silent_losses(document)]
    return spec, tuple(losses)


def _fit_normalizer(document: Document) -> tuple[Document, TokenizerSpec, list[Loss]]:
    """Leave out as few normalizers as will do: none, those without a counterpart anywhere, or all."""
    stages = document.normalizer
    refusal: UnsupportedError | None = None
    for kept in (list(stages), [stage for stage in stages if _has_counterpart(stage)], []):
        fitted = replace(document, normalizer=kept)
        try:
            spec = convert_document(fitted)
        except UnsupportedError as error:
            # What is wrong with the whole says most.
            refusal = refusal or error
            continue
        return fitted, spec, _normalizer_losses(stages, kept)
    raise refusal or document.unsupported("normalizer")


def _has_counterpart(stage: Stage) -> bool:
    return stage["type"] in {"Precompiled", "Prepend", "Strip", "BertNormalizer"} or (
        stage["type"] == "Replace" and stage["pattern"] in _SPACES
    )


def _normalizer_losses(stages: Sequence[Stage], kept: Sequence[Stage]) -> list[Loss]:
    if len(kept) == len(stages):
        return []
    names = ", ".join(stage["type"] for stage in stages if stage not in kept)
    rest = {"type": "Sequence", "normalizers": list(kept)} if kept else None

    def undo(sides: Sides) -> None:
        sides.content["normalizer"] = rest

    return [Loss(f"normalizer {names}: GGUF cannot express it; llama.cpp takes a text as it comes", undo)]


def _fit_post_processor(document: Document) -> tuple[Document, list[Loss]]:
    """Leave out what a template puts on a side of the text where it is more than one token."""
    stages, losses = [], []
    for stage in document.post_processor:
        trimmed, places = _trimmed(stage)
        stages.append(trimmed)
        losses += [f"post_processor: {count} tokens {place} a text; GGUF can say one" for place, count in places]
    if not losses:
        return document, []

    def undo(sides: Sides) -> None:
        sides.content["post_processor"] = {"type": "Sequence", "processors": stages}

    return replace(document, post_processor=stages), [Loss(f"{losses[0]}, so that llama.cpp adds none there", undo)]


def _trimmed(stage: Stage) -> tuple[Stage, list[tuple[str, int]]]:
    if stage["type"] != "TemplateProcessing":
        return stage, []
    texts = [at for at, item in enumerate(stage["single"]) if "Sequence" in item]
    if len(texts) != 1:
        return stage, []
    before, text, after = stage["single"][: texts[0]], stage["single"][texts[0]], stage["single"][texts[0] + 1 :]
    places = [(place, len(side)) for place, side in (("before", before), ("after", after)) if len(side) > 1]
    single = [*(before if len(before) == 1 else []), text, *(after if len(after) == 1 else [])]
    return {**stage, "single": single}, places


def _engine_losses(document: Document, spec: TokenizerSpec) -> Iterator[Loss]:
    """Tell what llama.cpp does in its own way."""
    family = find_family(spec.model)
    if family and family.cuts_words:
        yield from _word_losses(document)
    yield from score_losses(spec)


def _word_losses(document: Document) -> Iterator[Loss]:
    normalize, cut = document.library.normalizer.normalize_str, document.library.pre_tokenizer.pre_tokenize_str
    limit = document.model.get("max_input_chars_per_word", _DEFAULT_LONGEST)

    def words(text: str) -> list[str]:
        return [word for word, _ in cut(normalize(text))]

    yield Loss(
        "BertNormalizer and BertPreTokenizer: llama.cpp cleans texts up and cuts them in its own way",
        lambda sides: _deviate(sides, Deviation(split_words=words)),
    )
    yield Loss(
        f"max_input_chars_per_word: llama.cpp does not take words of more than {limit} characters for unknown",
        lambda sides: _deviate(sides, Deviation(longest_word=limit)),
    )
    yield Loss(
        "a `▁` in a text: GGUF marks by it the pieces that begin words, so that llama.cpp takes it for a beginning",
        lambda sides: _deviate(sides, Deviation(plain_marker=True)),
    )


def _deviate(sides: Sides, deviation: Deviation) -> None:
    sides.deviation = sides.deviation.combine(deviation)


def _silent_losses(document: Document) -> Iterator[Loss]:
    """Tell what no ids of a single text depend on, unless a program asks for it."""
    for part in ("truncation", "padding"):
        if document.outline.get(part):
            yield Loss(f"{part}: llama.cpp encodes texts as long as they are")
    if Counter(stage["type"] for stage in document.post_processor)["TemplateProcessing"]:
        yield Loss("post_processor: the template for two texts; llama.cpp encodes one at a time")
