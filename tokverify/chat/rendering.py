"""Render conversations with chat templates, in a child process with a time limit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryFile
from threading import Thread
from typing import IO, Any, NamedTuple

from tokverify.report.chat import Rendering

SECONDS = 10.0
_SECONDS_AFTER_TIMEOUT = 1.0
_MAX_FAILURES = 2
_WORKER = Path(__file__).with_name("worker.py")


class Task(NamedTuple):
    """One conversation to render with one template."""

    template: str
    """The source of the template."""

    variables: Mapping[str, Any]
    """The variables of the template: `messages`, `tools`, `bos_token`, ..."""


def render(tasks: Sequence[Task], *, seconds: float = SECONDS) -> list[Rendering]:
    """Render all tasks, in one child process as long as nothing goes wrong.

    Args:
        tasks: What to render.
        seconds: The time limit for each task; after the first timeout, it is shorter. A template that has made two
            child processes fail is not tried on the remaining tasks, each of which could take as long.
    """
    done: list[Rendering] = []
    failures: dict[str, list[str]] = {task.template: [] for task in tasks}
    while len(done) < len(tasks):
        if len(failures[tasks[len(done)].template]) < _MAX_FAILURES:
            finished, failure = _render_in_child(tasks[len(done) :], seconds)
            done += finished
            if not failure:
                break
            failures[tasks[len(done)].template].append(failure)
            seconds = min(seconds, _SECONDS_AFTER_TIMEOUT)
        done.append(Rendering(error=failures[tasks[len(done)].template][-1]))
    return done


def _render_in_child(tasks: Sequence[Task], seconds: float) -> tuple[list[Rendering], str]:
    """Render as many tasks as one child process can; return the results, and why it failed if some are missing."""
    found: list[Rendering] = []
    failure = ""
    lines: SimpleQueue[bytes] = SimpleQueue()
    with _start_child(tasks) as process:
        reader = Thread(target=_read, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            # The template is not to blame if a busy machine takes long to start the child.
            line = lines.get(timeout=SECONDS)
            while line and len(found) < len(tasks):
                if line := lines.get(timeout=seconds):
                    found.append(Rendering(**json.loads(line)))
        except Empty:
            process.kill()
            failure = "it exceeds the time limit"
        except BaseException:
            process.kill()
            raise
        finally:
            reader.join()
    if not failure and len(found) < len(tasks):
        failure = f"its process exited early with code {process.returncode}; it may need too much memory"
    return found, failure


def _start_child(tasks: Sequence[Task]) -> subprocess.Popen[bytes]:
    """Start a child process that renders."""
    # -P: no file in the working directory can replace a module. The template is only sent to the child's stdin.
    command = [sys.executable, "-P", str(_WORKER)]
    with TemporaryFile() as request:
        request.write(json.dumps(tasks).encode())
        request.seek(0)
        return subprocess.Popen(command, stdin=request, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603


def _read(output: IO[bytes], lines: SimpleQueue[bytes]) -> None:
    """Pass on whole lines as they arrive, and an empty one at the end."""
    for line in output:
        if line.endswith(b"\n"):
            lines.put(line)
    lines.put(b"")
