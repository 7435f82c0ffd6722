"""TV210: another chat template than the reference's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.audit.finding import INFO, WARNING, Finding
from tokverify.audit.repair import new_metadata
from tokverify.audit.rule import rule
from tokverify.audit.subject import NotEvaluatedError
from tokverify.audit.wording import quoted
from tokverify.gguf_file import CHAT_TEMPLATE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokverify.audit.subject import Subject


@rule(code="TV210", name="reference-template", severity=WARNING)
def reference_template(subject: Subject) -> Iterator[Finding]:
    """Compare the chat template with the reference's.

    What it does:
        Compares `tokenizer.chat_template` with `chat_template` in the tokenizer_config.json beside the reference, or
        with chat_template.jinja. Other white space alone is for information.

    Why it is bad:
        A chat that is framed otherwise than in training is encoded rightly, and is still not what the model knows.
        Some publishers repair templates on purpose, so look before you change it.

    Example:
        A file that was converted before the template was corrected upstream.

    How to repair:
        `gguf-new-metadata --chat-template-file chat_template.jinja MODEL FIXED`.

    Threads:
        onnxruntime/mobius#660, ggml-org/llama.cpp#15110
    """
    expected = _template(subject)
    actual = subject.spec.chat_template
    if expected is None:
        raise NotEvaluatedError("no chat template stands beside the reference")
    repair = new_metadata("--chat-template-file", "chat_template.jinja")
    if actual is None:
        yield Finding(
            WARNING, "the reference has a chat template, and the file none", keys=(CHAT_TEMPLATE,), repair=repair
        )
    elif actual.split() == expected.split():
        if actual != expected:
            yield Finding(INFO, "the chat template has other white space than the reference's", keys=(CHAT_TEMPLATE,))
    else:
        line, ours, theirs = _first_difference(actual, expected)
        message = f"the chat template differs from the reference's, first in line {line}: "
        message += f"{quoted(ours)}, there {quoted(theirs)}"
        yield Finding(WARNING, message, keys=(CHAT_TEMPLATE,), repair=repair)


def _template(subject: Subject) -> str | None:
    template = subject.config.get("chat_template")
    if isinstance(template, list):
        named = {item.get("name"): item.get("template") for item in template if isinstance(item, dict)}
        template = named.get("default")
    if isinstance(template, str):
        return template
    return _read(_beside(subject.path))


def _beside(path: Path) -> Path:
    """Return where the template of `gemma.tokenizer.json` would be: `gemma.chat_template.jinja`."""
    prefix = path.name.partition("tokenizer.")[0]
    return path.with_name(f"{prefix}chat_template.jinja")


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8") if path.is_file() else None
    except (OSError, ValueError):
        return None


def _first_difference(actual: str, expected: str) -> tuple[int, str, str]:
    ours, theirs = actual.splitlines(), expected.splitlines()
    for number, pair in enumerate(zip(ours, theirs, strict=False), 1):
        if pair[0] != pair[1]:
            return number, *pair
    least = min(len(ours), len(theirs))
    return least + 1, "".join(ours[least : least + 1]), "".join(theirs[least : least + 1])
