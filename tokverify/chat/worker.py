"""Render chat templates in a child process, because a template may loop forever or use up all memory.

It is run by its path, and reads and writes the JSON Lines of docs/programs.md, with operations of its own: `hello`,
which only shows that it has started, and `render`, which takes a `template`, by default that of the request before, its
`variables`, and the time `now`, which is always the same if it is empty. The response contains as `rendering` either
`text`, or an `error` with `deliberate`, which is true if the template itself raised it.

The environment is that of HuggingFace transformers (`apply_chat_template` in `utils/chat_template_utils.py`): an
immutable sandbox, `trim_blocks` and `lstrip_blocks`, loop controls, `raise_exception`, `strftime_now`, a `tojson` that
does not escape characters, and a `generation` block, which writes its body.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from datetime import datetime
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from jinja2.parser import Parser

MAX_CHARACTERS = 1 << 20
_MAX_MEMORY = 1 << 30
_MAX_CPU_SECONDS = 60
_WATCH_SECONDS = 0.5
_MAX_MESSAGE = 1000
# Any day is fine as long as it is the same on both sides and in every run.
_TODAY = datetime(2026, 1, 2, 3, 4, 5)


class _RaisedError(TemplateError):
    """Raised by a template with `raise_exception`."""


class _Generation(Extension):
    """`{% generation %}`, which marks the assistant's text for training; it writes its body."""

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


def _make_environment() -> ImmutableSandboxedEnvironment:
    """Return the environment for compiling templates."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _TODAY.strftime
    return environment


@cache
def _compile(source: str) -> Template:
    return _make_environment().from_string(source)


def render(source: str, variables: dict[str, Any], now: str = "") -> dict[str, object]:
    """Render a template at a time in ISO's format."""
    text = ""
    if now:
        variables = {**variables, "strftime_now": datetime.fromisoformat(now).strftime}
    # Makes the filter `random` choose the same on both sides, and something else once a conversation goes on.
    random.seed(len(variables.get("messages") or ()))
    try:
        for part in chain(_compile(source).generate(variables), [""]):
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


def _limit_memory() -> None:
    if resource:
        _limit(resource.RLIMIT_AS, _MAX_MEMORY)


def _limit_time() -> None:
    """Limit the time of the next task, in case the parent is gone and the template blocks the watching thread."""
    if resource:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + _MAX_CPU_SECONDS)


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _exit_with_parent(parent: int) -> None:
    """Exit as soon as the parent process is gone."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)


def main() -> None:
    """Render until there are no more requests."""
    _limit_memory()
    threading.Thread(target=_exit_with_parent, args=(os.getppid(),), daemon=True).start()
    template = ""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        template = request.get("template", template)
        _limit_time()
        rendering = render(template, request["variables"], request["now"]) if request["op"] == "render" else None
        sys.stdout.write(json.dumps({"id": request["id"], "rendering": rendering}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
