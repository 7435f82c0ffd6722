"""Read the tokens that a tokenizer.json's post-processor adds around a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.sources.huggingface.document import Document
    from tokverify.sources.huggingface.stage import Stage

Around = tuple[list[int], list[int]]
"""The ids before and after a text."""


def ids_around(document: Document) -> Around:
    """Return the ids added before and after a text, at most one each.

    Raises:
        UnsupportedError: If the post-processor does anything else.
    """
    around: Around = ([], [])
    for stage in document.post_processor:
        before, after = _read_stage(stage, document)
        # Each stage processes the result of the previous one.
        around = (before + around[0], around[1] + after)
    for ids, place in zip(around, ("before", "after"), strict=True):
        if len(ids) > 1:
            raise document.unsupported(
                "post_processor", f"adds {len(ids)} tokens {place} a text, but GGUF supports only one"
            )
    return around


def _read_stage(stage: Stage, document: Document) -> Around:
    if stage["type"] == "ByteLevel":
        return [], []
    if stage["type"] in {"BertProcessing", "RobertaProcessing"}:
        return [stage["cls"][1]], [stage["sep"][1]]
    if stage["type"] == "TemplateProcessing":
        return _read_template(stage, document)
    raise document.unsupported(f"post_processor {stage['type']}")


def _read_template(stage: Stage, document: Document) -> Around:
    items = [next(iter(item.items())) for item in stage["single"]]
    texts = [index for index, (kind, _) in enumerate(items) if kind == "Sequence"]
    if len(texts) != 1:
        raise document.unsupported("post_processor TemplateProcessing", f"contains the text {len(texts)} times")
    around: Around = ([], [])
    for index, (kind, item) in enumerate(items):
        if kind == "SpecialToken":
            # subtle: the library allows a template to name an undefined token, and adds nothing for it.
            token = stage["special_tokens"].get(item["id"], {"ids": []})
            around[index > texts[0]].extend(token["ids"])
    return around
