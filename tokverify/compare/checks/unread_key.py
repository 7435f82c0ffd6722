"""TV132: keys of the tokenizer that no known build of llama.cpp reads."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.compare.unread_key import describe_unread
from tokverify.report.finding import WARNING, Finding


@rule(code="TV132", name="unread-key", severity=WARNING)
def unread_key(subject: Subject) -> Iterator[Finding]:
    """Point out keys of the tokenizer that no known build of llama.cpp reads.

    What it does:
        Compares the keys that begin with `tokenizer.` with those that the newest build in tokverify's tables reads.
        `run --strict` fails if there is another one.

    Why it is bad:
        A newer build, or a fork, may read the key, and then encode texts otherwise than tokverify predicts.

    Example:
        `tokenizer.ggml.normalizer.nfc` changes ids since b11739; builds before it, and older tools, ignore it.

    How to repair:
        Update tokverify. If no program reads the key, accept this finding, or remove the key.

    Threads:
        ggml-org/llama.cpp#26276
    """
    if subject.spec.unread_keys:
        yield Finding(WARNING, describe_unread(subject.spec), keys=subject.spec.unread_keys)
