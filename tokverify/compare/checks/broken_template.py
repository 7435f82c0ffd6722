"""TV124: a chat template that is no Jinja."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tokverify.compare.marker import MAX_TEMPLATE
from tokverify.compare.repair import new_metadata
from tokverify.compare.rule import rule
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.report.finding import ERROR, Finding
from tokverify.sources.gguf.keys import CHAT_TEMPLATE
from tokverify.text.wording import truncate

_GENERATION = re.compile(r"\{%[-+]?\s*(?:end)?generation\s*[-+]?%\}")
"""What HuggingFace transformers adds to the language; llama.cpp skips it."""
_OTHER_TAG = re.compile(r"Encountered unknown tag '(?!end|el)")


@rule(code="TV124", name="broken-template", severity=ERROR)
def broken_template(subject: Subject) -> Iterator[Finding]:
    """Require a chat template that can be read.

    What it does:
        Reads the chat template of the file, and those with a name, as Jinja, without rendering them. A statement that
        Jinja itself does not have is no error. `tokverify chat` also renders them.

    Why it is bad:
        llama-server does not start. Earlier builds of llama.cpp used the template of ChatML, whose markers the model
        may not know; other programs raise an error.

    Example:
        A template that was cut off, the list of named templates of a tokenizer_config.json as JSON, or a template for
        ollama, which is written in Go's language: `{{ .Prompt }}`.

    How to repair:
        Use the template that belongs to the model: `gguf-new-metadata --chat-template-file chat_template.jinja MODEL
        FIXED`.

    Threads:
        containers/ramalama#1855, containers/ramalama#1857, abetlen/llama-cpp-python#2225
    """
    for name, template in subject.spec.templates.items():
        if error := _find_error(template):
            is_unnamed = template == subject.spec.chat_template
            which = "the chat template" if is_unnamed else f"the chat template {name}"
            key = CHAT_TEMPLATE if is_unnamed else f"{CHAT_TEMPLATE}.{name}"
            repair = new_metadata("--chat-template-file", "chat_template.jinja")
            yield Finding(ERROR, f"{which} cannot be read: {error}", keys=(key,), repair=repair)


def _find_error(template: str) -> str:
    from jinja2 import Environment, TemplateSyntaxError
    from jinja2.ext import loopcontrols

    if len(template) > MAX_TEMPLATE:
        raise NotEvaluatedError(f"the chat template has more than {MAX_TEMPLATE:,} characters")
    if _is_json(template):
        return "it is JSON, such as the list of several templates in a tokenizer_config.json"
    try:
        Environment(extensions=[loopcontrols], autoescape=True).parse(_GENERATION.sub("", template))
    except TemplateSyntaxError as error:
        message = error.message or ""
        return "" if _OTHER_TAG.match(message) else f"line {error.lineno}: {truncate(message)}"
    except RecursionError:
        raise NotEvaluatedError("the chat template is nested too deeply") from None
    return ""


def _is_json(template: str) -> bool:
    """Whether a template is a list or an object in JSON, which Jinja may read as a text with some expressions in it."""
    try:
        return isinstance(json.loads(template), list | dict)
    except (ValueError, RecursionError):
        return False
