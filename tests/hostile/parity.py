"""Compare what tokverify's engines and llama.cpp make of a GGUF file: whether they load it, the ids, and decoding."""

import os
from collections.abc import Iterator
from pathlib import Path

from hostile.items import Failure, Item
from hostile.llama_cpp import FLAGS, REQUESTS, Answer, Ids, sequences_of
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import AUTO, PYTHON, VARIABLE
from tokverify.engine.settings import resolve
from tokverify.errors import EncodeError, TokverifyError, UnsupportedError
from tokverify.references.llama_cpp_library import find_library
from tokverify.sources.gguf.declaration import read_spec

ENGINES = (AUTO, PYTHON)
"""The values of `TOKVERIFY_ENGINE` to try: the native engine where it is possible, and the other."""

# Parts of messages; each is in the table of docs/parity.md.
ONLY_LLAMA_CPP_REFUSES = (
    "unknown model architecture",
    "general.architecture",
    "general.name has wrong type",
    "unknown tokenizer: 'cpp-hybrid'",
    "mismatch between the host and model endianness",
    "s of processor time",
)
ONLY_TOKVERIFY_REFUSES = (
    *("elements for", "which cannot be ranked", "the limit"),
    *("tokenizer.ggml.merges: is", "tokenizer.ggml.precompiled_charsmap: is", "tokenizer.chat_template: is"),
    "tokenizer.ggml.tokens: is empty",
)


def compare_with_llama_cpp(item: Item, theirs: Answer) -> list[Failure]:
    """Compare the ids and texts of both engines with llama.cpp's, and which of them load the file at all."""
    engines = [_load(item.path, engine) for engine in ENGINES]
    if theirs.refusal:
        is_loaded = any(isinstance(ours, Encoder) for ours in engines)
        if is_loaded and not _contains_any(theirs.refusal, ONLY_LLAMA_CPP_REFUSES):
            return [Failure(item.name, ("load",), f"only llama.cpp refuses it: {theirs.refusal}")]
        return []
    return [failure for ours in engines for failure in _compare_loaded(item, ours, theirs)]


def _load(path: Path, engine: str) -> Encoder | TokverifyError:
    os.environ[VARIABLE] = engine
    try:
        spec = read_spec(path)
        return Encoder(spec, settings=resolve(spec, find_library().build))
    except TokverifyError as error:
        return error


def _compare_loaded(item: Item, ours: Encoder | TokverifyError, theirs: Answer) -> Iterator[Failure]:
    """Compare with what llama.cpp has loaded; something unsupported is not compared."""
    if isinstance(ours, Encoder):
        yield from _compare_ids(item, ours, theirs)
        yield from _compare_decoding(item, ours, theirs)
    elif not isinstance(ours, UnsupportedError) and not _contains_any(str(ours), ONLY_TOKVERIFY_REFUSES):
        yield Failure(item.name, ("load",), f"only tokverify refuses it: {ours}")


def _compare_ids(item: Item, ours: Encoder, theirs: Answer) -> Iterator[Failure]:
    for (text, add_special), expected in zip(REQUESTS, theirs.ids, strict=True):
        ids = _encode(ours, text, add_special=add_special)
        if ids != expected:
            command = ("encode", text, str(add_special))
            yield Failure(item.name, command, f"{ids} ({ours.engine.name} engine), but llama.cpp {expected}")
            return


def _compare_decoding(item: Item, ours: Encoder, theirs: Answer) -> Iterator[Failure]:
    for (remove, unparse), expected in zip(FLAGS, theirs.decoded, strict=True):
        sequences = sequences_of(ours.vocab_size)
        texts = [ours.decode_as_llama_cpp(ids, remove_special=remove, unparse_special=unparse) for ids in sequences]
        if texts != expected:
            command = ("decode", str(remove), str(unparse))
            yield Failure(item.name, command, f"{texts} ({ours.engine.name} engine), but llama.cpp {expected}")
            return


def _encode(encoder: Encoder, text: str, *, add_special: bool) -> Ids:
    try:
        return encoder.encode(text, add_special=add_special, parse_special=True)
    except EncodeError:
        return None


def _contains_any(message: str, parts: tuple[str, ...]) -> bool:
    return any(part in message for part in parts)
