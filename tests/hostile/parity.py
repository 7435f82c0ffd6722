"""Compare what tokverify's engines and llama.cpp make of a GGUF file: whether they load it, and the ids."""

import os
from collections.abc import Iterator
from pathlib import Path

from hostile.execution import Failure, Item
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import AUTO, PYTHON, VARIABLE
from tokverify.errors import BrokenFileError, EncodeError, TokverifyError, UnsupportedError
from tokverify.files.gguf.declaration import read_spec
from tokverify.references.llama_cpp import LlamaCppTokenizer
from tokverify.references.llama_cpp_library import find_library
from tokverify.tokenizer import Tokenizer

ENGINES = (AUTO, PYTHON)
"""The values of `TOKVERIFY_ENGINE` to try: the native engine where it is possible, and the other."""

TEXTS = (
    "",
    "the best",
    "  a\n\tb ",
    "<s>a</s><unk>",
    "12 é 日本 🦙",
    "ab" * 40,
    "e\u0301 \u00a0\u3000'S",
    "a<mask> [MASK]",
)

# Parts of messages; each is in the table of docs/parity.md.
ONLY_LLAMA_CPP_REFUSES = (
    "unknown model architecture",
    "general.architecture",
    "general.name has wrong type",
    "unknown tokenizer: 'cpp-hybrid'",
    "mismatch between the host and model endianness",
)
ONLY_TOKVERIFY_REFUSES = (
    *("is out of range for", "elements for", "which cannot be ranked", "the limit"),
    *("tokenizer.chat_template: is", "tokenizer.ggml.tokens: is empty"),
)


def compare_with_llama_cpp(item: Item, seconds: float = 5.0) -> Iterator[Failure]:
    """Compare the ids of both engines with llama.cpp's, and which of them load the file at all."""
    engines = [_load(item.path, engine) for engine in ENGINES]
    try:
        theirs = LlamaCppTokenizer(item.path, find_library(), seconds=seconds)
    except BrokenFileError as error:
        is_loaded = any(isinstance(ours, Encoder) for ours in engines)
        if is_loaded and not _contains_any(str(error), ONLY_LLAMA_CPP_REFUSES):
            yield Failure(item.name, ("load",), f"only llama.cpp refuses it: {error}")
        return
    try:
        for ours in engines:
            yield from _compare_loaded(item, ours, theirs)
    finally:
        theirs.close()


def _load(path: Path, engine: str) -> Encoder | TokverifyError:
    os.environ[VARIABLE] = engine
    try:
        return Encoder(read_spec(path))
    except TokverifyError as error:
        return error


def _compare_loaded(item: Item, ours: Encoder | TokverifyError, theirs: Tokenizer) -> Iterator[Failure]:
    """Compare with what llama.cpp has loaded; something unsupported is not compared."""
    if isinstance(ours, Encoder):
        yield from _compare_ids(item, ours, theirs)
    elif not isinstance(ours, UnsupportedError) and not _contains_any(str(ours), ONLY_TOKVERIFY_REFUSES):
        yield Failure(item.name, ("load",), f"only tokverify refuses it: {ours}")


def _compare_ids(item: Item, ours: Encoder, theirs: Tokenizer) -> Iterator[Failure]:
    for text in TEXTS:
        for add_special in (False, True):
            ids = [_encode(tokenizer, text, add_special=add_special) for tokenizer in (ours, theirs)]
            if ids[0] != ids[1]:
                command = ("encode", text, str(add_special))
                yield Failure(item.name, command, f"{ids[0]} ({ours.engine.name} engine), but llama.cpp {ids[1]}")
                return


def _encode(tokenizer: Tokenizer, text: str, *, add_special: bool) -> list[int] | None:
    try:
        return tokenizer.encode(text, add_special=add_special, parse_special=True)
    except EncodeError:
        return None


def _contains_any(message: str, parts: tuple[str, ...]) -> bool:
    return any(part in message for part in parts)
