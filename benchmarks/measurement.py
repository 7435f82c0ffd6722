"""Measure tokenizers, each in a process of its own, in turns; stderr says why one cannot be measured."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ROUNDS = 2


@dataclass(frozen=True)
class Measurement:
    """Seconds per MB in the three states, and the sha256 of the ids; llama.cpp's ids are compared by the tests."""

    cold: float
    new: float
    warm: float
    ids: str | None

    def minimum(self, other: Measurement) -> Measurement:
        return Measurement(min(self.cold, other.cold), min(self.new, other.new), min(self.warm, other.warm), self.ids)

    def format(self, ours: Measurement) -> str:
        """Return MB/s in the three states; a star marks ids that differ from ours."""
        speeds = " / ".join(format_speed(1 / seconds) for seconds in (self.cold, self.new, self.warm))
        return speeds + ("" if self.ids in {None, ours.ids} else " *")


def format_speed(speed: float) -> str:
    return f"{speed:.0f}" if speed >= 10 else f"{speed:.1f}"


def measure(peer: str, python: str, name: str, path: Path, size: int) -> Measurement | None:
    """Measure a peer in a process of its own; None if that fails."""
    worker = Path(__file__).with_name("worker.py")
    command = [python, str(worker), peer, name, str(path.parent), str(path), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return Measurement(**json.loads(done.stdout))
    warn(f"{peer} cannot be measured with {name}: {last_error(done.stderr) or f'exit code {done.returncode}'}")
    return None


def last_error(traceback: str) -> str:
    """Return the exception at the end of a traceback, without details that are indented."""
    lines = [line for line in traceback.splitlines() if line and not line[0].isspace() and not line.endswith(":")]
    return lines[-1] if lines else ""


@cache
def warn(message: str) -> None:
    """Print a message once, even if it applies to several texts."""
    print(message, file=sys.stderr, flush=True)


def measure_in_turns(name: str, path: Path, peers: Mapping[str, str], size: int) -> dict[str, Measurement]:
    best: dict[str, Measurement] = {}
    for round in range(ROUNDS):
        for peer, python in peers.items():
            measured = measure(peer, python, name, path, size) if round == 0 or peer in best else None
            if measured is not None:
                best[peer] = measured.minimum(best.get(peer, measured))
    return best
