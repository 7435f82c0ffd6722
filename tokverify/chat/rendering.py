"""Render conversations with a chat template: here, in a child process, or by the server that is the reference."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from tokverify.errors import EncodeError
from tokverify.report.chat import Conversation, Rendering
from tokverify.system.child_process import ChildProcess, FailedError, LateError

SECONDS = 10.0
_SECONDS_AFTER_TIMEOUT = 1.0
_MAX_FAILURES = 2
_MAX_TOGETHER = 256
"""How many tasks are sent at once, which this process writes out as JSON before the child begins."""
_WORKER = Path(__file__).with_name("worker.py")


class Task(NamedTuple):
    """One conversation to render with one template."""

    template: str
    """The source of the template."""

    variables: Mapping[str, Any]
    """The variables of the template: `messages`, `tools`, `bos_token`, ..."""

    now: str = ""
    """The time in ISO's format; empty for any time that is always the same."""


class Renderer:
    """Renders with templates in one child process, as long as nothing goes wrong. A context manager, which ends it."""

    def __init__(self) -> None:
        self._child: ChildProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child:
            self._child.abort()

    def render(self, tasks: Sequence[Task], *, seconds: float = SECONDS) -> list[Rendering]:
        """Render all tasks.

        Args:
            tasks: What to render.
            seconds: The time limit for each task; after the first timeout, it is shorter. A template that has made two
                child processes fail is not tried on the remaining tasks, each of which could take as long.
        """
        done: list[Rendering] = []
        failures: dict[str, list[str]] = {task.template: [] for task in tasks}
        while together := _take(tasks, len(done)):
            failed = failures[together[0].template]
            if len(failed) == _MAX_FAILURES:
                done.extend([Rendering(error=failed[-1])] * len(together))
                continue
            try:
                self._child = self._child or _start_child()
                for rendering in _render(self._child, together, seconds):
                    done.append(rendering)  # noqa: PERF402 - those before an error count
            except FailedError as error:
                self._child = None
                if isinstance(error, LateError):
                    seconds = min(seconds, _SECONDS_AFTER_TIMEOUT)
                failed.append(_describe(error))
                done.append(Rendering(error=failed[-1]))
        return done


def _take(tasks: Sequence[Task], start: int) -> list[Task]:
    """Return the next tasks, all with the same template."""
    following = tasks[start : start + _MAX_TOGETHER]
    return list(takewhile(lambda task: task.template == following[0].template, following))


def _render(child: ChildProcess, tasks: Sequence[Task], seconds: float) -> Iterator[Rendering]:
    """Yield the renderings of tasks with the same template, until one fails."""
    requests = [{"variables": task.variables, "now": task.now} for task in tasks]
    # A template may be long, and the child keeps it.
    requests[0]["template"] = tasks[0].template
    try:
        for response in child.ask_each("render", requests, seconds=seconds):
            yield Rendering(**response["rendering"])
    except BaseException:
        child.abort()
        raise


def _describe(error: FailedError) -> str:
    if isinstance(error, LateError):
        return "it exceeds the time limit"
    return f"its process {error}; it may need too much memory"


def _start_child() -> ChildProcess:
    """Start a child process that renders."""
    # -P: no file in the working directory can replace a module. The template is only sent to the child's stdin.
    child = ChildProcess([sys.executable, "-P", str(_WORKER)])
    try:
        # The template is not to blame if a busy machine takes long to start the child.
        child.ask("hello", {}, seconds=SECONDS)
    except BaseException:
        child.abort()
        raise
    return child


@runtime_checkable
class ChatRendering(Protocol):
    """Renders conversations with a template of its own."""

    chat_variables: Mapping[str, Any]
    """Variables that it sets itself if a conversation does not."""
    adapts_chats: bool
    """Whether it leaves BOS to the tokenizer, and joins the parts of contents if its template shows only strings."""

    def render_chats(self, conversations: Sequence[Mapping[str, Any]]) -> Sequence[str | EncodeError | None]:
        """Return the text of each conversation, or why there is none; None if it cannot be compared.

        Args:
            conversations: Objects with `messages`, `add_generation_prompt`, and, if there are any, `tools` and other
                variables in `chat_template_kwargs`.
        """


def render_served(tokenizer: ChatRendering, conversations: Sequence[Conversation]) -> list[Rendering | None]:
    """Render conversations."""
    return list(map(_to_rendering, tokenizer.render_chats(list(map(_to_request, conversations)))))


def _to_rendering(text: str | EncodeError | None) -> Rendering | None:
    if text is None:
        return None
    return Rendering(error=str(text)) if isinstance(text, EncodeError) else Rendering(text=text)


def _to_request(conversation: Conversation) -> Mapping[str, Any]:
    tools = {} if conversation.tools is None else {"tools": list(conversation.tools)}
    variables = {"chat_template_kwargs": dict(conversation.variables)} if conversation.variables else {}
    return {
        "messages": list(conversation.messages),
        **tools,
        **variables,
        "add_generation_prompt": conversation.add_generation_prompt,
    }
