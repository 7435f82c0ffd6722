"""Ask one build of llama.cpp what it knows, as JSON: `python benchmarks/build_probe.py LIBRARY < NAMES`.

It loads a tiny file for each name, so it needs no source and no model. It is run by its path and needs only the
standard library, because a build may need another Python than tokverify's (see `builds.py`).
"""

from __future__ import annotations

import json
import os
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tokverify" / "references"))

from llama_cpp_worker import FLAGS, LoadedLibrary, Vocabulary, WorkerError

BYTES = [chr(code) for code in (*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324))]
"""The GPT-2 alphabet."""
LAST = len(BYTES) + 1
"""The id of the token that a probe adds."""


def string(text: str) -> bytes:
    """Return a GGUF string."""
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(item: object) -> bytes:
    """Return a GGUF value with its type."""
    match item:
        case str():
            return struct.pack("<I", 8) + string(item)
        case int():
            return struct.pack("<II", 4, item)
        case [str(), *_]:
            return struct.pack("<IIQ", 9, 8, len(item)) + b"".join(map(string, item))
        case [float(), *_]:
            return struct.pack(f"<IIQ{len(item)}f", 9, 6, len(item), *item)
    raise TypeError(item)


class Prober:
    """Loads probes in one build."""

    def __init__(self, library: str, path: Path) -> None:
        self._library = LoadedLibrary(library)
        self._path = path

    def load(self, **changes: object) -> Vocabulary | str:
        """Load a tiny vocabulary for byte-pair encoding, with changes; return the error if that fails."""
        pairs: dict[str, object] = {
            "general.architecture": changes.pop("architecture", "llama"),
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "gpt-2",
            "tokenizer.ggml.tokens": [*BYTES, "ab", str(changes.pop("text", "ba"))],
            "tokenizer.ggml.merges": ["a b"],
            "tokenizer.ggml.scores": [0.0] * (LAST + 1),
            "tokenizer.ggml.bos_token_id": 0,
            "tokenizer.ggml.eos_token_id": 0,
        }
        pairs |= {f"tokenizer.ggml.{name}": item for name, item in changes.items()}
        body = b"".join(string(key) + value(item) for key, item in pairs.items())
        self._path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + body)
        try:
            return self._library.load(str(self._path))
        except WorkerError as error:
            return str(error)

    def knows(self, **changes: object) -> bool:
        """Whether a probe is loaded, or refused for another reason than a name."""
        error = self.load(**changes)
        return not isinstance(error, str) or not any(word in error for word in ("unknown", "unsupported", "CLIP"))

    def text(self, text: str) -> list[int]:
        """Return the attributes of an ordinary token with this text, and whether it ends a generation."""
        [attribute], [ends] = (self._listed(what, text=text) for what in ("attributes", "ends"))
        return [int(attribute), int(ends)]

    def flags(self, pre: str) -> list[int]:
        """Return the flags that follow from the name of a pre-tokenizer."""
        vocabulary = self.load(pre=pre)
        return [] if isinstance(vocabulary, str) else [int(vocabulary.flag(name)) for name in FLAGS]

    def _listed(self, what: str, **changes: object) -> list[Any]:
        vocabulary = self.load(**changes)
        return [0] if isinstance(vocabulary, str) else vocabulary.list_tokens(what, [LAST])


def attempt(function: Callable[[str], Any], names: list[str]) -> list[Any]:
    """Return what a function returns for each name; None where llama.cpp aborts, which happens in a fork."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(json.dumps(list(map(function, names))).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if answer:
        return list(json.loads(answer))
    return [None] if len(names) == 1 else [result for name in names for result in attempt(function, [name])]


def keys(library: Path) -> list[str]:
    """Return the keys of tokenizers that the program contains."""
    strings = {text for text in library.read_bytes().split(b"\0") if text.startswith(b"tokenizer.")}
    return sorted(text.decode() for text in strings if len(text) < 60 and text.isascii())


def main() -> None:
    """Write what the build knows to standard output."""
    names = json.load(sys.stdin)
    os.environ["GGML_NO_BACKTRACE"] = "1"
    # What a library prints must not mix with the answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def known(section: str, knows: Callable[[str], bool]) -> list[str]:
        listed = names[section]
        # llama.cpp aborts where a known name needs more than the probe has.
        return [name for name, is_known in zip(listed, attempt(knows, listed), strict=True) if is_known is not False]

    with tempfile.TemporaryDirectory() as folder:
        pre_tokenizers = names["pre_tokenizers"]
        prober = Prober(sys.argv[1], Path(folder) / "probe.gguf")
        found = {
            "keys": keys(Path(sys.argv[1])),
            "models": known("models", lambda name: prober.knows(model=name)),
            "pre_tokenizers": known("pre_tokenizers", lambda name: prober.knows(pre=name)),
            "architectures": known("architectures", lambda name: prober.knows(architecture=name)),
            "texts": dict(zip(names["texts"], attempt(prober.text, names["texts"]), strict=True)),
            "flags": dict(zip(pre_tokenizers, attempt(prober.flags, pre_tokenizers), strict=True)),
        }
    with answer:
        json.dump(found, answer)


if __name__ == "__main__":
    main()
