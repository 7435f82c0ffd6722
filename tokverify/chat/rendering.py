"""Render conversations with chat templates, in a child process with a time limit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SECONDS = 10.0
_LESS_SECONDS = 1.0
_MOST_ENDINGS = 2
_WORKER = Path(__file__).with_name("worker.py")


class Task(NamedTuple):
    """What to render: the source of a template, and what it knows: `messages`, `tools`, `bos_token`, ..."""

    template: str
    variables: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a template makes of a conversation: a `text`, or else an `error`.

    `deliberate` tells that the template itself refused the conversation, by `raise_exception`.
    """

    text: str | None = None
    error: str = ""
    deliberate: bool = False


def render(tasks: Sequence[Task], *, seconds: float = SECONDS) -> list[Rendering]:
    """Render everything, in one child process as long as none goes wrong.

    Args:
        tasks: What to render.
        seconds: How long it may take until a task is given up; after that the patience is less. A template that has
            brought down two children is not tried on the rest, which would take as long each.
    """
    done: list[Rendering] = []
    failed: Counter[str] = Counter()
    ending = ""
    while len(done) < len(tasks):
        template = tasks[len(done)].template
        if failed[template] < _MOST_ENDINGS:
            found, ending = _work(tasks[len(done) :], seconds)
            done += found
            if not ending:
                break
            template = tasks[len(done)].template
            seconds = min(seconds, _LESS_SECONDS)
        failed[template] += 1
        done.append(Rendering(error=ending))
    return done


def _work(tasks: Sequence[Task], seconds: float) -> tuple[list[Rendering], str]:
    """Render as many as a child manages; return them, and how it ended before the rest."""
    # Nothing in the working directory can stand in for a module. A template's text only goes to the child's input.
    command = [sys.executable, "-P", str(_WORKER)]
    process = subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process:
        try:
            output, _ = process.communicate(json.dumps(tasks).encode(), seconds)
            ending = f"its process ended early, with exit code {process.returncode}; it may need too much memory"
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            ending = "it gives no result in time"
        except BaseException:
            process.kill()
            raise
    found = [Rendering(**json.loads(line)) for line in output.splitlines(keepends=True) if line.endswith(b"\n")]
    return found, "" if len(found) == len(tasks) else ending
