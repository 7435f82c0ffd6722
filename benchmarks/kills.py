"""Kill runs of `tokverify corpus` at random moments, resume them in other parts, and compare their reports.

    python benchmarks/corpus_data.py data/ --megabytes 100 --format jsonl
    python benchmarks/kills.py model.gguf other.gguf data/ --kills 50

Each run has another number of workers, and works on all of the corpus or on one of several parts (`--shard`). One of
its workers is killed, the command itself, or both. Whenever all units have a result, the report is compared byte for
byte with that of an undisturbed run, and the results are deleted. The exit code is 1 if a report differs.
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from os import kill
from pathlib import Path

_COMPARED = {0, 1}
"""The exit codes of a run that could read and compare everything."""

_MAX_WORKERS = 3
_MAX_SHARDS = 4


def list_children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    with suppress(OSError):
        return [int(child) for child in listed.read_text().split()]
    return []


def is_worker(pid: int) -> bool:
    """Check whether a process is a worker, and not one that only manages shared resources."""
    with suppress(OSError):
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


class Trial:
    """Kills runs of one comparison.

    Args:
        arguments: The model, the reference and the corpus.
        state: The directory for the results; it must not exist.
        seconds: The longest time until a kill.
        seed: Determines the moments and the parts.
    """

    def __init__(self, arguments: Sequence[str], state: Path, seconds: float, seed: int) -> None:
        self._arguments = [*arguments, "--text-column", "text", "-f", "json"]
        self._state = state
        self._seconds = seconds
        self._chance = random.Random(seed)  # noqa: S311 - not for cryptography
        self._quiet = self._report("-j", "2")
        self.kills: Counter[str] = Counter()
        self.compared = 0
        self.different = 0

    def disturb(self) -> None:
        """Start a run, kill one of its processes, and later all of them."""
        with subprocess.Popen(
            self._command(*self._choose_part(), "--state", str(self._state)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            self._wait()
            workers = [pid for pid in list_children(process.pid) if is_worker(pid)]
            if workers and self._chance.random() < 1 / 2:
                self._kill("worker", self._chance.choice(workers))
                self._wait()
            if process.poll() is None:
                self._kill("command", process.pid)
        self._compare_if_complete()

    def finish(self) -> None:
        """Resume what is left, and compare its report."""
        self._compare(self._report("-j", "2", "--state", str(self._state)))

    def _choose_part(self) -> list[str]:
        parts = self._chance.randint(1, _MAX_SHARDS)
        shard = ["--shard", f"{self._chance.randint(1, parts)}/{parts}"] if parts > 1 else []
        return ["-j", str(self._chance.randint(1, _MAX_WORKERS)), *shard]

    def _wait(self) -> None:
        time.sleep(self._chance.uniform(0, self._seconds))

    def _kill(self, kind: str, pid: int) -> None:
        with suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)
            self.kills[kind] += 1

    def _compare_if_complete(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "tokverify", "corpus", "merge", str(self._state), "-f", "json"],
            capture_output=True,
            check=False,
        )
        if done.returncode in _COMPARED:  # otherwise something is left to do
            self._compare(done.stdout)
            shutil.rmtree(self._state)

    def _compare(self, report: bytes) -> None:
        self.compared += 1
        self.different += report != self._quiet

    def _report(self, *options: str) -> bytes:
        done = subprocess.run(self._command(*options), stdout=subprocess.PIPE, check=False)
        if done.returncode not in _COMPARED:
            sys.exit(done.returncode)
        return done.stdout

    def _command(self, *options: str) -> list[str]:
        return [sys.executable, "-m", "tokverify", "corpus", *self._arguments, *options]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("reference")
    parser.add_argument("data")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=12, help="the longest time until a kill")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        arguments = [options.model, "-r", options.reference, options.data]
        trial = Trial(arguments, Path(folder) / "state", options.seconds, options.seed)
        while trial.kills.total() < options.kills:
            trial.disturb()
        trial.finish()
    kinds = ", ".join(f"{count} of a {kind}" for kind, count in sorted(trial.kills.items()))
    print(f"{trial.kills.total()} kills ({kinds}): {trial.compared} reports compared, {trial.different} differ")
    sys.exit(1 if trial.different else 0)


if __name__ == "__main__":
    main()
