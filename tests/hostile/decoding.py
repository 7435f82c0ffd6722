"""Decode random ids with every flag of llama.cpp, in both engines and in one of its builds."""

import os
from array import array
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from random import Random

from hostile.llama_cpp import FLAGS
from hostile.parity import ENGINES
from tokverify.engine.attribute import VERBATIM, Attribute
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import VARIABLE
from tokverify.engine.settings import resolve
from tokverify.references.llama_cpp_library import Library
from tokverify.references.llama_cpp_worker import LoadedLibrary, Vocabulary
from tokverify.sources.gguf.declaration import read_spec

SPACES = range(3)
"""How many leading spaces `llama_token_to_piece` may strip."""
CLEANED = b" ?!.,'"
"""The bytes that tell whether spaces are removed before what follows."""
LENGTHS = range(13)


def find_differences(path: Path, library: Library, count: int, seed: int) -> Iterator[str]:
    """Yield what is decoded otherwise than by llama.cpp: each token of a file, and `count` random lists of ids."""
    spec, vocabulary = read_spec(path), LoadedLibrary(str(library.path)).load(str(path))
    encoders = []
    for engine in ENGINES:
        os.environ[VARIABLE] = engine
        encoders.append(Encoder(spec, settings=resolve(spec, library.build)))
    yield from _compare_tokens(encoders[0], vocabulary)
    for ids in generate_ids(encoders[0], count, Random(seed)):  # noqa: S311 - not for secrets
        yield from _compare_ids(encoders, vocabulary, ids)


def _compare_tokens(encoder: Encoder, vocabulary: Vocabulary) -> Iterator[str]:
    special = (Attribute.CONTROL | Attribute.UNKNOWN).value
    for id, spaces, shows_special in product(range(encoder.vocab_size), SPACES, (False, True)):
        whole = b"" if encoder.settings.attributes[id] & special and not shows_special else encoder.token_bytes(id)
        stripped = whole[min(spaces, len(whole) - len(whole.lstrip(b" "))) :]
        theirs = vocabulary.token_bytes(id, spaces=spaces, special=shows_special)
        if stripped != theirs:
            yield f"token {id}, {spaces} spaces, special {shows_special}: {stripped!r}, but llama.cpp {theirs!r}"


def _compare_ids(encoders: Sequence[Encoder], vocabulary: Vocabulary, ids: list[int]) -> Iterator[str]:
    given = array("i", ids).tobytes()
    for remove, unparse in FLAGS:
        theirs = vocabulary.decode(given, remove_special=remove, unparse_special=unparse)
        for encoder in encoders:
            ours = encoder.decode_as_llama_cpp(ids, remove_special=remove, unparse_special=unparse)
            if ours != theirs:
                yield f"{ids} {remove, unparse}: {ours!r} ({encoder.engine.name}), but llama.cpp {theirs!r}"
                return


def generate_ids(encoder: Encoder, count: int, random: Random) -> Iterator[list[int]]:
    """Yield lists of ids of all kinds, often with BOS and EOS around them."""
    pools = list(filter(None, _pools(encoder)))
    bos, eos = ([id] if (id := encoder.settings.special_ids.get(role)) is not None else [] for role in ("bos", "eos"))
    for _ in range(count):
        inner = [random.choice(random.choice(pools)) for _ in range(random.choice(LENGTHS))]
        yield bos * random.choice((0, 0, 1, 2)) + inner + eos * random.choice((0, 0, 1, 2))


def _pools(encoder: Encoder) -> Iterator[Sequence[int]]:
    ids, attributes = range(encoder.vocab_size), encoder.settings.attributes
    yield ids
    yield [0, ids[-1], *encoder.settings.special_ids.values()]
    yield [id for id in ids if attributes[id] & VERBATIM]
    yield [id for id in ids if attributes[id] & Attribute.BYTE.value]
    yield [id for id in ids if not attributes[id] & (VERBATIM | Attribute.NORMAL.value | Attribute.BYTE.value)]
    yield [id for id in ids if encoder.token_bytes(id)[:1] == b" "]
    yield [id for id in ids if (piece := encoder.token_bytes(id)) and piece[0] in CLEANED and len(piece) < len(" 're")]
