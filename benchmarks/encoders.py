"""Measure the in-house encoder against its peers, as ratios within one run: `python benchmarks/encoders.py --help`.

Absolute numbers depend on the machine and its load; the ratios are what counts. `cold` is the first half of a text
right after a tokenizer was loaded, `new` the second half, when common words are already cached, and `warm` the whole
text again, when all caches (ours and theirs) are full. All times are CPU times, each of a process of its own; the
tokenizers take turns, so that a busy machine slows all of them, and the minimum counts. Their ids are compared. A peer
that is not installed is left out, and a peer that cannot load a vocabulary has an empty cell; stderr names the reason.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import checkout  # noqa: F401
from installation import find_versions, peer_and_interpreter
from measurement import Measurement, measure_in_turns
from peer import PEERS
from scaling import scaling_table
from vocabulary import REAL, REWRITTEN, VOCABS, reference_of

from support.real_data import SHARED

if TYPE_CHECKING:
    from collections.abc import Mapping

DOCUMENT = 8_000
"""The size of a document in characters."""
OURS = "tokverify"
ALL = [*PEERS, "llama.cpp"]
_TURNS = 5
"""How often two commands take turns."""


def texts() -> dict[str, str]:
    library = Path(sysconfig.get_path("stdlib"))
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(library.glob("*.py")))
    packages = (path for path in sorted(library.glob("*/*.py")) if "site-packages" not in path.parts)
    large = code + "".join(path.read_text(encoding="utf-8", errors="replace") for path in packages)
    corpus = {path.stem: path.read_text(encoding="utf-8") for path in sorted((SHARED / "corpus").glob("*.txt"))}
    return corpus | {"code": code[:700_000], "large": large[:6_000_000]}


def speed_table(names: list[str], interpreters: Mapping[str, str], kinds: list[str], size: int) -> None:
    versions = find_versions(interpreters)
    peers = {peer: interpreters[peer] for peer in versions}
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
    print(f"\n{', '.join(f'{peer} {version}' for peer, version in versions.items())}")


def ratios_to_best(best: dict[str, Measurement]) -> str:
    """Return how many times as fast as the fastest peer with the same ids we are; below 1 is a loss."""
    ours = best[OURS]
    rivals = [measured for peer, measured in best.items() if peer != OURS and measured.ids in {None, ours.ids}]
    if not rivals:
        return ""
    cold, new = (min(rival.cold for rival in rivals) / ours.cold, min(rival.new for rival in rivals) / ours.new)
    return f"{cold:.2f} / {new:.2f}"


def run_table(names: list[str]) -> None:
    """Print the time of a whole `tokverify run` divided by that of loading the reference's tokenizer.json.

    Both are processes of their own that take turns; the time is that of the clock, as `run` uses several threads.
    """
    print("| vocabulary | `tokverify run` / loading tokenizer.json |\n|---|--:|")
    for name in names:
        gguf, reference = VOCABS / f"{name}.gguf", str(reference_of(name, "tokenizer.json"))
        load = [sys.executable, "-c", f"from tokenizers import Tokenizer; Tokenizer.from_file({reference!r})"]
        run = [sys.executable, "-m", "tokverify", "run", str(gguf), "-r", reference]
        process_seconds(run)  # keeps the shipped suites in the cache
        turns = [(process_seconds(run), process_seconds(load)) for _ in range(_TURNS)]
        ours, theirs = map(min, zip(*turns, strict=True))
        print(f"| {name} | {ours / theirs:.2f} |", flush=True)


def process_seconds(command: list[str]) -> float:
    """Return how long a command takes by the clock."""
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["speed", "scaling", "run"])
    parser.add_argument("names", nargs="*", help=f"vocabularies: {', '.join([*REAL, *REWRITTEN])}")
    parser.add_argument("--peer", action="append", choices=ALL, help="compare only with this peer; repeatable")
    parser.add_argument(
        "--python", action="append", type=peer_and_interpreter, default=[], metavar="PEER=PATH",
        help="run a peer with this Python interpreter, that of an environment where it is installed; repeatable",
    )  # fmt: skip
    parser.add_argument("--text", action="append", choices=list(texts()), help="use only this text; repeatable")
    parser.add_argument("--whole", action="store_true", help="encode each half as one text, not as documents")
    arguments = parser.parse_args()
    if unknown := {*arguments.names} - {*REAL, *REWRITTEN}:
        parser.error(f"unknown vocabulary: {', '.join(sorted(unknown))}")
    interpreters = dict.fromkeys([OURS, *(arguments.peer or ALL)], sys.executable)
    if unselected := dict(arguments.python).keys() - interpreters.keys():
        parser.error(f"--python for a peer that is not compared: {', '.join(sorted(unselected))}")
    if arguments.table == "speed":
        names = arguments.names or [*REAL, *REWRITTEN]
        size = 0 if arguments.whole else DOCUMENT
        speed_table(names, interpreters | dict(arguments.python), arguments.text or list(texts()), size)
    else:
        names = arguments.names or ["gpt-2", "llama-spm", "gemma-3"]
        if arguments.table == "scaling":
            scaling_table(names, texts())
        else:
            run_table(names)


if __name__ == "__main__":
    main()
