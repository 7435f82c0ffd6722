"""Run the commands of a checkout, and store what each prints and writes, without what changes from run to run."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from oracles.commands import Command, Entry, list_entries
from oracles.execution import environment
from support.real_data import SHARED

PROCESSES = 2
TIME_LIMIT = 300.0
"""The seconds after which a command is killed."""

_CHANGING = [
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r'("(?:seconds|cpu_seconds|duration|elapsed)": ?)[\d.e+-]+'), r"\g<1><duration>"),
    (re.compile(r'(<test[^>]* time=")[\d.]+'), r"\g<1><duration>"),
    (re.compile(r"\b[\d.,]+ \w?B(?= of text per second)"), "<rate>"),
    (re.compile(r"file://\S*(?=/docs/index\.md)"), "file://<checkout>"),
]
"""What differs between two runs of the same command, and what it is replaced by."""


def normalize(text: str, paths: Mapping[str, str], version: str) -> str:
    """Replace paths, the version of tokverify, times and durations."""
    for path in sorted(paths, key=len, reverse=True):
        text = text.replace(path, paths[path])
    if version:
        text = re.sub(rf"(?<![\w.]){re.escape(version)}(?![\w.]*\w)", "<version>", text)
    for pattern, replacement in _CHANGING:
        text = pattern.sub(replacement, text)
    return text


def record(checkout: Path, inputs: Path, target: Path, pattern: str = "") -> int:
    """Record the commands whose names match a pattern, each in a file named after it; return their number."""
    checkout = checkout.resolve()
    version = _version(checkout)
    entries = [entry for entry in list_entries(inputs) if re.search(pattern, entry.name)]
    target.mkdir(parents=True)
    with ThreadPoolExecutor(PROCESSES) as pool:
        recorded = pool.map(partial(_record_entry, checkout, inputs, version), entries)
        for entry, text in zip(entries, recorded, strict=True):
            path = target / f"{entry.name}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
    return len(entries)


def _version(checkout: Path) -> str:
    """Return the version of a checkout, and make sure that Python runs its package and no installed one."""
    program = "import tokverify, tokverify.version; print(tokverify.__file__); print(tokverify.version.__version__)"
    command = [sys.executable, "-c", program]
    variables = environment(checkout, Path(tempfile.gettempdir()))
    done = subprocess.run(command, cwd="/", env=variables, capture_output=True, text=True, check=False)
    if done.returncode or not Path(done.stdout.splitlines()[0]).is_relative_to(checkout):
        sys.exit(f"error: {checkout} contains no package tokverify that can be imported: {done.stdout}{done.stderr}")
    return done.stdout.splitlines()[1]


def _record_entry(checkout: Path, inputs: Path, version: str, entry: Entry) -> str:
    # All names of temporary directories have the same length, and so all lines are wrapped in the same way.
    with tempfile.TemporaryDirectory(prefix="oracle-") as name:
        home = Path(name).resolve()
        work = home / "work"
        shutil.copytree(inputs, work, symlinks=True)
        variables = environment(checkout, home) | entry.variables
        parts = [part for command in entry.commands for part in _run(command, work, variables)]
        parts += _read_written(work, entry)
        paths = {str(work): "<work>", str(home): "<home>", str(checkout): "<checkout>", str(SHARED): "<shared>"}
        paths[str(SHARED.resolve())] = "<shared>"
        return normalize("\n".join(parts), paths, version)


def _run(command: Command, work: Path, variables: Mapping[str, str]) -> Iterator[str]:
    program = command[1:] if command[0] == "!" else (sys.executable, "-m", "tokverify", *command)
    try:
        done = subprocess.run(
            program,
            cwd=work,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        yield f"$ {shlex.join(command)}\nstopped after {TIME_LIMIT:.0f} s"
        return
    yield f"$ {shlex.join(command)}\nexit code {done.returncode}"
    yield from (f"--- {name}\n{_text(data)}" for name, data in (("stdout", done.stdout), ("stderr", done.stderr)))


def _read_written(work: Path, entry: Entry) -> Iterator[str]:
    for patterns, read in ((entry.written, _text), (entry.digests, _digest)):
        for path in sorted({path for pattern in patterns for path in work.glob(pattern)}):
            yield f"--- {path.relative_to(work)}\n{read(path.read_bytes())}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="backslashreplace")


def _digest(data: bytes) -> str:
    return f"{len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}"


def copy_native_engine(source: Path, target: Path) -> None:
    """Copy the compiled module of a checkout to the same place in another one."""
    for path in (source / "tokverify").rglob("_native*.so"):
        copy = target / path.relative_to(source)
        if copy.parent.is_dir():
            shutil.copy2(path, copy)


def add_worktree(repository: Path, revision: str, target: Path) -> None:
    """Check out a revision into a new directory, without a branch."""
    command = ["git", "-C", str(repository), "worktree", "add", "--quiet", "--detach", str(target), revision]
    done = subprocess.run(command, env=_git_environment(), check=False)
    if done.returncode:
        sys.exit(f"error: cannot check out the revision {revision}")


def remove_worktree(repository: Path, target: Path) -> None:
    command = ["git", "-C", str(repository), "worktree", "remove", "--force", str(target)]
    subprocess.run(command, env=_git_environment(), check=False)


def _git_environment() -> dict[str, str]:
    """Return the environment without what a hook of git sets, which would select another repository."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
