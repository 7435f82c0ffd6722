"""The child process that renders a chat template: it may loop or fill the memory without taking the run along.

It is run by its path. Its standard input is a JSON list of pairs: the source of a template, and what it knows. It
writes an empty line once it has read that, and then one line of JSON as soon as it has an answer: `text`, or an `error`
with `deliberate`, which says that the template itself raised it.

The environment is that of HuggingFace transformers (`apply_chat_template` in `utils/chat_template_utils.py`): a sandbox
that cannot change what it is given, blocks that leave no line behind, loop controls, `raise_exception`,
`strftime_now`, a `tojson` that keeps characters as they are, and a `generation` block, which writes what is in it.
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

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

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
    random.seed(0)  # of the filter `random`, so that it chooses the same on both sides
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


def _limit_memory() -> None:
    if resource:
        _limit(resource.RLIMIT_AS, _MAX_MEMORY)


def _limit_time() -> None:
    """Give the next task its time; it matters where the parent is gone, and the template keeps others from seeing."""
    if resource:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + _MAX_CPU_SECONDS)


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _end_with_parent(parent: int) -> None:
    """End as soon as whoever started this process is gone, such as killed."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answer each task."""
    _limit_memory()
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    tasks = json.load(sys.stdin)
    _tell("")
    for source, variables in tasks:
        _limit_time()
        _tell(json.dumps(answer(source, variables)))


if __name__ == "__main__":
    main()
