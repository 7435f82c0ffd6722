"""TV100: a tokenizer that contradicts itself, or that llama.cpp refuses to load."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.errors import BrokenFileError
from tokverify.report.finding import ERROR, Finding
from tokverify.text.wording import truncate


@rule(code="TV100", name="refused-file", severity=ERROR)
def refused_file(subject: Subject) -> Iterator[Finding]:
    """Report a tokenizer that contradicts itself, or on which llama.cpp fails.

    What it does:
        Reads the tokenizer, loads it as llama.cpp does, and reports the error; the message says which of the two steps
        failed. Rules that need a loaded tokenizer are then not evaluated; the others report what they can.

    Why it is bad:
        No program based on llama.cpp can use what llama.cpp refuses. If a file contradicts itself, llama.cpp may still
        load it: it ignores scores and types beyond the last token. Other loaders make other choices, with other ids.

    Example:
        Refused by llama.cpp: two tokens with the same text, or `phi-3` in `general.name` without `</s>` in the
        vocabulary. Contradicting itself: more scores than tokens.

    How to repair:
        If the file contradicts itself: `tokverify fix MODEL -r REFERENCE -o FIXED`. Otherwise convert the model again,
        with a newer converter or after correcting the tokenizer's files. If only its `general.name` makes llama.cpp
        look for the tokens of another model, choose another name.

    Threads:
        ggml-org/llama.cpp#25739, ggml-org/llama.cpp#5669, ggml-org/llama.cpp#9692
    """
    if isinstance(subject.resolved, BrokenFileError):
        # subtle: much of what the reader refuses llama.cpp loads, with a warning at most.
        is_contradictory = subject.declaration.refusal is not None
        problem = "the file contradicts itself" if is_contradictory else "llama.cpp refuses the tokenizer"
        yield Finding(ERROR, f"{problem}: {truncate(str(subject.resolved))}", repair=FIX if is_contradictory else "")
