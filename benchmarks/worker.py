"""Measure one tokenizer in a process of its own: `python worker.py PEER VOCABULARY FOLDER TEXT SIZE`.

Prints JSON: the CPU seconds per MB for the first half of the text right after loading (cold), for the second half (new)
and for the whole text again (warm), and the sha256 of the ids. The environment of a peer needs only that peer.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path

from peer import PEERS
from vocabulary import gguf_of


def split(text: str, size: int) -> list[str]:
    """Split a text into documents of about `size` characters, at line feeds; 0 means a single document."""
    if not size:
        return [text]
    documents = [""]
    for line in text.splitlines(keepends=True):
        if len(documents[-1]) >= size:
            documents.append("")
        documents[-1] += line
    return documents


def halves(text: str) -> tuple[str, str]:
    middle = text.rfind("\n", 0, len(text) // 2) + 1
    return text[:middle], text[middle:]


def megabytes(texts: list[str]) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6


def main(name: str, vocabulary: str, folder: str, path: str, size: str) -> None:
    first, second = (split(half, int(size)) for half in halves(Path(path).read_text(encoding="utf-8")))
    if name == "llama.cpp":
        from llama_cpp_peer import LlamaCpp

        llama_cpp = LlamaCpp(gguf_of(vocabulary, Path(folder)))
        cold, new = (sum(map(llama_cpp.seconds, half)) / megabytes(half) for half in (first, second))
        print(json.dumps({"cold": cold, "new": new, "warm": new, "ids": None}))
        return
    peer = PEERS[name](vocabulary, Path(folder))
    digest = hashlib.sha256()
    seconds = []
    for texts in (first, second, first + second):
        start = time.process_time()
        result = peer.encode(texts)
        seconds.append((time.process_time() - start) / megabytes(texts))
        digest.update(peer.ids_of(result))
    print(json.dumps(dict(zip(("cold", "new", "warm"), seconds, strict=True)) | {"ids": digest.hexdigest()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
