"""What a tokenizer.json's post-processor puts around a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.files.huggingface.document import Document
    from tokverify.files.huggingface.pipeline import Stage

Around = tuple[list[int], list[int]]
"""The ids before a text and after it."""


def ids_around(document: Document) -> Around:
    """Return the id that goes before a text, and the one after it; at most one each.

    Raises:
        UnsupportedError: If the post-processor does anything else.
    """
    around: Around = ([], [])
    for stage in document.post_processor:
        before, after = _added_by(stage, document)
        # Each stage works on what the one before it has made.
        around = (before + around[0], around[1] + after)
    for ids, place in zip(around, ("before", "after"), strict=True):
        if len(ids) > 1:
            raise document.unsupported("post_processor", f"puts {len(ids)} tokens {place} a text; GGUF can say one")
    return around


def _added_by(stage: Stage, document: Document) -> Around:
    if stage["type"] == "ByteLevel":
        return [], []
    if stage["type"] in {"BertProcessing", "RobertaProcessing"}:
        return [stage["cls"][1]], [stage["sep"][1]]
    if stage["type"] == "TemplateProcessing":
        return _template(stage, document)
    raise document.unsupported(f"post_processor {stage['type']}")


def _template(stage: Stage, document: Document) -> Around:
    items = [next(iter(item.items())) for item in stage["single"]]
    texts = [index for index, (kind, _) in enumerate(items) if kind == "Sequence"]
    if len(texts) != 1:
        raise document.unsupported("post_processor TemplateProcessing", f"holds the text {len(texts)} times")
    around: Around = ([], [])
    for index, (kind, item) in enumerate(items):
        if kind == "SpecialToken":
            # subtle: the library lets a template name a token that it does not define, and adds nothing for it.
            token = stage["special_tokens"].get(item["id"], {"ids": []})
            around[index > texts[0]].extend(token["ids"])
    return around
