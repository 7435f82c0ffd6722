"""Measure how the time per MB grows with the size of a text, for texts that make encoders slow."""

from __future__ import annotations

import base64
import multiprocessing
import random
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from peer import PEERS, Peer

if TYPE_CHECKING:
    from collections.abc import Mapping

SIZES = (1, 8)
"""The sizes of the texts that are compared, in MB."""
_LARGEST = SIZES[1] * 1_000_000
_TURNS = 3


def scaling_table(names: list[str], corpus: Mapping[str, str]) -> None:
    """Print the time per MB at 8 MB divided by that at 1 MB, right after loading and for the same text again."""
    print("| vocabulary | text | cold | warm |\n|---|---|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for kind, text in scaling_texts(corpus).items():
                small, large = (fastest(name, Path(folder), cut(text, size * 1_000_000)) for size in SIZES)
                cold, warm = (ours / theirs * SIZES[0] / SIZES[1] for ours, theirs in zip(large, small, strict=True))
                print(f"| {name} | {kind} | {cold:.2f} | {warm:.2f} |", flush=True)


def cut(text: str, size: int) -> str:
    """Return the beginning of a text, as many bytes as given."""
    return text[:size].encode()[:size].decode(errors="ignore")


def scaling_texts(corpus: Mapping[str, str]) -> dict[str, str]:
    """Return texts of 8 MB or more."""
    generator = random.Random(1)  # noqa: S311
    data = generator.randbytes(_LARGEST)
    units = {
        "en": corpus["en"],
        "unicode": corpus["unicode"],
        "one line": "".join(corpus["en"].split()),
        "one Japanese line": "".join(corpus["ja"].split()),
        "random letters": "".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=_LARGEST)),
        "random digits": "".join(generator.choices("0123456789", k=_LARGEST)),
        "random bytes": data.decode(errors="replace"),
        "base64": base64.b64encode(data).decode(),
        "one letter": "a",
        "two letters": "ab",
        "spaces": " ",
        "newlines": "\n",
        "emoji": "👩\N{ZERO WIDTH JOINER}💻",
        "combining marks": "\N{COMBINING ACUTE ACCENT}",
    }
    return {kind: unit * (_LARGEST // len(unit) + 1) for kind, unit in units.items()}


def fastest(name: str, folder: Path, text: str) -> tuple[float, float]:
    """Return the CPU seconds in which a newly loaded encoder of ours encodes a text, and encodes it again.

    Each encoder has a process of its own: otherwise, small texts would be encoded into memory that an earlier encoder
    has touched, which takes half of the time of new memory.
    """
    path = folder / "scaling.txt"
    path.write_text(text, encoding="utf-8", newline="")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        cold, warm = zip(*(pool.submit(encode_twice, name, path).result() for _ in range(_TURNS)), strict=True)
    return min(cold), min(warm)


def encode_twice(name: str, path: Path) -> tuple[float, float]:
    text = path.read_bytes().decode()
    peer = PEERS["tokverify"](name, path.parent)
    return seconds(peer, text), seconds(peer, text)


def seconds(peer: Peer, text: str) -> float:
    start = time.process_time()
    peer.encode([text])
    return time.process_time() - start
