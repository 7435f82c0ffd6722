"""Render conversations with chat templates, in a child process with a time limit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryFile
from threading import Thread
from typing import IO, Any, NamedTuple

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
        seconds: How long each may take until it is given up; after the first that is, the patience is less. A template
            that has brought down two children is not tried on the rest, which would take as long each.
    """
    done: list[Rendering] = []
    endings: dict[str, list[str]] = {task.template: [] for task in tasks}
    while len(done) < len(tasks):
        if len(endings[tasks[len(done)].template]) < _MOST_ENDINGS:
            found, ending = _work(tasks[len(done) :], seconds)
            done += found
            if not ending:
                break
            endings[tasks[len(done)].template].append(ending)
            seconds = min(seconds, _LESS_SECONDS)
        done.append(Rendering(error=endings[tasks[len(done)].template][-1]))
    return done


def _work(tasks: Sequence[Task], seconds: float) -> tuple[list[Rendering], str]:
    """Render as many as a child manages; return them, and how it ended before the rest."""
    found: list[Rendering] = []
    ending = ""
    lines: SimpleQueue[bytes] = SimpleQueue()
    with _child(tasks) as process:
        reader = Thread(target=_read, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            # How long a busy machine takes to start the child is not the template's fault.
            line = lines.get(timeout=SECONDS)
            while line and len(found) < len(tasks):
                if line := lines.get(timeout=seconds):
                    found.append(Rendering(**json.loads(line)))
        except Empty:
            process.kill()
            ending = "it gives no result in time"
        except BaseException:
            process.kill()
            raise
        finally:
            reader.join()
    if not ending and len(found) < len(tasks):
        ending = f"its process ended early, with exit code {process.returncode}; it may need too much memory"
    return found, ending


def _child(tasks: Sequence[Task]) -> subprocess.Popen[bytes]:
    """Start a child that renders."""
    # Nothing in the working directory can stand in for a module. A template's text only goes to the child's input.
    command = [sys.executable, "-P", str(_WORKER)]
    with TemporaryFile() as asked:
        asked.write(json.dumps(tasks).encode())
        asked.seek(0)
        return subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603


def _read(output: IO[bytes], lines: SimpleQueue[bytes]) -> None:
    """Hand on whole lines as they come, and an empty one at the end."""
    for line in output:
        if line.endswith(b"\n"):
            lines.put(line)
    lines.put(b"")
