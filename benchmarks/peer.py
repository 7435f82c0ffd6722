"""The tokenizers that the benchmark compares: ours and its peers, each loaded by vocabulary name."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from vocabulary import gguf_of, reference_of

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

Texts = Sequence[str]


@dataclass(frozen=True)
class Peer:
    """A loaded tokenizer."""

    encode: Callable[[Texts], Any]
    """Encode texts in the fastest way that the library offers to Python programs; this is timed."""
    ids_of: Callable[[Any], bytes]
    """Return the ids in a result of `encode`, as 32-bit numbers."""


def from_lists(lists: Sequence[Sequence[int]]) -> bytes:
    return array("I", chain.from_iterable(lists)).tobytes()


def tokverify(name: str, folder: Path) -> Peer:
    from tokverify import load_gguf

    encoder = load_gguf(gguf_of(name, folder))
    return Peer(encoder.encode_batch, lambda batch: bytes(batch.ids))


def huggingface(name: str, folder: Path) -> Peer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(reference_of(name, "tokenizer.json")))
    tokenizer.no_truncation()
    return Peer(
        lambda texts: tokenizer.encode_batch_fast(texts, add_special_tokens=False),
        lambda encodings: from_lists([encoding.ids for encoding in encodings]),
    )


def fastokens(name: str, folder: Path) -> Peer:
    from fastokens import Tokenizer

    tokenizer = Tokenizer.from_file(str(reference_of(name, "tokenizer.json")))
    tokenizer.no_truncation()
    return Peer(
        lambda texts: [tokenizer.encode(text, add_special_tokens=False) for text in texts],
        lambda encodings: from_lists([encoding.ids for encoding in encodings]),
    )


def gigatoken(name: str, folder: Path) -> Peer:
    from gigatoken import Tokenizer

    tokenizer = Tokenizer(str(reference_of(name, "tokenizer.json")))
    return Peer(lambda texts: [tokenizer.encode(text) for text in texts], from_lists)


def tokie(name: str, folder: Path) -> Peer:
    from tokie import Tokenizer

    tokenizer = Tokenizer.from_json(str(reference_of(name, "tokenizer.json")))
    tokenizer.no_truncation()
    return Peer(
        lambda texts: [tokenizer.encode(text, add_special_tokens=False) for text in texts],
        lambda encodings: from_lists([encoding.ids for encoding in encodings]),
    )


def sentencepiece(name: str, folder: Path) -> Peer:
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=str(reference_of(name, "tokenizer.model")))
    return Peer(lambda texts: processor.encode(texts, num_threads=1), from_lists)


def tiktoken(name: str, folder: Path) -> Peer:
    """Use GPT-2's pattern and ranks; GPT-2 is the only vocabulary that tiktoken has too."""
    import tiktoken as library

    ranks, pattern = gpt2_ranks(name, folder)
    encoding = library.Encoding("gpt-2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return Peer(lambda texts: [encoding.encode_ordinary(text) for text in texts], from_lists)


def riptoken(name: str, folder: Path) -> Peer:
    """Use what tiktoken uses."""
    from riptoken import CoreBPE

    ranks, pattern = gpt2_ranks(name, folder)
    encoding = CoreBPE(ranks, {}, pattern)
    return Peer(lambda texts: [encoding.encode_ordinary(text) for text in texts], from_lists)


def gpt2_ranks(name: str, folder: Path) -> tuple[dict[bytes, int], str]:
    """Return GPT-2's tokens with their ranks, which are their ids, and its pattern."""
    from tokverify import load_gguf
    from tokverify.engine.pre_pattern import GPT2

    if name != "gpt-2":
        raise FileNotFoundError(name)
    encoder = load_gguf(gguf_of(name, folder))
    return {encoder.token_bytes(id): id for id in range(encoder.vocab_size - 1)}, GPT2


def kitoken(name: str, folder: Path) -> Peer:
    from kitoken import Kitoken

    try:
        path = reference_of(name, "tokenizer.json")
    except FileNotFoundError:
        path = reference_of(name, "tokenizer.model")
    tokenizer = Kitoken.from_file(str(path))
    return Peer(lambda texts: [tokenizer.encode(text, False) for text in texts], from_lists)


PEERS: dict[str, Callable[[str, Path], Peer]] = {
    "tokverify": tokverify,
    "fastokens": fastokens,
    "gigatoken": gigatoken,
    "tokie": tokie,
    "kitoken": kitoken,
    "tokenizers": huggingface,
    "sentencepiece": sentencepiece,
    "tiktoken": tiktoken,
    "riptoken": riptoken,
}
