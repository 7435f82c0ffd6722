"""Measure the in-house encoder against its peers, as ratios within one run: `python benchmarks/encoders.py --help`.

Absolute numbers depend on the machine and its load; the ratios are what counts. `cold` is the first text after a
tokenizer was loaded. `new` is the second half of a text after the first half, when common words are already cached.
`warm` is the same text again, when all caches (ours and theirs) are full. All times are CPU times.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

import checkout  # noqa: F401
from peer import OURS, PEERS, Load
from vocabulary import REAL, REWRITTEN, VOCABS, reference_of

from support.real_data import SHARED

ROUNDS = 3
PATIENCE = 20.0
"""Seconds; a tokenizer that takes longer than this for a text is measured only once."""


@dataclass(frozen=True)
class Seconds:
    """Seconds per MB; infinite until measured."""

    cold: float = float("inf")
    new: float = float("inf")
    warm: float = float("inf")

    def minimum(self, other: Seconds) -> Seconds:
        return Seconds(min(self.cold, other.cold), min(self.new, other.new), min(self.warm, other.warm))

    def over(self, other: Seconds) -> str:
        ratios = (self.cold / other.cold, self.new / other.new, self.warm / other.warm)
        return " / ".join(map(format_ratio, ratios))


def format_ratio(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"


def texts() -> dict[str, str]:
    library = Path(sysconfig.get_path("stdlib"))
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(library.glob("*.py")))
    corpus = {path.stem: path.read_text(encoding="utf-8") for path in sorted((SHARED / "corpus").glob("*.txt"))}
    return corpus | {"code": code[:700_000]}


def measure(load: Load, name: str, folder: Path, text: str) -> Seconds:
    """Load a tokenizer twice: for the whole text, and for its two halves."""
    middle = text.rfind("\n", 0, len(text) // 2) + 1
    tokenizer = load(name, folder)
    cold = tokenizer.seconds(text)
    if cold > PATIENCE:
        tokenizer.close()
        return Seconds(*[cold / megabytes(text)] * 3)
    warm = min(tokenizer.seconds(text) for _ in range(2))
    tokenizer.close()
    tokenizer = load(name, folder)
    tokenizer.seconds(text[:middle])
    new = tokenizer.seconds(text[middle:])
    tokenizer.close()
    return Seconds(cold / megabytes(text), new / megabytes(text[middle:]), warm / megabytes(text))


def megabytes(text: str) -> float:
    return len(text.encode()) / 1e6


def measure_in_turns(name: str, text: str, folder: Path, peers: list[str]) -> dict[str, Seconds]:
    """Measure our encoder and its peers in turns, so that a busy machine slows all of them, and keep the minimum."""
    loads = {"tokverify": OURS, **{peer: PEERS[peer] for peer in peers}}
    best: dict[str, Seconds] = {}
    for _ in range(ROUNDS):
        for peer, load in list(loads.items()):
            try:
                seconds = measure(load, name, folder, text)
            except (ImportError, OSError, RuntimeError) as error:
                print(f"{name}: {peer} is not available ({type(error).__name__})", file=sys.stderr)
                del loads[peer]
                continue
            best[peer] = seconds.minimum(best.get(peer, Seconds()))
            if seconds.cold * megabytes(text) > PATIENCE:
                del loads[peer]
    return best


def speed_table(names: list[str], peers: list[str], kinds: list[str]) -> None:
    print(f"| vocabulary | text | MB/s | {' | '.join(peers)} |")
    print(f"|---|---|---|{'---|' * len(peers)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for kind, text in texts().items():
                if kind not in kinds:
                    continue
                best = measure_in_turns(name, text, Path(folder), peers)
                ours = best["tokverify"]
                speed = f"{1 / ours.cold:.1f} / {1 / ours.new:.1f} / {1 / ours.warm:.1f}"
                ratios = [best[peer].over(ours) if peer in best else "" for peer in peers]
                print(f"| {name} | {kind} | {speed} | {' | '.join(ratios)} |", flush=True)


def scaling_table(names: list[str]) -> None:
    """Print the time per MB at 8 MB divided by that at 1 MB, for normal text, one long line, and one letter."""
    english = texts()["en"]
    units = {"en": english, "one line": "".join(english.split()), "one letter": "a"}
    print("| vocabulary | text | s/MB at 8 MB / s/MB at 1 MB |\n|---|---|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for kind, unit in units.items():
                per_megabyte = []
                for size in (1_000_000, 8_000_000):
                    text = (unit * (size // len(unit) + 1))[:size]
                    per_megabyte.append(min(OURS(name, Path(folder)).seconds(text) for _ in range(2)) / size)
                print(f"| {name} | {kind} | {per_megabyte[1] / per_megabyte[0]:.2f} |", flush=True)


def run_table(names: list[str]) -> None:
    """Print the time of a whole `tokverify run` divided by that of loading the reference's tokenizer.json."""
    print("| vocabulary | `tokverify run` / loading tokenizer.json |\n|---|--:|")
    for name in names:
        gguf, reference = VOCABS / f"{name}.gguf", str(reference_of(name, "tokenizer.json"))
        load = [sys.executable, "-c", f"from tokenizers import Tokenizer; Tokenizer.from_file({reference!r})"]
        run = [sys.executable, "-m", "tokverify", "run", str(gguf), "-r", reference]
        times = [min(process_seconds(command) for _ in range(ROUNDS)) for command in (run, load)]
        print(f"| {name} | {times[0] / times[1]:.2f} |", flush=True)


def process_seconds(command: list[str]) -> float:
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["speed", "scaling", "run"])
    parser.add_argument("names", nargs="*", help=f"vocabularies: {', '.join([*REAL, *REWRITTEN])}")
    parser.add_argument("--peer", action="append", choices=list(PEERS), help="compare only with this peer; repeatable")
    parser.add_argument("--text", action="append", choices=list(texts()), help="use only this text; repeatable")
    arguments = parser.parse_args()
    if unknown := {*arguments.names} - {*REAL, *REWRITTEN}:
        parser.error(f"unknown vocabulary: {', '.join(sorted(unknown))}")
    if arguments.table == "speed":
        names = arguments.names or [*REAL, *REWRITTEN]
        speed_table(names, arguments.peer or list(PEERS), arguments.text or list(texts()))
    else:
        tables = {"scaling": scaling_table, "run": run_table}
        tables[arguments.table](arguments.names or ["gpt-2", "llama-spm", "gemma-3"])


if __name__ == "__main__":
    main()
