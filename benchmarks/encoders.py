"""Measure the in-house encoder against its peers, as ratios within one run: `python benchmarks/encoders.py --help`.

Absolute numbers depend on the machine and its load; the ratios are what counts. `cold` is the first half of a text
right after a tokenizer was loaded, `new` the second half, when common words are already cached, and `warm` the whole
text again, when all caches (ours and theirs) are full. All times are CPU times, each of a process of its own; the
tokenizers take turns, so that a busy machine slows all of them, and the minimum counts. Their ids are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import checkout  # noqa: F401
from peer import PEERS, Peer
from vocabulary import REAL, REWRITTEN, VOCABS, reference_of

from support.real_data import SHARED

ROUNDS = 2
DOCUMENT = 8_000
"""The size of a document in characters."""
OURS = "tokverify"
SIZES = (1, 8)
"""The sizes of the texts that are compared to see how time grows, in MB."""


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


def texts() -> dict[str, str]:
    library = Path(sysconfig.get_path("stdlib"))
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(library.glob("*.py")))
    corpus = {path.stem: path.read_text(encoding="utf-8") for path in sorted((SHARED / "corpus").glob("*.txt"))}
    return corpus | {"code": code[:700_000]}


def measure(peer: str, name: str, path: Path, size: int) -> Measurement | None:
    """Measure a peer in a process of its own; None if it cannot load the vocabulary."""
    worker = Path(__file__).with_name("worker.py")
    command = [sys.executable, str(worker), peer, name, str(path.parent), str(path), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Measurement(**json.loads(done.stdout)) if done.returncode == 0 else None


def measure_in_turns(name: str, path: Path, peers: list[str], size: int) -> dict[str, Measurement]:
    best: dict[str, Measurement] = {}
    for round in range(ROUNDS):
        for peer in peers:
            measured = measure(peer, name, path, size) if round == 0 or peer in best else None
            if measured is not None:
                best[peer] = measured.minimum(best.get(peer, measured))
    return best


def speed_table(names: list[str], peers: list[str], kinds: list[str], size: int) -> None:
    print(f"| vocabulary | text | {' | '.join(peers)} | best peer, cold / new |")
    print(f"|---|---|{'---|' * len(peers)}--:|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for kind in kinds:
                path = Path(folder) / f"{kind}.txt"
                path.write_text(texts()[kind], encoding="utf-8")
                best = measure_in_turns(name, path, peers, size)
                ours = best[OURS]
                cells = [best[peer].format(ours) if peer in best else "" for peer in peers]
                print(f"| {name} | {kind} | {' | '.join(cells)} | {ratios_to_best(best)} |", flush=True)


def ratios_to_best(best: dict[str, Measurement]) -> str:
    """Return how many times as fast as the fastest peer with the same ids we are; below 1 is a loss."""
    ours = best[OURS]
    rivals = [measured for peer, measured in best.items() if peer != OURS and measured.ids in {None, ours.ids}]
    if not rivals:
        return ""
    cold, new = (min(rival.cold for rival in rivals) / ours.cold, min(rival.new for rival in rivals) / ours.new)
    return f"{cold:.2f} / {new:.2f}"


def scaling_table(names: list[str]) -> None:
    """Print the time per MB at 8 MB divided by that at 1 MB, right after loading and for the same text again."""
    print("| vocabulary | text | cold | warm |\n|---|---|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for kind, text in scaling_texts().items():
                small, large = (fastest(name, Path(folder), cut(text, size * 1_000_000)) for size in SIZES)
                cold, warm = (ours / theirs * SIZES[0] / SIZES[1] for ours, theirs in zip(large, small, strict=True))
                print(f"| {name} | {kind} | {cold:.2f} | {warm:.2f} |", flush=True)


def cut(text: str, size: int) -> str:
    """Return the beginning of a text, as many bytes as given."""
    return text[:size].encode()[:size].decode(errors="ignore")


def scaling_texts() -> dict[str, str]:
    """Return texts of 8 MB or more."""
    characters = texts()
    letters = random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=SIZES[1] * 1_000_000)  # noqa: S311
    units = {
        "en": characters["en"],
        "unicode": characters["unicode"],
        "one line": "".join(characters["en"].split()),
        "random letters": "".join(letters),
        "one letter": "a",
        "spaces": " ",
    }
    return {kind: unit * (SIZES[1] * 1_000_000 // len(unit) + 1) for kind, unit in units.items()}


def fastest(name: str, folder: Path, text: str) -> tuple[float, float]:
    """Return the CPU seconds in which a newly loaded encoder of ours encodes a text, and encodes it again."""
    times = []
    for _ in range(3):
        peer = PEERS[OURS](name, folder)
        times.append((seconds(peer, text), seconds(peer, text)))
    cold, warm = zip(*times, strict=True)
    return min(cold), min(warm)


def seconds(peer: Peer, text: str) -> float:
    start = time.process_time()
    peer.encode([text])
    return time.process_time() - start


def run_table(names: list[str]) -> None:
    """Print the time of a whole `tokverify run` divided by that of loading the reference's tokenizer.json."""
    print("| vocabulary | `tokverify run` / loading tokenizer.json |\n|---|--:|")
    for name in names:
        gguf, reference = VOCABS / f"{name}.gguf", str(reference_of(name, "tokenizer.json"))
        load = [sys.executable, "-c", f"from tokenizers import Tokenizer; Tokenizer.from_file({reference!r})"]
        run = [sys.executable, "-m", "tokverify", "run", str(gguf), "-r", reference]
        times = [min(process_seconds(command) for _ in range(3)) for command in (run, load)]
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
    parser.add_argument(
        "--peer", action="append", choices=[*PEERS, "llama.cpp"], help="compare only with this peer; repeatable"
    )
    parser.add_argument("--text", action="append", choices=list(texts()), help="use only this text; repeatable")
    parser.add_argument("--whole", action="store_true", help="encode each half as one text, not as documents")
    arguments = parser.parse_args()
    if unknown := {*arguments.names} - {*REAL, *REWRITTEN}:
        parser.error(f"unknown vocabulary: {', '.join(sorted(unknown))}")
    if arguments.table == "speed":
        names = arguments.names or [*REAL, *REWRITTEN]
        peers = list(dict.fromkeys([OURS, *(arguments.peer or [*PEERS, "llama.cpp"])]))
        speed_table(names, peers, arguments.text or list(texts()), 0 if arguments.whole else DOCUMENT)
    else:
        tables = {"scaling": scaling_table, "run": run_table}
        tables[arguments.table](arguments.names or ["gpt-2", "llama-spm", "gemma-3"])


if __name__ == "__main__":
    main()
