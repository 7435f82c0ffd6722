"""TV211: markers that only the reference knows."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.report.finding import ERROR, INFO, Finding
from tokverify.sources.gguf.keys import TOKENS
from tokverify.spec import ADDED_TYPES
from tokverify.text.wording import list_items, plural, quote
from tokverify.texts.token_text import is_filler
from tokverify.texts.vocabulary import types_of

_SHOWN = 10


@rule(code="TV211", name="lost-marker", severity=ERROR)
def lost_marker(subject: Subject) -> Iterator[Finding]:
    """Require a token for every marker of the reference.

    What it does:
        Looks for control tokens and user-defined tokens of the reference whose text is not a token in the file, at any
        id. Reserved and padding tokens are reported for information.

    Why it is bad:
        The marker is split into pieces, so the model does not recognize a tool call, the beginning of its reasoning
        or the place of an image, as it was trained to.

    Example:
        A file converted from the base model's tokenizer lacks `<tool_call>` and `<think>` of the fine-tuned one.

    How to repair:
        Convert again with the `added_tokens` of the model.

    Threads:
        huggingface/candle#3641, ggml-org/llama.cpp#15842, ggml-org/llama.cpp#12876
    """
    expected, known = subject.expected, subject.settings.ids
    lost = [id for id, type in enumerate(types_of(expected)) if type in ADDED_TYPES and expected.piece(id) not in known]
    # The file may store the same bytes under another name.
    lost = [id for id in lost if not _is_stored_differently(subject, id)]
    fillers = [id for id in lost if is_filler(expected.piece(id))]
    for severity, ids in ((ERROR, [id for id in lost if id not in fillers]), (INFO, fillers)):
        if ids:
            shown = list_items((f"{id} {quote(expected.piece(id))}" for id in ids), _SHOWN)
            message = f"{plural(len(ids), 'marker')} of the reference with no token in the file: {shown}"
            yield Finding(severity, message, ids=tuple(ids), keys=(TOKENS,))


def _is_stored_differently(subject: Subject, id: int) -> bool:
    if id >= len(subject.settings.pieces):
        return False
    return subject.encoder.token_bytes(id) == subject.expected.token_bytes(id)
