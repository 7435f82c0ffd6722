"""What surrounds a command: peers that misbehave, short deadlines, and places and programs that data must not reach."""

import json
import os
import random
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hostile.commands import GGUF, TEXTS, Command
from hostile.hostile_program import RIGHT, STARTS
from hostile.servers import SERVERS, Peers, serve
from hostile.values import flip
from support.in_process import InProcess
from tokverify.commands.tasks import corpus
from tokverify.references import command_process, hub, servers
from tokverify.sources.stores import remote_file, siblings
from tokverify.system import child_process, http_client

PROGRAM, CACHE = "program", "cache"
KINDS = (*SERVERS, PROGRAM)
SEED = ".seed"
"""The end of the name of a file that selects peers; it contains a seed."""

OUTSIDE, RAN = "outside", "ran"
"""A directory beside a repository that no file in it may lead to, and what a program that data starts would create."""

_SECONDS = 0.6
_ADDRESS = re.compile(rb"http://127\.0\.0\.1:\d+|ADDRESS")


@contextmanager
def surrounded(directory: Path) -> Iterator[Peers]:
    """Run the peers of a directory, and watch what commands in it must leave alone."""
    before = _forbidden(directory)
    with _peers(directory) as peers:
        _name_peers(directory, peers)
        _watch(directory.parent / OUTSIDE)
        del _opened[1:]
        find_problem = peers.find_problem

        def find_any_problem(command: Command, code: int) -> str:
            return find_problem(command, code) or _find_trace(directory, before, command)

        yield Peers(peers.names, find_any_problem)


@contextmanager
def _peers(directory: Path) -> Iterator[Peers]:
    seed = next((path for kind in KINDS if (path := directory / (kind + SEED)).exists()), None)
    if seed is None:
        yield Peers({}, lambda *_: "")
        return
    _shorten_deadlines()
    source = random.Random(seed.read_bytes())  # noqa: S311 - not for secrets
    if seed.stem == PROGRAM:
        yield _program(seed)
        return
    if seed.stem == CACHE:
        _damage_cache(source, directory / "cache")
    with serve(seed.stem, source, directory) as peers:
        yield peers


def _shorten_deadlines() -> None:
    """Let peers that never answer take a second instead of minutes, and a corpus no further process."""
    http_client.HttpClient.__init__.__kwdefaults__.update(seconds=_SECONDS, patience=2 * _SECONDS, first_pause=0.01)
    servers.load.__kwdefaults__.update(seconds=_SECONDS)
    command_process.Program.__init__.__kwdefaults__.update(seconds=2 * _SECONDS)
    command_process.START_SECONDS = 10.0
    command_process.MAX_FAILURES = 5
    http_client.MAX_WAIT = _SECONDS
    child_process._END_SECONDS = _SECONDS
    remote_file.MAX_SECONDS = siblings.MAX_SECONDS = hub.MAX_SECONDS = 10 * _SECONDS
    hub.MAX_BYTES = 1 << 24
    corpus.Processes = InProcess


def _program(seed: Path) -> Peers:
    right, starts = (seed.with_name(seed.name + end) for end in (RIGHT, STARTS))
    for path in (right, starts):
        path.unlink(missing_ok=True)
    words = [sys.executable, str(Path(__file__).with_name("hostile_program.py")), str(GGUF), str(seed)]

    def find_problem(command: Command, code: int) -> str:
        answered = right.read_text() if right.exists() else ""
        missing = [text for text in TEXTS if json.dumps(text) not in answered]
        if command[0] == "run" and code == 0 and missing:
            return f"exit code 0, but the program has never given the ids of {missing[0]!r}"
        return ""

    return Peers({"PROGRAM": f"command:{shlex.join(words)}"}, find_problem)


def _damage_cache(source: random.Random, cache: Path) -> None:
    for path in sorted(cache.rglob("*") if cache.exists() else ()):
        if path.is_file() and source.random() < 0.7:
            content = path.read_bytes()
            path.write_bytes(source.choice((flip(source, content), b"[" * 100_000, b"", b"{}", content[:-1])))


def _name_peers(directory: Path, peers: Peers) -> None:
    """Write the address of the server of this command into files that name it."""
    for path in (*directory.glob("*.toml"), *directory.glob("*/plan.json")):
        content = path.read_bytes()
        path.write_bytes(_ADDRESS.sub(peers.names.get("ADDRESS", "ADDRESS").encode(), content))


_opened: list[str] = []
"""The files outside of the repository that were opened; filled only in forks."""


def _watch(outside: Path) -> None:
    """Note which files in a directory Python opens."""
    if outside.exists() and not _opened:
        _opened.append("")

        def note(event: str, arguments: tuple[object, ...]) -> None:
            if event == "open" and isinstance(arguments[0], str) and f"/{OUTSIDE}/" in os.path.realpath(arguments[0]):
                _opened.append(arguments[0])

        sys.addaudithook(note)


def _forbidden(directory: Path) -> dict[Path, bytes]:
    """Return the content of all files that nothing may change, if the directory is a repository."""
    places = (directory / ".git", directory.parent / OUTSIDE)
    return {path: path.read_bytes() for place in places for path in sorted(place.rglob("*")) if path.is_file()}


def _find_trace(directory: Path, before: dict[Path, bytes], command: Command) -> str:
    opened = _opened[1:]
    after = _forbidden(directory)
    changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
    if changed:
        return f"wrote {changed[0]}"
    if (directory.parent / RAN).exists():
        return "started a program that data names"
    if opened and command[0] == "run" and "--allow-outside" not in command:
        return f"opened {opened[0]}"
    left = next(directory.rglob("*.tokverify.tmp"), None)
    return f"left {left}" if left else ""
