"""TV130: an architecture that llama.cpp does not know."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.build import known_since, newest_build
from tokverify.report.finding import WARNING, Finding
from tokverify.text.wording import quote

_KEY = "general.architecture"


@rule(code="TV130", name="unknown-architecture", severity=WARNING)
def unknown_architecture(subject: Subject) -> Iterator[Finding]:
    """Point out an architecture that llama.cpp does not know.

    What it does:
        Compares `general.architecture` with the names that the newest build in tokverify's tables knows, which are made
        from real builds. Only GGUF files have one.

    Why it is bad:
        llama.cpp refuses such a file before it reads the tokenizer. tokverify reads the tokenizer anyway.

    Example:
        A file for a fork of llama.cpp, a file that is newer than this list, or a name with a typo.

    How to repair:
        If llama.cpp's current version loads the file, accept this finding. Otherwise convert the model again with a
        converter that supports it.

    Threads:
        ggml-org/llama.cpp#15495
    """
    # Only GGUF files have general keys.
    if not subject.spec.general:
        return
    name = subject.spec.general.get("architecture")
    if name is None:
        yield Finding(WARNING, f"{_KEY} is missing; llama.cpp refuses the file", keys=(_KEY,))
    elif name not in known_since("architectures"):
        message = f"{_KEY} is {quote(name)}, which llama.cpp b{newest_build()} does not load"
        yield Finding(WARNING, message, keys=(_KEY,))
