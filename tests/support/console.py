"""Run the console sessions of the documentation, and update the output that they show.

All ```` ```console ```` blocks of a page are one session of one shell, in a directory that contains the files they need
from a checkout. `$ ` begins a command and `> ` continues it; the rest is output. A line `...` stands for any lines.

`PYTHONPATH=tests python tests/support/console.py docs/tutorial.md` rewrites the output of blocks that are out of date.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from support.paths import ROOT

NEEDED = ("tokverify/sample", "tests/data/sample_text.txt", "tests/data/make_families.py")

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", re.MULTILINE)
_MARK = "\x1e"
_CONTINUATION = re.compile("^> ", re.MULTILINE)
_ELISION = "...\n"
_ENGINE = re.compile(r"^engine +python .*\n", re.MULTILINE)
"""What reports show only if there is no native engine."""


@dataclass(frozen=True)
class Example:
    """A command and the output that the page shows for it."""

    command: str
    output: str


def examples(page: str) -> list[Example]:
    """Return the examples on a page, in order."""
    return [
        Example(_CONTINUATION.sub("", command), output)
        for block in _BLOCK.findall(page)
        for command, output in _EXAMPLE.findall(block)
    ]


def run(commands: list[str], directory: Path) -> list[str]:
    """Run commands in one shell, and return the output of each, including stderr."""
    for name in NEEDED:
        _copy(ROOT / name, directory / name)
    # A mark before each command separates the outputs and preserves `$?`.
    script = "".join(f"status=$?; printf '{_MARK}'; (exit $status)\n{command}" for command in commands)
    done = subprocess.run(
        [str(shutil.which("bash")), "-c", script],
        cwd=directory,
        env=_environment(directory),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return _ENGINE.sub("", done.stdout.decode("utf-8")).split(_MARK)[1:]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)


def _environment(directory: Path) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("TOKVERIFY", "COLUMNS", "GITHUB"))
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return kept | {"PATH": path, "HOME": str(directory), "HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1", "NO_COLOR": "1"}


def fits(shown: str, printed: str) -> bool:
    """Return whether an output equals the one on the page, in which `...` matches any lines."""
    pattern = "(?:.*\n)*".join(map(re.escape, re.split(rf"^{re.escape(_ELISION)}", shown, flags=re.MULTILINE)))
    return re.fullmatch(pattern, printed) is not None


def rewrite(page: str, printed: Iterator[str]) -> str:
    """Return a page with outdated outputs replaced."""

    def example(match: re.Match[str]) -> str:
        output = next(printed)
        return match[0] if fits(match[2], output) else f"$ {match[1]}{elide(match[2], output)}"

    return _BLOCK.sub(lambda block: f"```console\n{_EXAMPLE.sub(example, block[1])}```", page)


def elide(shown: str, printed: str) -> str:
    """Return `printed` with `...` in place of the lines that it replaces in `shown`."""
    old, new = shown.splitlines(keepends=True), printed.splitlines(keepends=True)
    result = []
    for _, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        changed = old[start:end]
        if _ELISION not in changed:
            result += new[new_start:new_end]
            continue
        before = changed.index(_ELISION)
        after = len(changed) - before - 1
        head_end = min(new_start + before, new_end)
        tail_start = max(head_end, new_end - after)
        result += [*new[new_start:head_end], _ELISION, *new[tail_start:new_end]]
    return "".join(result)


def main(path: Path) -> None:
    """Rewrite the page at `path`."""
    page = path.read_text("utf-8")
    with tempfile.TemporaryDirectory() as directory:
        printed = run([example.command for example in examples(page)], Path(directory))
    path.write_text(rewrite(page, iter(printed)), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
