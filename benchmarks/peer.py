"""The tokenizers that the benchmark compares: ours and its peers, each loaded by vocabulary name."""

from __future__ import annotations

import json
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
    tokenizer.no_padding()
    return Peer(
        lambda texts: tokenizer.encode_batch_fast(texts, add_special_tokens=False),
        lambda encodings: from_lists([encoding.ids for encoding in encodings]),
    )


def tokenizers_1(name: str, folder: Path) -> Peer:
    """Use tokenizers 1.0, which encodes batches only in full; it needs an environment of its own."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(reference_of(name, "tokenizer.json")))
    tokenizer.truncation = tokenizer.padding = None
    return Peer(
        lambda texts: tokenizer.encode_batch(texts, add_special_tokens=False),
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
    import tiktoken as library

    ranks, pattern = ranks_and_pattern(name, folder)
    encoding = library.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return Peer(lambda texts: [encoding.encode_ordinary(text) for text in texts], from_lists)


def riptoken(name: str, folder: Path) -> Peer:
    from riptoken import CoreBPE

    ranks, pattern = ranks_and_pattern(name, folder)
    encoding = CoreBPE(ranks, {}, pattern)
    return Peer(lambda texts: [encoding.encode_ordinary(text) for text in texts], from_lists)


def ranks_and_pattern(name: str, folder: Path) -> tuple[dict[bytes, int], str]:
    """Return the tokens of a vocabulary whose ranks are their ids, as tiktoken needs them, and its pattern."""
    from tokverify import load_gguf
    from tokverify.engine.pre_pattern import GPT2, QWEN2
    from tokverify.spec import TokenType

    patterns = {"gpt-2": GPT2, "qwen2": QWEN2}
    if name not in patterns:
        raise FileNotFoundError(f"{name} has no file of ranks")
    encoder = load_gguf(gguf_of(name, folder))
    normal = (id for id, type in enumerate(encoder.spec.types) if type == TokenType.NORMAL)
    return {encoder.token_bytes(id): id for id in normal}, patterns[name]


def quicktok(name: str, folder: Path) -> Peer:
    """Use the vocabulary of Qwen that the library contains; it cannot load any of the others."""
    from quicktok import get_encoding

    if name != "qwen2":
        raise FileNotFoundError(f"quicktok does not contain {name}")
    encoding = get_encoding("qwen3")
    return Peer(lambda texts: encoding.encode_batch(texts, threads=1), lambda batch: batch[0].tobytes())


def kitoken(name: str, folder: Path) -> Peer:
    from kitoken import Kitoken

    try:
        path = reference_of(name, "tokenizer.json")
    except FileNotFoundError:
        path = reference_of(name, "tokenizer.model")
    tokenizer = Kitoken.from_file(str(path))
    return Peer(lambda texts: [tokenizer.encode(text, False) for text in texts], from_lists)


def nanotoken(name: str, folder: Path) -> Peer:
    from nanotoken import Tokenizer

    tokenizer = Tokenizer(str(reference_of(name, "tokenizer.json")))
    return Peer(
        lambda texts: tokenizer.encode_batch(texts, add_special_tokens=False, parallel=False),
        lambda batch: batch.ids.tobytes(),
    )


def snaptokens(name: str, folder: Path) -> Peer:
    from snaptokens import Tokenizer

    tokenizer = Tokenizer.from_file(str(reference_of(name, "tokenizer.json")))
    tokenizer.no_truncation()
    return Peer(tokenizer.encode_batch_flat, lambda batch: batch[0])


def tuetoken(name: str, folder: Path) -> Peer:
    from tuetoken import Tokenizer

    tokenizer = Tokenizer(str(reference_of(name, "tokenizer.json")))
    return Peer(
        lambda texts: tokenizer.encode_ordinary_to_buffer(texts, num_threads=1), lambda batch: batch["data"].tobytes()
    )


def splintr(name: str, folder: Path) -> Peer:
    """Use the fastest call that adds no tokens around a text: one for batches adds those of the vocabulary."""
    from splintr import from_json

    tokenizer = from_json(str(reference_of(name, "tokenizer.json")))
    if list(tokenizer.encode("a")) == list(tokenizer.encode_raw("a")):
        return Peer(tokenizer.encode_batch_flat, lambda batch: batch[0])
    return Peer(lambda texts: [tokenizer.encode_raw(text) for text in texts], from_lists)


def morpheme(name: str, folder: Path) -> Peer:
    from morpheme import Tokenizer

    # It has no call that turns them off.
    document = json.loads(reference_of(name, "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.from_str(json.dumps({**document, "padding": None, "truncation": None}))
    return Peer(
        lambda texts: tokenizer.encode_batch(texts, add_special_tokens=False),
        lambda encodings: from_lists([encoding.ids for encoding in encodings]),
    )


def omnitoken(name: str, folder: Path) -> Peer:
    from omnitoken import Tokenizer

    tokenizer = Tokenizer(str(reference_of(name, "tokenizer.json")))
    return Peer(lambda texts: [tokenizer.encode(text) for text in texts], from_lists)


PEERS: dict[str, Callable[[str, Path], Peer]] = {
    "tokverify": tokverify,
    "fastokens": fastokens,
    "gigatoken": gigatoken,
    "tokie": tokie,
    "kitoken": kitoken,
    "tokenizers": huggingface,
    "tokenizers-1": tokenizers_1,
    "sentencepiece": sentencepiece,
    "tiktoken": tiktoken,
    "riptoken": riptoken,
    "quicktok": quicktok,
    "nanotoken": nanotoken,
    "snaptokens": snaptokens,
    "tuetoken": tuetoken,
    "splintr": splintr,
    "morpheme": morpheme,
    "omnitoken": omnitoken,
}
