"""TV112: special tokens in the chat template that are not in the vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tokverify.compare.look_alike import find_meant
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.errors import EncodeError
from tokverify.report.finding import ERROR, INFO, WARNING, Finding
from tokverify.sources.gguf.keys import CHAT_TEMPLATE
from tokverify.text.wording import list_items, plural, quote

_OPTIONAL = re.compile(r"image|img|media|video|vision|audio|speech|tool", re.IGNORECASE)


@rule(code="TV112", name="unknown-template-token", severity=ERROR)
def unknown_template_token(subject: Subject) -> Iterator[Finding]:
    """Require that the special tokens in the chat template are in the vocabulary.

    What it does:
        Collects the strings in the template that are unlikely to be plain text (`<|im_start|>`, `<start_of_turn>`) and
        looks up each in the vocabulary. It is an error if some are there and others are not; a warning if none is,
        since a few models were trained with plain-text markers, or if those that are missing are for images, audio,
        video or tools, which most conversations do not have; and for information if the reference treats them as plain
        text as well, unless its own chat template does not contain them or, if it has none, they look like one of its
        tokens. Tags such as `<tools>` or `[INST]` are skipped because they usually are plain text.

    Why it is bad:
        The template belongs to another tokenizer, or tokens were lost in the conversion. A turn then begins with the
        characters of a marker, in several tokens that the model has never seen there.

    Example:
        A chat template for ChatML in a file whose vocabulary never had `<|im_start|>` and `<|im_end|>`.

    How to repair:
        Use the template that belongs to the model (`gguf-new-metadata --chat-template-file chat_template.jinja MODEL
        FIXED`), or convert again with the added tokens.

    Threads:
        sgl-project/sglang#3427, ggml-org/llama.cpp#15842, huggingface/candle#3641
    """
    known = subject.settings.ids
    missing = [text for text in subject.markers.strong if text not in known]
    if not missing:
        return
    meant = {text: find_meant(text, subject.settings.added_tokens) for text in missing}
    plain = [text for text in missing if _is_plain_in_reference(subject, text, is_odd=bool(meant[text]))]
    if plain:
        message = f"the chat template contains {_texts(plain)}, plain text here and in the reference"
        yield Finding(INFO, message, keys=(CHAT_TEMPLATE,))
    lost = [text for text in missing if text not in plain]
    if lost:
        # With all of them missing, the model may have been trained so. Models that see, hear or call tools share their
        # templates with others: DeepSeek's distillations of Qwen and Llama have its markers of tools, but no tokens.
        is_partial = len(missing) < len(subject.markers.strong)
        severity = ERROR if is_partial and not all(map(_OPTIONAL.search, lost)) else WARNING
        because = "".join(f"; {each}" for each in dict.fromkeys(filter(None, map(meant.__getitem__, lost))))
        message = f"the chat template contains {_texts(lost)}, for which there is no token{because}"
        yield Finding(severity, message, keys=(CHAT_TEMPLATE,))


def _texts(texts: list[str]) -> str:
    return f"{plural(len(texts), 'special-looking text')} ({list_items(texts, show=quote)})"


def _is_plain_in_reference(subject: Subject, text: str, *, is_odd: bool) -> bool:
    original, theirs = subject.original, subject.given.chat_template if subject.given else None
    if original is None or (is_odd if theirs is None else text not in theirs):
        return False
    try:
        ids = original.encode(f"a{text}a", add_special=False, parse_special=True)
    except EncodeError:
        return False
    return all(original.piece(id) != text for id in ids)
