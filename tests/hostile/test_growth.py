"""Work grows in proportion to the size of each list and string of each format.

Executed lines are counted instead of measuring time, so that the results do not depend on the machine.
"""

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from support.sentencepiece_maker import make_model
from support.spec_file import write_spec
from support.spec_maker import BYTE_PIECES, CONTROL, bpe_spec, spec_of, spm_spec, unigram_spec
from tokverify.audit.waiver import read_waivers
from tokverify.cases.loading import load_cases
from tokverify.engine.encoder import Encoder
from tokverify.files.tokenizer_file import read_spec
from tokverify.spec import TokenizerSpec
from tokverify.verify.baseline import Baseline

SMALL = 300
TOLERANCE = 1.6
"""Logarithms, and lists that are as long as the next power of two."""


def gguf(make: Callable[[int], TokenizerSpec]) -> Callable[[Path, int], Callable[[], object]]:
    """Return what prepares reading a GGUF file of the size n and encoding with it."""

    def prepare(directory: Path, n: int) -> Callable[[], object]:
        path = directory / "model.gguf"
        write_spec(make(n), path)
        return lambda: Encoder(read_spec(path)).encode("ab a")

    return prepare


def content(name: str, make: Callable[[int], str | bytes], read: Callable[[Path], object]) -> Any:
    """Return what prepares reading a file whose content has the size n."""

    def prepare(directory: Path, n: int) -> Callable[[], object]:
        path = directory / name
        data = make(n)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return lambda: read(path)

    return prepare


def almost_overlapping(n: int) -> TokenizerSpec:
    texts = [f"{at:06}{'a' * 100}" for at in range(n // 4)] + [f"{'a' * 50}{at:06}" for at in range(n // 4)]
    return bpe_spec(["a b"], dict.fromkeys(texts, CONTROL))


def near_misses(n: int) -> TokenizerSpec:
    return bpe_spec(["a b"], dict.fromkeys((f"{'a' * 30}b{at:06}" for at in range(n // 4)), CONTROL))


def plamo(piece: Callable[[int], dict[str, float]]) -> Callable[[int], TokenizerSpec]:
    def make(n: int) -> TokenizerSpec:
        scores = piece(n)
        tokens = ["<|plamo:unk|>", *BYTE_PIECES, *scores]
        types = dict.fromkeys(BYTE_PIECES, 6)
        return spec_of("plamo2", tokens, types, scores=[0.0] * 257 + list(scores.values()))

    return make


def json_model(n: int) -> str:
    alphabet = [chr(256 + at) for at in range(68)] + [chr(at) for at in [*range(33, 127), *range(161, 173)]]
    pieces = dict.fromkeys([*alphabet, *map(str, range(n))])
    model = {"type": "BPE", "vocab": {piece: id for id, piece in enumerate(pieces)}, "merges": []}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return json.dumps({"version": "1.0", "added_tokens": [], "pre_tokenizer": byte_level, "model": model})


def ranks(n: int) -> bytes:
    tokens = [*(bytes([byte]) for byte in range(256)), *(b"%06d" % at for at in range(n))]
    return b"".join(base64.b64encode(token) + b" %d\n" % id for id, token in enumerate(tokens))


def pieces(n: int) -> bytes:
    known = [("<unk>", 0.0, 2), *((piece, 0.0, 6) for piece in BYTE_PIECES)]
    return make_model([*known, *((str(at), -1.0, 1) for at in range(n))], trainer={3: 1, 35: 1})


def suite(n: int) -> str:
    return "suite: s\ncases:\n" + "".join(f"  - {{id: c{at}, text: a, note: b}}\n" for at in range(n))


def entries(line: str) -> Callable[[int], str]:
    return lambda n: "".join(line.format(at=at) for at in range(n))


GROWTH: dict[str, Callable[[Path, int], Callable[[], object]]] = {
    "GGUF, bpe tokens and merges": gguf(lambda n: bpe_spec([f"{at} {at + 1}" for at in range(n)])),
    "GGUF, spm pieces": gguf(lambda n: spm_spec({str(at): -float(at) for at in range(n)})),
    "GGUF, one long spm piece": gguf(lambda n: spm_spec({"ab" * n: -1.0, "a": -2.0})),
    "GGUF, unigram pieces": gguf(lambda n: unigram_spec({f"▁{at}": -1.0 for at in range(n)})),
    "GGUF, one long unigram piece": gguf(lambda n: unigram_spec({"ab" * n: -1.0, "▁a": -2.0})),
    "GGUF, WordPiece": gguf(lambda n: spec_of("bert", ["[UNK]", "[CLS]", "[SEP]", *(f"▁{at}" for at in range(n))])),
    "GGUF, PLaMo pieces": gguf(plamo(lambda n: {f"p{at}": -1.0 for at in range(n)})),
    "GGUF, one long PLaMo piece that hides others": gguf(plamo(lambda n: {"ab" * n: -1.0, "a": -1000.0})),
    "GGUF, added tokens that almost overlap": gguf(almost_overlapping),
    "GGUF, added tokens with a common beginning": gguf(near_misses),
    "GGUF, one long added token": gguf(lambda n: bpe_spec(["a b"], {"<" + "a" * n + ">": CONTROL})),
    "GGUF, a long chat template": gguf(lambda n: bpe_spec(["a b"], chat_template="x" * n)),
    "tokenizer.json, vocabulary": content("tokenizer.json", json_model, read_spec),
    "tiktoken, tokens": content("x.tiktoken", ranks, lambda path: read_spec(f"{path}:llama3")),
    "sentencepiece, pieces": content("tokenizer.model", pieces, read_spec),
    "suite, cases": content("suite.yaml", suite, lambda path: load_cases([path])),
    "baseline, entries": content(
        "known.yaml", entries("- {{case: a/c{at}, difference: 0123456789abcdef, reason: r}}\n"), Baseline.load
    ),
    "waivers, entries": content(
        "waivers.yaml", entries("- {{code: TV100, reason: r{at}}}\n"), lambda path: read_waivers(path, ["TV100"])
    ),
}


def count_lines(action: Callable[[], object]) -> int:
    """Count the lines of Python code that an action executes, in iterations of loops too."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(previous)
    return count


@pytest.mark.parametrize("name", GROWTH)
def test_four_times_the_input_is_about_four_times_the_work(tmp_path: Path, name: str):
    prepare = GROWTH[name]
    # The first run also imports modules and fills tables.
    prepare(tmp_path, 8)()
    empty = count_lines(prepare(tmp_path, 8))
    small, large = (count_lines(prepare(tmp_path, n)) - empty for n in (SMALL, 4 * SMALL))
    assert large <= 4 * TOLERANCE * max(small, 1000)
