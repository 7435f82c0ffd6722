"""TV122: markers of a known family with another type than their publisher declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokverify.compare.marker_type import find_marker_types
from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.attribute import types_of
from tokverify.report.finding import ERROR, INFO, WARNING, Finding
from tokverify.sources.gguf.keys import TYPES
from tokverify.spec import TokenType
from tokverify.text.wording import list_tokens, plural
from tokverify.texts.token_text import is_marker

_EFFECTS = {
    (TokenType.NORMAL, TokenType.CONTROL): (ERROR, "split into pieces in a chat instead of matched"),
    (TokenType.NORMAL, TokenType.USER_DEFINED): (ERROR, "split into pieces in a chat instead of matched"),
    (TokenType.USER_DEFINED, TokenType.CONTROL): (ERROR, "matched in the texts of users too, who can forge it"),
    (TokenType.CONTROL, TokenType.USER_DEFINED): (WARNING, "not shown in an answer, so that programs miss it"),
}
"""(Effective type, type after a conversion) -> severity and effect."""


@rule(code="TV122", name="wrong-marker-type", severity=ERROR)
def wrong_marker_type(subject: Subject) -> Iterator[Finding]:
    """Require markers of tools, reasoning, media, turns and infilling to have the types of the publisher's files.

    What it does:
        Recognizes the family of a vocabulary (Qwen, Llama 3, Gemma 2 to 4, DeepSeek, gpt-oss, Phi 3 and 4, Mistral) by
        a combination of tokens that no other family has, and compares the effective types of its markers with those
        that llama.cpp's converter writes for the publisher's tokenizer_config.json. A marker typed NORMAL is an error,
        unless TV111 reports it; a control token typed USER_DEFINED is an error; a user-defined one typed CONTROL is a
        warning.

    Why it is bad:
        A NORMAL marker is split into pieces. A USER_DEFINED marker is matched even if special tokens are not parsed,
        so a user can forge one, such as the end of a turn. A CONTROL token is not shown, so a program that looks for
        `<tool_call>` in the answer does not find it.

    Example:
        `<tool_call>` typed NORMAL in a file of Qwen2.5, or `[TOOL_CALLS]` typed USER_DEFINED in one of Mistral.

    How to repair:
        `tokverify fix MODEL -r REFERENCE -o FIXED`, with the publisher's tokenizer.json as the reference. Or convert
        again; the converter takes the types from `added_tokens`.

    Threads:
        unslothai/unsloth#5070, ggml-org/llama.cpp#8244, ggml-org/llama.cpp#12743, ggml-org/llama.cpp#26309
    """
    settings, types = subject.settings, types_of(subject.settings.attributes)
    found: dict[tuple[str, str, TokenType, TokenType], list[int]] = {}
    for family, text, expected in find_marker_types(settings.ids):
        id = settings.ids[text]
        actual = types[id]
        if (actual, expected) in _EFFECTS and not (actual is TokenType.NORMAL and is_marker(text)):
            found.setdefault((family.name, family.source, actual, expected), []).append(id)
    for (name, source, actual, expected), ids in found.items():
        severity, effect = _EFFECTS[actual, expected]
        markers = plural(len(ids), "marker")
        message = (
            f"{markers} of {name} typed {actual.name}, but {expected.name} if converted from {source} ({effect}): "
            f"{list_tokens(ids, settings.pieces)}"
        )
        if _are_declared(subject, ids, actual):
            yield Finding(INFO, f"{message}; so they are in the reference", ids=tuple(ids), keys=(TYPES,))
        else:
            yield Finding(severity, message, ids=tuple(ids), keys=(TYPES,), repair=FIX)


def _are_declared(subject: Subject, ids: Sequence[int], type: TokenType) -> bool:
    """Whether a reference from which the converter takes types as they are, such as a sentencepiece model, has them."""
    reference = subject.independent
    if reference is None or reference.document is not None:
        return False
    types = reference.types or ()
    return all(id < len(types) and types[id] == type for id in ids)
