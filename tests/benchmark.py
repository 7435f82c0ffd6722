"""Measure the in-house encoder against its peers, as ratios within one process: `python tests/benchmark.py --help`.

Absolute numbers depend on the machine and on what else it does; the ratios are what counts. `cold` is a tokenizer's
first sight of a text, right after it was loaded; `warm` is the same text again, when caches (ours and theirs) are full.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from real_data import SHARED

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

VOCABS = SHARED / "vocabs"
Encode = Callable[[str], object]
REPEATS = 3


def existing(name: str) -> str:
    path = VOCABS / name
    if not path.exists():
        raise FileNotFoundError(name)
    return str(path)


def tokverify(name: str) -> Encode:
    from tokverify import load_gguf

    return load_gguf(VOCABS / f"{name}.gguf").encode


def huggingface(name: str) -> Encode:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(existing(f"{name}.tokenizer.json"))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def sentencepiece(name: str) -> Encode:
    from sentencepiece import SentencePieceProcessor

    return SentencePieceProcessor(model_file=existing(f"{name}.tokenizer.model")).encode


def tiktoken(name: str) -> Encode:
    """GPT-2's own pattern over the ranks of the vocabulary, for the one vocabulary that is tiktoken's too."""
    import tiktoken as library

    from tokverify import load_gguf
    from tokverify.pre_pattern import GPT2

    if name != "gpt-2":
        raise FileNotFoundError(name)
    encoder = load_gguf(VOCABS / "gpt-2.gguf")
    ranks = {encoder.token_bytes(id): id for id in range(encoder.vocab_size - 1)}
    return library.Encoding("gpt-2", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={}).encode_ordinary


def kitoken(name: str) -> Encode:
    from kitoken import Kitoken

    for suffix in ("tokenizer.json", "tokenizer.model"):
        if (path := VOCABS / f"{name}.{suffix}").exists():
            tokenizer = Kitoken.from_file(str(path))
            return lambda text: tokenizer.encode(text, False)
    raise FileNotFoundError(name)


def llama_cpp(name: str) -> Encode:
    from tokverify.references import load_reference

    tokenizer = load_reference("llama.cpp", model=VOCABS / f"{name}.gguf")
    return lambda text: tokenizer.encode(text, add_special=False, parse_special=True)


PEERS = {
    "tokenizers": huggingface,
    "sentencepiece": sentencepiece,
    "tiktoken": tiktoken,
    "kitoken": kitoken,
    "llama.cpp": llama_cpp,
}


def texts() -> dict[str, str]:
    library = Path(sysconfig.get_path("stdlib"))
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(library.glob("*.py")))
    corpus = {path.stem: path.read_text(encoding="utf-8") for path in sorted((SHARED / "corpus").glob("*.txt"))}
    return corpus | {"code": code[:700_000]}


def seconds(encode: Encode, text: str) -> float:
    start = time.perf_counter()
    encode(text)
    return time.perf_counter() - start


def cold_and_warm(load: Callable[[str], Encode], name: str, text: str) -> tuple[float, float]:
    cold, warm = [], []
    for _ in range(REPEATS):
        encode = load(name)
        encode("")
        cold.append(seconds(encode, text))
        warm.append(seconds(encode, text))
    return min(cold), min(warm)


def speed_table(names: list[str], peers: list[str]) -> None:
    print("| vocabulary | text | MB/s cold | MB/s warm | against | ratio cold | ratio warm |")
    print("|---|---|--:|--:|---|--:|--:|")
    for name in names:
        for kind, text in texts().items():
            megabytes = len(text.encode()) / 1e6
            cold, warm = cold_and_warm(tokverify, name, text)
            for peer in peers:
                try:
                    peer_cold, peer_warm = cold_and_warm(PEERS[peer], name, text)
                except (ImportError, OSError, RuntimeError) as error:
                    print(f"{name}: no {peer} ({type(error).__name__})", file=sys.stderr)
                    continue
                speeds = f"{megabytes / cold:.1f} | {megabytes / warm:.1f}"
                ratios = f"{peer_cold / cold:.2f} | {peer_warm / warm:.2f}"
                print(f"| {name} | {kind} | {speeds} | {peer} | {ratios} |", flush=True)


def scaling_table(names: list[str]) -> None:
    """Time per MB at 8 MB against that at 1 MB, for text as it is, in one line without spaces, and of one letter."""
    english = texts()["en"]
    units = {"en": english, "one line": "".join(english.split()), "one letter": "a"}
    print("| vocabulary | text | s/MB at 8 MB over s/MB at 1 MB |\n|---|---|--:|")
    for name in names:
        for kind, unit in units.items():
            per_megabyte = []
            for size in (1_000_000, 8_000_000):
                text = (unit * (size // len(unit) + 1))[:size]
                per_megabyte.append(min(seconds(tokverify(name), text) for _ in range(2)) / size)
            print(f"| {name} | {kind} | {per_megabyte[1] / per_megabyte[0]:.2f} |", flush=True)


def run_table(names: list[str]) -> None:
    """A whole `tokverify run` against loading the reference's tokenizer.json alone, each in a process of its own."""
    print("| vocabulary | `tokverify run` over loading tokenizer.json alone |\n|---|--:|")
    for name in names:
        reference = VOCABS / f"{name}.tokenizer.json"
        load = [sys.executable, "-c", f"from tokenizers import Tokenizer; Tokenizer.from_file({str(reference)!r})"]
        run = [sys.executable, "-m", "tokverify", "run", str(VOCABS / f"{name}.gguf"), "-r", str(reference)]
        times = [min(_process_seconds(command) for _ in range(REPEATS)) for command in (run, load)]
        print(f"| {name} | {times[0] / times[1]:.2f} |", flush=True)


def _process_seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["speed", "scaling", "run"])
    parser.add_argument("names", nargs="*", default=["gpt-2", "llama-spm", "gemma-3"], help="vocabularies in shared/")
    parser.add_argument("--peer", action="append", choices=list(PEERS), help="only these peers")
    arguments = parser.parse_args()
    if arguments.table == "speed":
        speed_table(arguments.names, arguments.peer or list(PEERS))
    else:
        {"scaling": scaling_table, "run": run_table}[arguments.table](arguments.names)


if __name__ == "__main__":
    main()
