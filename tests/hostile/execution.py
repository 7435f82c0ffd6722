"""Run commands on generated files in child processes with limits, many files in each, with both engines in turn."""

import contextlib
import io
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from support.paths import SAMPLE
from tokverify.engine.engine_choice import VARIABLE as ENGINE_VARIABLE

SECONDS = 10.0
SEARCHING_SECONDS = 60.0
"""For `fix`, which searches for repairs with a budget of its own, and checks each on many texts."""
WAITING_SECONDS = 1800.0
"""For a child that sleeps; otherwise processor time decides, since the machine may be busy."""
MEMORY = 2 << 30
STARTING_SECONDS = 120.0

GGUF, MODEL = SAMPLE / "sample.gguf", SAMPLE / "sample.tokenizer.model"
SUITE = "suite: s\ncases:\n  - {id: a, text: 'the  best <s> 12 é 🦙'}\n  - {id: b, text: 'a'}\n"

Command = tuple[str, ...]


def commands(kind: str, path: Path, turn: int) -> list[Command]:
    """Return the five commands to run on a file of a format; those of GGUF files change from turn to turn."""
    file, suite = str(path), str(path.parent / "cases.yml")
    sample, model = str(GGUF), str(MODEL)
    as_model: list[Command] = [
        ("encode", file, "the  best <s> 12 é"),
        ("run", file, "-r", model, "--cases", suite),
        ("audit", file, "-r", model),
        ("inspect", file),
    ]
    as_reference: list[Command] = [("run", sample, "-r", file, "--cases", suite), ("audit", sample, "-r", file)]
    return {
        "gguf": [*as_model, _rotate(file, turn)],
        "tokenizer.json": [*as_model[:2], *as_reference, ("convert", file, "-o", file + ".gguf")],
        "sentencepiece": [*as_model[:2], *as_reference, ("convert", file, "-o", file + ".gguf")],
        "tiktoken": [
            ("encode", f"{file}:llama3", "the  best"),
            ("run", f"{file}:gpt2", "-r", f"{file}:gpt2", "--cases", suite),
            ("run", sample, "-r", f"{file}:qwen", "--cases", suite),
            ("audit", sample, "-r", f"{file}:(a|b)+|."),
            ("convert", f"{file}:gpt2", "-o", file + ".gguf"),
        ],
        "tekken": [
            *as_reference,
            ("diff", sample, file, "--cases", suite),
            ("encode", file, "a"),
            ("stats", sample, file),
        ],
        "toml": [("run",), ("run", "--allow-outside", "-q"), ("run", "-f", "json"), ("run", "-j", "2"), ("init",)],
        "suite": [
            ("run", sample, "-r", model, "--cases", file),
            ("cases", "check", file),
            ("cases", "list", file),
            ("run", sample, "-r", "expect", "--cases", file),
            ("cases", "record", sample, "-r", "rebuilt", "--cases", file),
        ],
        "baseline": [
            ("run", sample, "-r", model, "--cases", suite, "--baseline", file),
            ("run", sample, "-r", model, "--cases", suite, "--baseline", file, "-f", "junit"),
            ("run", sample, "-r", "rebuilt", "--cases", suite, "--baseline", file, "-f", "sarif"),
            ("run", sample, "--baseline", file, "--update-baseline", "--reason", "x", "--cases", suite),
            ("report", "show", file),
        ],
        "waivers": [
            ("audit", sample, "--waivers", file),
            ("audit", sample, "-r", model, "--waivers", file, "-f", "json"),
            ("audit", sample, "--waivers", file, "-f", "markdown"),
            ("audit", sample, "--waivers", file, "-f", "sarif"),
            ("chat", sample, "--conversations", file),
        ],
        "report": [
            ("report", "show", file),
            ("report", "show", file, "-f", "markdown"),
            ("report", "show", file, "-f", "html"),
            ("report", "diff", file, file),
            ("report", "show", file, "-f", "junit"),
        ],
    }[kind]


def _rotate(file: str, turn: int) -> Command:
    """Return a command that takes longer, so that it runs on only some of the files."""
    model, suite = str(MODEL), str(Path(file).parent / "cases.yml")
    rotated: list[Command] = [
        ("fix", file, "-r", model, "--cases", suite, "-o", file + ".fixed"),
        ("explain", file, "-r", model, "the  best <s> 12 é", "--steps"),
        ("stats", file, suite),
        ("decode", file, "0", "1", "5", "259", "300", "65535"),
        ("diff", file, str(GGUF), "--cases", suite),
        ("chat", file),
        ("fuzz", file, "-r", model, "--texts", "30"),
        ("stream", file, "--cases", suite),
        ("learn", "-r", file, "-o", file + ".learned.gguf", "--texts", "30"),
    ]
    return rotated[turn % len(rotated)]


