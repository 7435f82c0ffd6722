"""The tokenizers that the benchmark compares: ours and its peers, each loaded by vocabulary name."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from llama_cpp_peer import LlamaCpp
from vocabulary import gguf_of, reference_of

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

Encode = Callable[[str], object]


class Timed(Protocol):
    """A loaded tokenizer; `seconds` returns the CPU time that one thread takes to encode a text."""

    def seconds(self, text: str) -> float: ...

    def close(self) -> None: ...


class InProcess:
    """A tokenizer that runs in this process."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        encode("")

    def seconds(self, text: str) -> float:
        start = time.process_time()
        self._encode(text)
        return time.process_time() - start

    def close(self) -> None:
        del self._encode


Load = Callable[[str, Path], Timed]


def tokverify(name: str, folder: Path) -> Encode:
    from tokverify import load_gguf

    return load_gguf(gguf_of(name, folder)).encode


def huggingface(name: str, folder: Path) -> Encode:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(reference_of(name, "tokenizer.json")))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def sentencepiece(name: str, folder: Path) -> Encode:
    from sentencepiece import SentencePieceProcessor

    return SentencePieceProcessor(model_file=str(reference_of(name, "tokenizer.model"))).encode


def tiktoken(name: str, folder: Path) -> Encode:
    """Use GPT-2's pattern and ranks; GPT-2 is the only vocabulary that tiktoken has too."""
    import tiktoken as library

    from tokverify import load_gguf
    from tokverify.engine.pre_pattern import GPT2

    if name != "gpt-2":
        raise FileNotFoundError(name)
    encoder = load_gguf(gguf_of(name, folder))
    ranks = {encoder.token_bytes(id): id for id in range(encoder.vocab_size - 1)}
    return library.Encoding("gpt-2", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={}).encode_ordinary


def kitoken(name: str, folder: Path) -> Encode:
    from kitoken import Kitoken

    try:
        path = reference_of(name, "tokenizer.json")
    except FileNotFoundError:
        path = reference_of(name, "tokenizer.model")
    tokenizer = Kitoken.from_file(str(path))
    return lambda text: tokenizer.encode(text, False)


def in_process(load: Callable[[str, Path], Encode]) -> Load:
    return lambda name, folder: InProcess(load(name, folder))


OURS = in_process(tokverify)
PEERS: dict[str, Load] = {
    "tokenizers": in_process(huggingface),
    "sentencepiece": in_process(sentencepiece),
    "tiktoken": in_process(tiktoken),
    "kitoken": in_process(kitoken),
    "llama.cpp": lambda name, folder: LlamaCpp(gguf_of(name, folder)),
}
