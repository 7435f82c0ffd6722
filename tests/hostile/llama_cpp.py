"""Ask llama.cpp for the ids of a few texts, and for the texts of a few ids.

It is asked in forks of this process, which has loaded its library once.
"""

from array import array
from dataclasses import dataclass
from functools import cache, partial
from itertools import product, repeat
from pathlib import Path
from random import Random
from typing import Any

from hostile.forks import run_forked
from support.paths import SAMPLE
from tokverify.references.llama_cpp_library import find_library
from tokverify.references.llama_cpp_worker import LoadedLibrary, Vocabulary, WorkerError

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
REQUESTS = tuple((text, add_special) for text in TEXTS for add_special in (False, True))
"""A text, and whether to add special tokens."""
FLAGS = tuple(product((False, True), repeat=2))
"""`remove_special` and `unparse_special` of `llama_detokenize`."""
_RANDOM = Random(34)  # noqa: S311 - not for secrets
SEQUENCES = tuple(tuple(_RANDOM.choices(range(1 << 30), k=number % 8)) for number in range(40))
"""Lists of numbers; an id is the remainder after division by the size of the vocabulary."""

Ids = list[int] | None
"""None if it cannot encode a text."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What llama.cpp makes of a file."""

    refusal: str
    """Why it does not load the file; empty if it does."""
    ids: list[Ids]
    """For each of `REQUESTS`."""
    decoded: list[list[bytes] | None]
    """For each of `FLAGS`, the text of each of `SEQUENCES`; None if it cannot decode them."""


@cache
def load_library() -> LoadedLibrary:
    """Load llama.cpp's library, which forks inherit."""
    found = find_library()
    library = LoadedLibrary(str(found.path))
    library.check(str(SAMPLE / "sample.gguf"))
    return library


def ask_llama_cpp(path: Path) -> Answer:
    """Let llama.cpp load a file, encode texts and decode ids; it may abort on each."""
    library = load_library()
    encodings = (partial(_encode, library, path, *request) for request in REQUESTS)
    loading = partial(_describe_refusal, library, path)
    decodings = (partial(_decode, library, path, *flags) for flags in FLAGS)
    loaded, *others = run_forked([loading, *encodings, *decodings], path.parent, needs_first=True)
    refusal = loaded.death or loaded.result
    results = [] if refusal else [outcome.result for outcome in others]
    return Answer(refusal, results[: len(REQUESTS)], results[len(REQUESTS) :])


_loaded: dict[Path, Vocabulary] = {}
"""Filled only in forks."""


def _load(library: LoadedLibrary, path: Path) -> Vocabulary:
    if path not in _loaded:
        _loaded[path] = library.load(str(path))
    return _loaded[path]


def _describe_refusal(library: LoadedLibrary, path: Path) -> str:
    try:
        _load(library, path)
    except WorkerError as error:
        return str(error)
    return ""


def _encode(library: LoadedLibrary, path: Path, text: str, add_special: bool) -> Any:
    if path not in _loaded and _describe_refusal(library, path):
        return None
    ids = _loaded[path].encode(text.encode(), add_special=add_special, parse_special=True)
    return memoryview(ids).cast("i").tolist()


def _decode(library: LoadedLibrary, path: Path, remove_special: bool, unparse_special: bool) -> list[bytes] | None:
    if path not in _loaded and _describe_refusal(library, path):
        return None
    vocabulary = _loaded[path]
    sequences = map(array, repeat("i"), sequences_of(vocabulary.size))
    flags = {"remove_special": remove_special, "unparse_special": unparse_special}
    return [vocabulary.decode(ids.tobytes(), **flags) for ids in sequences]


def sequences_of(size: int) -> list[list[int]]:
    """Return `SEQUENCES` as ids of a vocabulary."""
    return [[number % size for number in numbers] for numbers in SEQUENCES if size]
