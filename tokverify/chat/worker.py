"""The child process that renders a chat template: it may loop or fill the memory without taking the run along.

It is run by its path. Its standard input is a JSON list of pairs: the source of a template, and what it knows. Each
answer is one line of JSON, flushed at once: `text`, or an `error` with `deliberate`, which says that the template
itself raised it.

The environment is that of HuggingFace transformers (`apply_chat_template` in `utils/chat_template_utils.py`): a sandbox
that cannot change what it is given, blocks that leave no line behind, loop controls, `raise_exception`,
`strftime_now`, a `tojson` that keeps characters as they are, and a `generation` block, which writes what is in it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from datetime import datetime
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.parser import Parser

MAX_CHARACTERS = 1 << 20
_MAX_MEMORY = 1 << 30
_MAX_CPU_SECONDS = 60
_WATCH_SECONDS = 0.5
_MAX_MESSAGE = 1000
# Any day will do, as long as it is the same on both sides and in every run.
_TODAY = datetime(2026, 1, 2, 3, 4, 5)


class _RaisedError(TemplateError):
    """What a template raises by `raise_exception`."""


class _Generation(Extension):
    """`{% generation %}`, which marks what an assistant wrote, for training; the text is that of its body."""

    tags = {"generation"}  # noqa: RUF012 - what the base class declares

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


def _raise_exception(message: object) -> None:
    raise _RaisedError(str(message))


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment() -> ImmutableSandboxedEnvironment:
    """Return the environment that templates are compiled in."""
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
    made.filters["tojson"] = _to_json
    made.globals["raise_exception"] = _raise_exception
    made.globals["strftime_now"] = _TODAY.strftime
    return made


@cache
def _compiled(source: str) -> Template:
    return environment().from_string(source)


def answer(source: str, variables: dict[str, Any]) -> dict[str, object]:
    """Render a template."""
    text = ""
    try:
        for part in chain(_compiled(source).generate(variables), [""]):
            text += part
            if len(text) > MAX_CHARACTERS:
                return {"error": f"it writes more than {MAX_CHARACTERS:,} characters", "deliberate": False}
    except Exception as error:  # noqa: BLE001 - a template is a program, and may raise anything
        return _failure(error)
    return {"text": text}


def _failure(error: Exception) -> dict[str, object]:
    line = getattr(error, "lineno", None)
    message = str(error)[:_MAX_MESSAGE] or type(error).__name__
    return {
        "error": f"line {line}: {message}" if line else message,
        "deliberate": isinstance(error, _RaisedError),
    }


def _limit_resources() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_MAX_CPU_SECONDS, _MAX_CPU_SECONDS))


def _end_with_parent(parent: int) -> None:
    """End as soon as whoever started this process is gone, such as killed."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)


def main() -> None:
    """Answer each task."""
    _limit_resources()
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    for source, variables in json.load(sys.stdin):
        sys.stdout.write(json.dumps(answer(source, variables)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
