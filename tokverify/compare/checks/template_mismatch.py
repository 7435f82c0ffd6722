"""TV210: a different chat template than the reference's."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.repair import new_metadata
from tokverify.compare.rule import rule
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.report.finding import INFO, WARNING, Finding
from tokverify.sources.config import chat_templates
from tokverify.sources.gguf.keys import CHAT_TEMPLATE
from tokverify.text.sequence import common_length
from tokverify.text.wording import quote

_SHOWN_BEFORE = 20
"""In characters."""


@rule(code="TV210", name="template-mismatch", severity=WARNING)
def template_mismatch(subject: Subject) -> Iterator[Finding]:
    """Compare the chat template with the reference's.

    What it does:
        Compares `tokenizer.chat_template` with the chat_template.jinja beside the reference or, if there is none, with
        `chat_template` in tokenizer_config.json. A difference in whitespace alone is reported for information.

    Why it is bad:
        A chat that is formatted differently than in training is encoded correctly, but is still not what the model
        knows. Some publishers fix templates on purpose, so check before you change it.

    Example:
        A file that was converted before the template was corrected upstream.

    How to repair:
        `gguf-new-metadata --chat-template-file chat_template.jinja MODEL FIXED`.

    Threads:
        onnxruntime/mobius#660, ggml-org/llama.cpp#15110
    """
    expected = chat_templates(subject.path).get("default")
    if expected is None:
        raise NotEvaluatedError("there is no default chat template beside the reference")
    actual = subject.spec.chat_template
    if actual is None:
        yield _template_finding("the reference has a chat template, but the file has none")
    elif actual.split() != expected.split():
        line, ours, theirs = _first_difference(actual, expected)
        # A long line is quoted from a little before the place where it differs.
        start = max(common_length(ours, theirs) - _SHOWN_BEFORE, 0)
        ours, theirs = ours[start:], theirs[start:]
        place = f"first in line {line}: {quote(ours)}, but {quote(theirs)} in the reference"
        yield _template_finding(f"the chat template differs from the reference's, {place}")
    elif actual != expected:
        yield Finding(INFO, "the chat template differs from the reference's only in whitespace", keys=(CHAT_TEMPLATE,))


def _template_finding(message: str) -> Finding:
    repair = new_metadata("--chat-template-file", "chat_template.jinja")
    return Finding(WARNING, message, keys=(CHAT_TEMPLATE,), repair=repair)


def _first_difference(actual: str, expected: str) -> tuple[int, str, str]:
    ours, theirs = actual.splitlines(), expected.splitlines()
    for number, pair in enumerate(zip(ours, theirs, strict=False), 1):
        if pair[0] != pair[1]:
            return number, *pair
    least = min(len(ours), len(theirs))
    return least + 1, "".join(ours[least : least + 1]), "".join(theirs[least : least + 1])
