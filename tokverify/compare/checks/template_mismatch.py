"""TV210: a different chat template than the reference's."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.repair import new_metadata
from tokverify.compare.rule import rule
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.compare.template_difference import describe_other_template
from tokverify.report.finding import INFO, WARNING, Finding
from tokverify.sources.config import default_template
from tokverify.sources.gguf.keys import CHAT_TEMPLATE


@rule(code="TV210", name="template-mismatch", severity=WARNING)
def template_mismatch(subject: Subject) -> Iterator[Finding]:
    """Compare the chat template with the reference's.

    What it does:
        Compares `tokenizer.chat_template` with the chat_template.jinja beside the reference or, if there is none, with
        `chat_template` in tokenizer_config.json or chat_template.json. A difference in whitespace alone is reported for
        information.

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
    expected = default_template(subject.path)
    if expected is None:
        raise NotEvaluatedError("there is no default chat template beside the reference")
    actual = subject.spec.chat_template
    if message := describe_other_template(actual, expected):
        repair = new_metadata("--chat-template-file", "chat_template.jinja")
        yield Finding(WARNING, message, keys=(CHAT_TEMPLATE,), repair=repair)
    elif actual != expected:
        yield Finding(INFO, "the chat template differs from the reference's only in whitespace", keys=(CHAT_TEMPLATE,))
