"""TV114: BOS from the tokenizer and from the chat template."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.report.finding import INFO, WARNING, Finding
from tokverify.sources.gguf.keys import ADD_BOS, CHAT_TEMPLATE
from tokverify.text.wording import quote


@rule(code="TV114", name="double-bos", severity=WARNING)
def double_bos(subject: Subject) -> Iterator[Finding]:
    """Require that a chat begins with one BOS.

    What it does:
        Looks for a chat template that begins with BOS in a file whose tokenizer also adds BOS, as in many healthy files
        of Llama 2, Phi-3 and Command R. llama-server removes one of the two, so that is reported for information. If
        the template itself writes two, it is a warning.

    Why it is bad:
        A program that renders the template and then encodes the result with `add_special` produces two BOS tokens, a
        beginning that the model has never seen. llama-server removes only one of those that it finds.

    Example:
        `{{ bos_token }}` at the start of the template and `add_bos_token` true.

    How to repair:
        Encode rendered chats without `add_special`. If the template writes two, remove one there. Do not turn off
        `add_bos_token` for the first: then plain texts lack BOS.

    Threads:
        ggml-org/llama.cpp#7107, ggml-org/llama.cpp#7332, abetlen/llama-cpp-python#1501, LostRuins/koboldcpp#917
    """
    settings = subject.settings
    bos = settings.special_ids.get("bos")
    piece = "" if bos is None else settings.pieces[bos]
    count = subject.markers.count_leading(piece) if piece else 0
    if bos is None or not (count > 1 or (count and settings.add_bos)):
        return
    if count > 1:
        message = f"the chat template itself begins with BOS twice ({quote(piece)}): remove one there"
        yield Finding(WARNING, message, ids=(bos,), keys=(CHAT_TEMPLATE,))
    else:
        message = f"BOS is added to texts, and the chat template also begins with it ({quote(piece)})"
        advice = "encode rendered chats without add_special"
        yield Finding(INFO, f"{message}: {advice}", ids=(bos,), keys=(ADD_BOS, CHAT_TEMPLATE))
