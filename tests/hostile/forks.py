"""Run functions in forks of this process, which has imported everything, with limits for time and memory.

A fork starts in milliseconds, cannot disturb the next one, and may crash, hang or fill the memory.
"""

import contextlib
import faulthandler
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

SECONDS = 10.0
"""The processor time for one function."""
WAITING_SECONDS = 300.0
"""For a fork that sleeps; otherwise processor time decides, since the machine may be busy."""
MEMORY = 2 << 30


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one function in a fork."""

    result: Any
    """What it returned; None if the fork died."""
    death: str = ""
    """How the fork died, and where."""
    seconds: float = 0.0
    """Processor time, of child processes too."""
    memory: int = 0
    """The most memory, in bytes, that the fork has had up to its end."""


def run_forked(
    functions: Sequence[Callable[[], Any]], directory: Path, *, memory: int = MEMORY, needs_first: bool = False
) -> list[Outcome]:
    """Run functions one after the other, in one fork unless it dies.

    With `needs_first`, nothing is run after a first function that dies.
    """
    outcomes: list[Outcome] = []
    while len(outcomes) < len(functions):
        outcomes += _run_until_death(functions[len(outcomes) :], directory, memory)
        if needs_first and outcomes[0].death:
            break
    return outcomes


def _run_until_death(functions: Sequence[Callable[[], Any]], directory: Path, memory: int) -> list[Outcome]:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    trace = directory / "traceback"
    process = context.Process(target=_serve, args=(sender, functions, trace, memory))
    process.start()
    sender.close()
    outcomes: list[Outcome] = []
    try:
        with contextlib.suppress(EOFError):
            while len(outcomes) < len(functions):
                if not receiver.poll(WAITING_SECONDS):
                    return [*outcomes, Outcome(None, f"no end after {WAITING_SECONDS:g} s")]
                outcomes.append(receiver.recv())
            return outcomes
        process.join(5)
        return [*outcomes, Outcome(None, _describe(process.exitcode, trace))]
    finally:
        receiver.close()
        process.kill()
        process.join()
        process.close()


def _describe(code: int | None, trace: Path) -> str:
    where = trace.read_text(errors="replace")[:3000] if trace.exists() else ""
    if code == -signal.SIGPROF:
        return f"more than {SECONDS:g} s of processor time\n{where}"
    return f"the process died ({code})\n{where}"


def _serve(sender: Connection, functions: Sequence[Callable[[], Any]], trace: Path, memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with trace.open("w") as file:
        # What libraries print when they abort.
        os.dup2(file.fileno(), 2)
        faulthandler.enable(file)
        # subtle: chained to the default action, which ends the process even while it runs code that is not Python.
        faulthandler.register(signal.SIGPROF, file, all_threads=False, chain=True)
        for function in functions:
            before = _seconds()
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            result = function()
            signal.setitimer(signal.ITIMER_PROF, 0)
            peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            sender.send(Outcome(result, "", _seconds() - before, peak * 1024))


def _seconds() -> float:
    return sum(os.times()[:4])
