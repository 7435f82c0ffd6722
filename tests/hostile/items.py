"""The files to test: generated in memory from a seed, then written to a directory of their own."""

import random
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from hostile.commands import GGUF, MODEL, SUITE, Command
from hostile.grammar import MAKERS
from hostile.surroundings import OUTSIDE
from hostile.values import flip
from support.gguf_maker import string
from tokverify.sources.gguf import keys
from tokverify.sources.gguf.patch import write_patched

_TEMPLATE = "{% for message in messages %}<s>{{ message.role }}\n{{ message.content }}</s>\n{% endfor %}"


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong with one command on one file."""

    name: str
    """The format and the number of the file."""
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


def generate(kind: str, seed: str, *, mutate: bool) -> dict[str, bytes]:
    """Make the files of one item; the same seed makes the same files."""
    # Numbers of thousands of digits are among the hostile values; commands run with the usual limit.
    sys.set_int_max_str_digits(0)
    source = random.Random(seed)  # noqa: S311 - not for secrets
    files = MAKERS[kind](source)
    if mutate:
        first = next(iter(files))
        files[first] = flip(source, files[first])
    return files


def write_item(directory: Path, name: str, kind: str, files: dict[str, bytes], engine: str) -> Item:
    """Write a file and what belongs beside it to a new directory."""
    place = directory / name
    place.mkdir(parents=True)
    (place / "cases.yml").write_text(SUITE)
    for file, content in files.items():
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_bytes(content)
    if kind == "toml":
        (place / ".git").mkdir()
        shutil.copy(GGUF, place)
        shutil.copy(MODEL, place)
    if kind in {"conversations", "server", "program"}:
        write_patched(GGUF, place / "chat.gguf", {keys.CHAT_TEMPLATE: string(_TEMPLATE)})
    if kind in {"repository", "state"}:
        _make_repository(place)
    return Item(name, kind, place / next(iter(files)), int(name.rpartition("-")[2]), engine)


def _make_repository(place: Path) -> None:
    """Complete a repository, and make what is outside of it."""
    repository, outside = place / "repository", place / OUTSIDE
    hooks = repository / ".git" / "hooks"
    for directory in (hooks, outside):
        directory.mkdir(parents=True)
    (hooks / "pre-commit").write_text("exit\n")
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in (repository, outside):
        (name / "cases.yml").write_text(SUITE)
        for file in (GGUF, MODEL):
            shutil.copy(file, name)
    (repository / "link").symlink_to(outside)
    (repository / "hooks").symlink_to(hooks)
