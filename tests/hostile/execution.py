"""Run commands as a user would, and judge how they end."""

import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from hostile.commands import BROKEN, GGUF, MODEL, SUITE, Command
from hostile.servers import KEY
from hostile.surroundings import surrounded
from tokverify.engine.engine_choice import VARIABLE as ENGINE_VARIABLE


def run_command(command: Command, directory: Path, engine: str) -> tuple[int, str]:
    """Run a command in a directory; return its exit code and what is wrong with how it ends, or an empty string."""
    os.environ[ENGINE_VARIABLE] = engine
    os.chdir(directory)
    sys.set_int_max_str_digits(sys.int_info.default_max_str_digits)
    os.environ |= {"TOKVERIFY_API_KEY": KEY, "TOKVERIFY_CACHE": str(directory / "cache")}
    with surrounded(directory) as peers:
        code, output, error = _run([_complete(word, peers.names) for word in command])
        return code, _judge(code, output, error) or peers.find_problem(command, code)


def _complete(word: str, names: Mapping[str, str]) -> str:
    """Name peers as they are called now."""
    for name, meaning in names.items():
        word = word.replace(name, meaning)
    return word


def _judge(code: int, output: str, error: str) -> str:
    if code not in {0, 1, 2}:
        return f"exit code {code}: {error[-1500:]}{output[-200:]}"
    if code == 2 and not (error + output).strip():
        return "exit code 2 without a message"
    if "out of memory" in error:
        return f"needs more memory than the limit: {error[-300:]}"
    lines = [line for line in error.splitlines() if len(line) > 5000]
    return f"a line of {len(lines[0]):,} characters on stderr" if lines else ""


def _run(command: Sequence[str]) -> tuple[int, str, str]:
    from click.testing import CliRunner

    from tokverify.commands.cli import main

    result = CliRunner().invoke(main, list(command))
    if result.exception and not isinstance(result.exception, SystemExit):
        return 3, "", "".join(traceback.format_exception(result.exception))
    return result.exit_code, result.stdout, result.stderr


@cache
def make_baseline() -> str:
    """Make a real baseline, as JSON."""
    with tempfile.TemporaryDirectory() as name:
        suite, file = Path(name, "suite.yaml"), Path(name, "known.json")
        suite.write_text(SUITE)
        update = ("--baseline", str(file), "--accept", "--reason", "r")
        _run(["run", str(BROKEN), "-r", str(MODEL), "--cases", str(suite), *update])
        return file.read_text("utf-8")


@cache
def make_state() -> dict[str, bytes]:
    """Make what a run of a corpus keeps: names and contents of files, of which the data come first."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for file in (GGUF, MODEL):
            shutil.copy(file, place)
        (place / "data.jsonl").write_text('{"text": "the  best"}\n{"text": "a"}\n')
        here = Path.cwd()
        os.chdir(place)
        _run(["corpus", "verify", GGUF.name, "data.jsonl", "-r", MODEL.name, "--state", "state", "-j", "1"])
        os.chdir(here)
        files = [place / "data.jsonl", *sorted(path for path in (place / "state").rglob("*") if path.is_file())]
        return {str(path.relative_to(place)): path.read_bytes() for path in files}


@cache
def make_reports() -> list[str]:
    """Make one real report of each kind, as JSON."""
    with tempfile.TemporaryDirectory() as name:
        suite = Path(name, "suite.yaml")
        suite.write_text(SUITE)
        broken = str(BROKEN)
        made = (
            ("run", broken, "-r", str(MODEL), "--cases", str(suite)),
            ("audit", broken, "-r", str(MODEL)),
            ("diff", broken, str(GGUF), "--cases", str(suite)),
            ("stats", broken),
            ("fuzz", broken, "-r", str(MODEL), "--texts", "20"),
        )
        return [_run([*command, "-f", "json"])[1] for command in made]
