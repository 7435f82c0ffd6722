"""Measure whole commands on real files, in turn with the load of the reference that they need.

Run as `python benchmarks/commands.py DIRECTORY NAME ...` with the directory that `benchmarks/census.py DIRECTORY` has
filled. It prints a table in Markdown: seconds of processor time, the goal that follows from the load, and the most
memory. With `--answers` before the directory, the commands are those that answer one question each, about one file or,
with that of the next name, a pair.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import write_gguf
from tokverify.spec import TokenType

_LOAD = "import sys, tokenizers; tokenizers.Tokenizer.from_file(sys.argv[1]).encode('a')"
_TOKVERIFY = (sys.executable, "-m", "tokverify")
# An installed program is compiled only once.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Cost(NamedTuple):
    """What a process took."""

    seconds: float
    """Processor time."""
    megabytes: float
    """The most memory at a time."""


class Task(NamedTuple):
    """A command, and the goal for its processor time, given the load of the reference in seconds."""

    name: str
    command: Sequence[str | Path]
    goal: Callable[[float], float]


def measure(command: Sequence[str | Path]) -> Cost:
    """Run a command, whatever it finds."""
    process = subprocess.Popen(
        list(map(str, command)), env=_ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, usage = os.wait4(process.pid, 0)
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Cost(usage.ru_utime + usage.ru_stime, kilobytes / 1024)


def write_broken(right: Path, broken: Path) -> None:
    """Write the file with its first twenty user-defined or control tokens typed NORMAL, as conversion scripts do."""
    spec = read_spec(right)
    types = list(spec.types or [TokenType.NORMAL.value] * len(spec.tokens))
    matched = [id for id, type in enumerate(types) if type in {TokenType.USER_DEFINED.value, TokenType.CONTROL.value}]
    for id in matched[:20]:
        types[id] = TokenType.NORMAL.value
    write_gguf(broken, replace(spec, types=types))


def tasks(folder: Path, made: Path) -> Iterator[Task]:
    """Yield what is measured of one tokenizer; files are written to the directory `made`."""
    right, reference = folder / f"{folder.name}.gguf", folder / "tokenizer.json"
    broken = made / f"{folder.name}-broken.gguf"
    write_broken(right, broken)
    run = (*_TOKVERIFY, "run")
    yield Task("run", (*run, right, "-r", reference), lambda load: 1.25 * load)
    yield Task("run --no-reference", (*run, right, "--no-reference"), lambda load: 1.5 * load)
    yield Task("run, broken", (*run, broken, "-r", reference), lambda load: 2 * load + 1)
    yield Task("audit", (*_TOKVERIFY, "audit", right, "-r", reference), lambda load: 1.5 * load)
    converted = made / f"{folder.name}-converted.gguf"
    yield Task("convert", (*_TOKVERIFY, "convert", reference, "-o", converted), lambda load: 3 * load + 1)
    fixed = made / f"{folder.name}-fixed.gguf"
    yield Task("fix, broken", (*_TOKVERIFY, "fix", broken, "-r", reference, "-o", fixed), lambda load: 3 * load + 5)


_USES = ("speculative", "adapter", "embedding", "grammar")


def answers(folder: Path, other: Path, made: Path) -> Iterator[Task]:
    """Yield the commands that shall answer within two seconds, and the load of the reference where they need one."""
    model, reference = folder / f"{folder.name}.gguf", folder / "tokenizer.json"
    content, certificate = made / "mail.txt", made / f"{folder.name}.certificate.json"
    content.write_text("Please sum up this mail:\n<|im_end|>\n")
    diff = (*_TOKVERIFY, "diff", model, other / f"{other.name}.gguf")
    for use in _USES:
        yield Task(f"diff {other.name} --for {use}", (*diff, "--for", use), lambda _: 2)
    if read_spec(model).templates:
        yield Task("chat", (*_TOKVERIFY, "chat", model), lambda _: 2)
        yield Task("chat --content", (*_TOKVERIFY, "chat", model, "--content", content), lambda _: 2)
    yield Task("run --streaming", (*_TOKVERIFY, "run", model, "--streaming"), lambda _: 2)
    yield Task("inspect", (*_TOKVERIFY, "inspect", model), lambda _: 2)
    certify = (*_TOKVERIFY, "run", model, "-r", reference, "--certificate", certificate)
    yield Task("run --certificate", certify, lambda load: 2 + load)
    yield Task("report verify", (*_TOKVERIFY, "report", "verify", certificate, model), lambda _: 2)


def main() -> None:
    is_answers = sys.argv[1] == "--answers"
    directory, *names = sys.argv[1 + is_answers :]
    folders = [Path(directory, name) for name in names]
    print("| tokenizer | command | seconds | load | goal | MB |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as made:
        for folder, other in zip(folders, [*folders[1:], folders[0]], strict=True):
            for task in answers(folder, other, Path(made)) if is_answers else tasks(folder, Path(made)):
                load = measure([sys.executable, "-c", _LOAD, folder / "tokenizer.json"])
                cost = measure(task.command)
                goal = task.goal(load.seconds)
                mark = "" if cost.seconds <= goal else " (missed)"
                row = (folder.name, task.name, f"{cost.seconds:.1f}{mark}", f"{load.seconds:.1f}", f"{goal:.1f}")
                print(f"| {' | '.join(row)} | {cost.megabytes:.0f} |", flush=True)


if __name__ == "__main__":
    main()
