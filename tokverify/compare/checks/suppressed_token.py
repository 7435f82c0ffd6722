"""TV131: tokens that are never generated."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.report.finding import ERROR, WARNING, Finding
from tokverify.sources.gguf.keys import SUPPRESSED
from tokverify.text.wording import list_items, list_tokens


@rule(code="TV131", name="suppressed-token", severity=ERROR)
def suppressed_token(subject: Subject) -> Iterator[Finding]:
    """Require that the tokens that are never generated leave one that ends a generation.

    What it does:
        Reads `tokenizer.ggml.suppress_tokens`, which llama.cpp knows since b9554. It is an error if all tokens that end
        a generation are in the list, and a warning if some are, or if an id is out of range.

    Why it is bad:
        llama.cpp gives these tokens no chance. Without a token that ends a generation, the model never stops. An id out
        of range is dropped silently; it was probably meant for another vocabulary.

    Example:
        A list that a converter took from a `generation_config.json` whose ids belong to the original tokenizer.

    How to repair:
        Convert the model again with a corrected list.

    Threads:
        ggml-org/llama.cpp#26276
    """
    listed = subject.spec.suppressed
    if listed is None:
        return
    outside = [id for id in listed if not 0 <= id < len(subject.spec.tokens)]
    if outside:
        message = f"{SUPPRESSED} lists {list_items(outside[:8])}, out of range for {len(subject.spec.tokens):,}"
        yield Finding(WARNING, f"{message} tokens; llama.cpp drops them", tuple(outside), (SUPPRESSED,))
    settings = subject.settings
    muted = sorted(settings.eog_ids.intersection(listed))
    if muted:
        left = settings.eog_ids.difference(listed)
        tokens = list_tokens(muted, settings.pieces)
        ending = "which end a generation" if left else "so that no token is left that ends a generation"
        yield Finding(
            WARNING if left else ERROR, f"llama.cpp never generates {tokens}, {ending}", tuple(muted), (SUPPRESSED,)
        )
