"""TV100: llama.cpp refuses to load the tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.audit.finding import ERROR, Finding
from tokverify.audit.rule import rule
from tokverify.audit.wording import shortened
from tokverify.errors import BrokenFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokverify.audit.subject import Subject


@rule(code="TV100", name="refused-file", severity=ERROR)
def refused_file(subject: Subject) -> Iterator[Finding]:
    """Report a tokenizer that llama.cpp refuses to load, or aborts on.

    What it does:
        Loads the tokenizer as llama.cpp does, and passes on what that stumbles over. Rules that need a loaded
        tokenizer are then not evaluated; the others say more where they can.

    Why it is bad:
        No program that is built on llama.cpp can use the file. Programs with a loader of their own may get by, each
        with other ids.

    Example:
        Two tokens with the same text, a special id beyond the end of the vocabulary, or a `general.name` with `phi-3`
        in it where the vocabulary has no `</s>`.

    How to repair:
        Convert the model again, with a newer converter or after correcting the tokenizer's files.

    Threads:
        ggml-org/llama.cpp#25739, ggml-org/llama.cpp#5669, ggml-org/llama.cpp#9692
    """
    if isinstance(subject.resolved, BrokenFileError):
        yield Finding(ERROR, f"llama.cpp refuses the tokenizer: {shortened(str(subject.resolved))}")
