"""Explain how a text becomes tokens."""

from __future__ import annotations

from collections.abc import Sequence

from tokverify.commands.tasks.encode import find_end
from tokverify.commands.tasks.opening import (
    ModelSource,
    ReferenceSource,
    SubjectSource,
    open_model,
    open_reference,
    open_subject,
)
from tokverify.compare.opened import OpenedReference
from tokverify.explain.explanation import explain, explain_decoding
from tokverify.explain.stages import explain_exposed
from tokverify.report.explain import DecodingExplanation, Explanation, ExposedExplanation
from tokverify.text.utf8 import decode_utf8


def explain_text(
    model: SubjectSource,
    text: str | bytes,
    reference: ReferenceSource = None,
    *,
    add_special: bool = False,
    parse_special: bool = True,
) -> Explanation | ExposedExplanation:
    """Trace a text through all stages of a tokenizer.

    Args:
        model: A file, or the location of any other tokenizer, of which only what it exposes is shown.
        text: The text; bytes need not be valid UTF-8.
        reference: A reference whose stages to compare; without one, only the model's stages are shown.
        add_special: Add BOS and EOS as the model declares.
        parse_special: Recognize control tokens in the text.

    Returns:
        What each stage does with the text.

    Raises:
        TokverifyError: If a file cannot be read, or one of the two tokenizers cannot encode the text.
    """
    opened = open_subject(model)
    expected = None if reference is None else open_reference(opened, reference).tokenizer
    options = {"add_special": add_special, "parse_special": parse_special}
    if isinstance(opened, OpenedReference):
        readable = decode_utf8(text) if isinstance(text, bytes) else text
        return explain_exposed(opened.tokenizer, opened.source, readable, expected, **options)
    return explain(opened.encoder, text, expected, **options)


def explain_ids(model: ModelSource, ids: Sequence[int], *, stop_at_eos: bool = False) -> DecodingExplanation:
    """Explain how ids become a text.

    Args:
        model: The model.
        ids: The ids to decode.
        stop_at_eos: Stop before the first token that ends a generation: EOS, EOT and the like.

    Returns:
        What each id represents, the merges that build it, and what it adds to the text.

    Raises:
        TokverifyError: If the model cannot be read, or an id is not in its vocabulary.
    """
    encoder = open_model(model).encoder
    end = find_end(encoder, ids) if stop_at_eos else None
    return explain_decoding(encoder, ids[:end], end)
