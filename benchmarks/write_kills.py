"""Kill every command that writes files at random moments, and look at what it leaves.

    python benchmarks/write_kills.py --kills 20

After each kill, every file is as it was or as the undisturbed command writes it, and nothing is left besides temporary
files, which a later run removes. The same command then has to end as usual. The exit code is 1 if not.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tokverify.system.output_file import SUFFIX

SAMPLE = Path(__file__).parents[1] / "tokverify" / "sample"
_SUITE = "suite: s\ncases:\n  - {id: a, text: 'the  best <s> 12'}\n  - {id: b, text: 'a'}\n"
_CORPUS = "".join(f'{{"text": "the best of {number} texts"}}\n' for number in range(300))
_MODEL, _BROKEN, _REFERENCE = "sample.gguf", "sample-broken.gguf", "sample.tokenizer.model"
_COMPARE = ("-r", _REFERENCE, "--cases", "cases.yml")
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "convert": ("convert", _REFERENCE, "-o", "new.gguf"),
    "fix": ("fix", _BROKEN, *_COMPARE, "-o", "fixed.gguf"),
    "train": ("train", "bpe", "data.jsonl", "--vocab-size", "300", "-o", "trained"),
    "run": ("run", _BROKEN, *_COMPARE, "--report", "json=a.json", "--report", "html=a.html", "-o", "a.md"),
    "run --accept": ("run", _BROKEN, *_COMPARE, "--baseline", "known.yaml", "--accept", "--reason", "x"),
    "run --certificate": ("run", _MODEL, *_COMPARE, "--certificate", "proof.json"),
    "check": ("check", _MODEL, *_COMPARE, "-o", "check.html"),
    "diff": ("diff", _BROKEN, _MODEL, "--cases", "cases.yml", "-o", "diff.json"),
    "fuzz": (
        "fuzz",
        _BROKEN,
        "-r",
        _REFERENCE,
        "--texts",
        "50",
        "--no-replay",
        "--save",
        "found.yaml",
        "-o",
        "fuzz.json",
    ),
    "cases record": ("cases", "record", _MODEL, *_COMPARE),
    "init": ("init",),
    "corpus": ("corpus", "verify", _MODEL, "data.jsonl", "-r", _REFERENCE, "--state", "state", "--distill", "d.yaml"),
}
"""The commands, by name; each writes files into its working directory."""

_VARYING = re.compile(rb'"(?:seconds|duration|created|time|timestamp|version)": ?"?[^",}]*|\d{4}-\d\d-\d\dT[\d:.+Z-]*')
"""What differs from one undisturbed run to the next."""


class Trial:
    """Kills one command.

    Args:
        command: The command and its arguments.
        directory: A directory for its files.
    """

    def __init__(self, command: tuple[str, ...], directory: Path) -> None:
        self._command = [sys.executable, "-m", "tokverify", *command]
        self._directory = directory
        self._before = self._start_anew()
        start = time.monotonic()
        self._code = self._run()
        self._seconds = time.monotonic() - start
        self._after = _content(directory)

    def kill(self, moment: float) -> list[str]:
        """Kill the command after a share of the time that it takes; return what is wrong then, and after a rerun."""
        self._start_anew()
        with subprocess.Popen(
            self._command, cwd=self._directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(moment * self._seconds)
            process.kill()
        problems = [f"{path} is incomplete" for path in self._incomplete()]
        code = self._run()
        # A command that had ended before the kill finds its own result.
        if code not in {self._code, 0, 1, 2}:
            problems.append(f"then exit code {code}")
        return problems + [f"{path} is incomplete after a rerun" for path in self._incomplete()]

    def _incomplete(self) -> list[str]:
        found = _content(self._directory)
        return [
            path
            for path, content in found.items()
            if content not in {self._before.get(path), self._after.get(path)} and not _is_of_state(path, self._after)
        ]

    def _start_anew(self) -> dict[str, bytes]:
        shutil.rmtree(self._directory, ignore_errors=True)
        self._directory.mkdir()
        (self._directory / ".git").mkdir()
        for file in SAMPLE.iterdir():
            shutil.copy(file, self._directory)
        (self._directory / "cases.yml").write_text(_SUITE)
        (self._directory / "data.jsonl").write_text(_CORPUS)
        return _content(self._directory)

    def _run(self) -> int:
        done = subprocess.run(self._command, cwd=self._directory, capture_output=True, check=False)
        return done.returncode


def _content(directory: Path) -> dict[str, bytes]:
    """Return the content of all files but temporary ones, without what varies."""
    paths = [path for path in sorted(directory.rglob("*")) if path.is_file() and SUFFIX not in str(path)]
    return {str(path.relative_to(directory)): _VARYING.sub(b"", path.read_bytes()) for path in paths}


def _is_of_state(path: str, after: Mapping[str, bytes]) -> bool:
    """Whether a file belongs to a state: its plan names the version of the data, and `kills.py` tries such runs."""
    return path.startswith("state/") and "state/plan.json" in after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="how often to kill each command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=list(COMMANDS))
    options = parser.parse_args()
    chance = random.Random(options.seed)  # noqa: S311 - not for cryptography
    failures = 0
    for name in options.only or COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(COMMANDS[name], Path(folder) / "work")
            problems = [problem for _ in range(options.kills) for problem in trial.kill(chance.uniform(0.2, 1.1))]
        failures += len(problems)
        print(f"{name}: {options.kills} kills, {len(problems)} problems {sorted(set(problems))}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
