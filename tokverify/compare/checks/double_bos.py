"""TV114: BOS from the tokenizer and from the chat template."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.compare.rule import rule
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.report.finding import ERROR, INFO, Finding
from tokverify.sources.gguf.keys import ADD_BOS, CHAT_TEMPLATE
from tokverify.text.wording import quote

if TYPE_CHECKING:
    from tokverify.compare.subject import Subject


@rule(code="TV114", name="double-bos", severity=ERROR)
def double_bos(subject: Subject) -> Iterator[Finding]:
    """Require that BOS is added once, by the tokenizer or by the chat template.

    What it does:
        Looks for a chat template that begins with BOS in a file whose tokenizer also adds BOS. If llama.cpp adds BOS
        whatever the file declares, as for Gemma 4, that is reported for information.

    Why it is bad:
        A program that renders the template and then encodes the result with `add_special` produces two BOS tokens, a
        beginning that the model has never seen. llama-server removes one of them; programs based on transformers do
        not.

    Example:
        `{{ bos_token }}` at the start of the template and `add_bos_token` true.

    How to repair:
        Encode rendered chats without `add_special`. In the file, either of the two can be removed, but then plain texts
        or other programs lack it.

    Threads:
        ggml-org/llama.cpp#7107, ggml-org/llama.cpp#7332, abetlen/llama-cpp-python#1501, LostRuins/koboldcpp#917
    """
    settings = subject.settings
    bos = settings.special_ids.get("bos")
    if not settings.add_bos or bos is None or not subject.markers.begins_with(settings.pieces[bos]):
        return
    piece = quote(settings.pieces[bos])
    message = f"BOS is added to texts, and the chat template also begins with it ({piece})"
    forced = settings.pre in PRE_TOKENIZERS and PRE_TOKENIZERS[settings.pre].always_bos
    yield Finding(
        INFO if forced else ERROR,
        f"{message}: encode rendered chats without add_special",
        ids=(bos,),
        keys=(ADD_BOS, CHAT_TEMPLATE),
    )