@cache
def make_reports() -> list[str]:
    """Make one real report of each kind, as JSON."""
    with tempfile.TemporaryDirectory() as name:
        suite = Path(name, "suite.yaml")
        suite.write_text(SUITE)
        broken = str(SAMPLE / "sample-broken.gguf")
        made = (
            ("run", broken, "-r", str(MODEL), "--cases", str(suite)),
            ("audit", broken, "-r", str(MODEL)),
            ("diff", broken, str(GGUF), "--cases", str(suite)),
            ("stats", broken),
            ("fuzz", broken, "-r", str(MODEL), "--texts", "20"),
        )
        return [_run([*command, "-f", "json"])[1] for command in made]


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong with one command on one file."""

    name: str
    """The number and the format of the file."""
    command: Command
    problem: str


@dataclass(frozen=True, slots=True)
class Item:
    """A file to test; `path` is in a directory of its own."""

    name: str
    kind: str
    path: Path
    turn: int
    """The number of the file, which selects one of the commands."""
    engine: str
    """The engine to run the commands with, as in `TOKVERIFY_ENGINE`."""


def run_items(items: Iterable[Item]) -> Iterator[Failure]:
    """Run all commands on all files, in a child process that is replaced if it dies or takes too long."""
    child: _Child | None = None
    try:
        for item in items:
            for command in commands(item.kind, item.path, item.turn):
                child = child or _Child()
                problem = child.run(item, command)
                if problem:
                    yield Failure(item.name, command, problem)
                    child.end()
                    child = None
            shutil.rmtree(item.path.parent)
    finally:
        if child:
            child.end()


class _Child:
    """A process that runs one command after the other, with a limit for its memory."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("forkserver")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,))
        self._process.start()
        other.close()
        assert self._connection.poll(STARTING_SECONDS)
        assert self._connection.recv() == "ready"

    def run(self, item: Item, command: Command) -> str:
        """Run a command; return what is wrong, or an empty string."""
        try:
            self._connection.send((str(item.path.parent), item.engine, command))
            if not self._connection.poll(WAITING_SECONDS):
                return f"no end after {WAITING_SECONDS:g} s"
            answer: str = self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join(5)
            return f"the process died ({self._process.exitcode})"
        return answer

    def end(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.kill()
        self._process.join()


def _serve(connection: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.stderr = io.StringIO()
    connection.send("ready")
    with contextlib.suppress(EOFError):
        while True:
            directory, os.environ[ENGINE_VARIABLE], command = connection.recv()
            os.chdir(directory)
            seconds = SEARCHING_SECONDS if command[0] == "fix" else SECONDS
            signal.setitimer(signal.ITIMER_PROF, seconds)
            signal.signal(signal.SIGPROF, _stop)
            try:
                problem = _judge(command)
            except _TooSlowError:
                problem = f"more than {seconds:g} s of processor time"
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            connection.send(problem)


class _TooSlowError(BaseException):
    pass


def _stop(_: int, frame: Any) -> None:
    raise _TooSlowError("".join(traceback.format_stack(frame)[-3:]))


def _judge(command: Sequence[str]) -> str:
    code, output, error = _run(command)
    if code in {0, 1, 2}:
        if code == 2 and not (error + output).strip():
            return "exit code 2 without a message"
        lines = [line for line in error.splitlines() if len(line) > 5000]
        return f"a line of {len(lines[0]):,} characters on stderr" if lines else ""
    return f"exit code {code}: {error[-1500:]}{output[-200:]}"


def _run(command: Sequence[str]) -> tuple[int, str, str]:
    from click.testing import CliRunner

    from tokverify.cli import main

    result = CliRunner().invoke(main, list(command))
    if result.exception and not isinstance(result.exception, SystemExit):
        return 3, "", "".join(traceback.format_exception(result.exception))
    return result.exit_code, result.stdout, result.stderr


def write_item(directory: Path, name: str, kind: str, files: dict[str, bytes], engine: str) -> Item:
    """Write a file and what belongs beside it to a new directory."""
    place = directory / name
    place.mkdir(parents=True)
    (place / "cases.yml").write_text(SUITE)
    for file, content in files.items():
        (place / file).write_bytes(content)
    if kind == "toml":
        (place / ".git").mkdir()
        shutil.copy(GGUF, place)
        shutil.copy(MODEL, place)
    return Item(name, kind, place / next(iter(files)), int(name.rpartition("-")[2]), engine)


def generate(kind: str, seed: str, *, mutate: bool) -> dict[str, bytes]:
    """Make the files of one item; the same seed makes the same files."""
    from hostile.grammar import MAKERS
    from hostile.values import flip

    source = random.Random(seed)  # noqa: S311 - not for secrets
    files = MAKERS[kind](source)
    if mutate:
        first = next(iter(files))
        files[first] = flip(source, files[first])
    return files
