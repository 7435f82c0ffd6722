"""TV100: a tokenizer that contradicts itself, or that llama.cpp refuses to load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.audit.rule import rule
from tokverify.errors import BrokenFileError
from tokverify.report.finding import ERROR, Finding
from tokverify.text.wording import shortened

if TYPE_CHECKING:
    from tokverify.audit.subject import Subject


@rule(code="TV100", name="refused-file", severity=ERROR)
def refused_file(subject: Subject) -> Iterator[Finding]:
    """Report a tokenizer that contradicts itself, or that llama.cpp refuses to load or aborts on.

    What it does:
        Reads the tokenizer and loads it as llama.cpp does, and passes on what that stumbles over. The message says
        which of the two it was. Rules that need a loaded tokenizer are then not evaluated; the others say more where
        they can.

    Why it is bad:
        No program that is built on llama.cpp can use what that refuses. Where a file contradicts itself, llama.cpp may
        still load it: it takes a default for a special id that is out of range, and ignores scores and types beyond the
        last token. Other loaders guess otherwise, each with other ids.

    Example:
        Refused by llama.cpp: two tokens with the same text, or a `general.name` with `phi-3` in it where the vocabulary
        has no `</s>`. Contradicting itself: a special id beyond the end of the vocabulary, or more scores than tokens.

    How to repair:
        Convert the model again, with a newer converter or after correcting the tokenizer's files.

    Threads:
        ggml-org/llama.cpp#25739, ggml-org/llama.cpp#5669, ggml-org/llama.cpp#9692
    """
    if isinstance(subject.resolved, BrokenFileError):
        # subtle: much of what the reader refuses llama.cpp loads, with a warning at most.
        problem = "the file contradicts itself" if subject.declaration.refusal else "llama.cpp refuses the tokenizer"
        yield Finding(ERROR, f"{problem}: {shortened(str(subject.resolved))}")
