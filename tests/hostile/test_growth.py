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

from hostile.execution import make_reports
from support.selection import thinned
from support.sentencepiece_maker import make_model
from support.spec_file import write_spec
from support.spec_maker import BYTE_PIECES, CONTROL, bpe_spec, spec_of, spm_spec, unigram_spec
from support.tekken_maker import make_tekken
from tokverify.cases.loading import load_cases
from tokverify.chat.conversation import load_conversations
from tokverify.commands.project.configuration_reader import read_configuration
from tokverify.commands.tasks.report import read_report
from tokverify.compare.baseline import Baseline
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import PYTHON
from tokverify.engine.engine_choice import VARIABLE as ENGINE
from tokverify.references import open_reference
from tokverify.sources.original_pattern import ORIGINALS
from tokverify.sources.tokenizer_file import read_spec
from tokverify.spec import TokenizerSpec

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


def encoding(make: Callable[[], TokenizerSpec], text: str) -> Callable[[Path, int], Callable[[], object]]:
    """Return what prepares encoding a text of the size n."""

    def prepare(_directory: Path, n: int) -> Callable[[], object]:
        encoder = Encoder(make())
        return lambda: encoder.encode(text * n)

    return prepare


def powers() -> dict[str, float]:
    """Return pieces of one letter, so that every position of a text has many candidates."""
    return {"a" * length: -float(length) for length in range(1, 40)}


def word_piece(*pieces: str) -> TokenizerSpec:
    return spec_of("bert", ["[UNK]", "[CLS]", "[SEP]", *pieces])


def rwkv() -> TokenizerSpec:
    return spec_of("rwkv", ["<s>", *(f"\\x{byte:02x}" for byte in range(256)), *powers()])


def tekken(vocabulary: int, special: int) -> str:
    words = [b"%06d" % at for at in range(vocabulary)]
    names = ["<unk>", "<s>", "</s>", *(f"<{at}>" for at in range(special))]
    sizes = {"default_vocab_size": 256 + len(words) + len(names), "default_num_special_tokens": len(names)}
    return json.dumps(make_tekken(words, names, pattern=ORIGINALS["tekken"], **sizes))


def rwkv_lines(n: int) -> str:
    tokens = [*(bytes([byte]) for byte in range(256)), *(b"%06d" % at for at in range(n))]
    return "".join(f"{id} {token!r} {len(token)}\n" for id, token in enumerate(tokens, 1))


def rwkv_reference(directory: Path, n: int) -> Callable[[], object]:
    path = directory / "rwkv.txt"
    lengths = range(1, 40)
    path.write_text("".join(f"{length} {'a' * length!r} {length}\n" for length in lengths))
    reference = open_reference(path).tokenizer
    return lambda: reference.encode("a" * n, add_special=False, parse_special=False)


def json_tokenizer(**changes: Any) -> str:
    return json.dumps({**json.loads(json_model(8)), **changes})


def added_tokens(n: int) -> str:
    first = len(json.loads(json_model(8))["model"]["vocab"])
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return json_tokenizer(added_tokens=[{"id": first + at, "content": f"<{at}>", **flags} for at in range(n)])


def replacements(n: int) -> str:
    stage = {"type": "Replace", "pattern": {"String": "x"}, "content": ""}
    return json_tokenizer(normalizer={"type": "Sequence", "normalizers": [stage] * n})


def merges(n: int) -> str:
    vocab = [*json.loads(json_model(8))["model"]["vocab"], *(f"{chr(97 + at % 26)}{at}" for at in range(n))]
    model = {"type": "BPE", "vocab": {piece: id for id, piece in enumerate(dict.fromkeys(vocab))}}
    return json_tokenizer(model={**model, "merges": [["a", "b"]] * n})


def unigram(n: int) -> str:
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    vocab = [["<unk>", 0.0], ["▁", -1.0], *([f"▁{at}", -2.0] for at in range(n))]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False}
    return json_tokenizer(model=model, pre_tokenizer=metaspace, decoder=metaspace)


def saved_report(cases: int, ids: int) -> str:
    """Make a report of many cases with many ids by repeating the only one of a real report."""
    document = json.loads(make_reports()[0])
    [first, *_] = document["results"]
    repeated = [{**first, "case": {**first["case"], "id": f"c{at}"}, "actual": [5] * ids} for at in range(cases)]
    return json.dumps({**document, "results": repeated})


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
    "text, SPM": encoding(lambda: spm_spec({**powers(), "▁": -1.0}), "a"),
    "text, byte-level BPE": encoding(lambda: bpe_spec(["a a", "aa aa", "aaaa aaaa"]), "a"),
    "text, words for byte-level BPE": encoding(lambda: bpe_spec(["a b", "Ġ ab"]), "ab "),
    "text, unigram": encoding(lambda: unigram_spec({**powers(), "▁": -1.0}), "a"),
    "text, WordPiece": encoding(lambda: word_piece("▁a", *(f"{'a' * length}" for length in range(1, 40))), "a"),
    "text, words for WordPiece": encoding(lambda: word_piece("▁a"), "a b "),
    "text, RWKV": encoding(rwkv, "a"),
    "text, PLaMo": encoding(lambda: plamo(lambda _: powers())(8), "a"),
    "text, added tokens": encoding(lambda: bpe_spec(["a b"], {"<a>": CONTROL, "<ab>": CONTROL}), "<a<ab><"),
    "tokenizer.json, added tokens": content("tokenizer.json", added_tokens, read_spec),
    "tokenizer.json, normalizers": content("tokenizer.json", replacements, open_reference),
    "tokenizer.json, merges": content("tokenizer.json", merges, read_spec),
    "tokenizer.json, unigram vocabulary": content("tokenizer.json", unigram, read_spec),
    "tokenizer.json, one long piece": content(
        "tokenizer.json", lambda n: added_tokens(1).replace("<0>", "a" * n), read_spec
    ),
    "tekken.json, vocabulary": content("tekken.json", lambda n: tekken(n, 3), open_reference),
    "tekken.json, special tokens": content("tekken.json", lambda n: tekken(3, n), open_reference),
    "tekken.json, as a model": content("tekken.json", lambda n: tekken(n, 3), read_spec),
    "RWKV's vocabulary, tokens": content("rwkv.txt", rwkv_lines, read_spec),
    "text, RWKV as the reference": rwkv_reference,
    "report, cases": content("report.json", lambda n: saved_report(n, 3), read_report),
    "report, ids of a case": content("report.json", lambda n: saved_report(3, n), read_report),
    "conversations, entries": content(
        "conversations.yaml",
        entries("- {{id: c{at}, messages: [{{role: user, content: a}}]}}\n"),
        load_conversations,
    ),
    "conversations, messages of one": content(
        "conversations.yaml",
        lambda n: "- id: a\n  messages:\n" + "    - {role: user, content: a}\n" * n,
        load_conversations,
    ),
    "configuration, models": content(
        "tokverify.toml",
        entries("[[models]]\nname = 'm{at}'\nmodel = 'm{at}.gguf'\n"),
        read_configuration,
    ),
    "baseline, entries": content(
        "known.yaml", entries("- {{case: a/c{at}, difference: 0123456789abcdef, reason: r}}\n"), Baseline.load
    ),
    "baseline, causes": content("known.yaml", entries("- {{code: TV101, message: m{at}, reason: r}}\n"), Baseline.load),
    "baseline, cases of one cause": content(
        "known.yaml",
        lambda n: "- reason: r\n  cases:\n" + "".join(f"    a/c{at}: 0123456789abcdef\n" for at in range(n)),
        Baseline.load,
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


@pytest.mark.parametrize("name", thinned(2, GROWTH))
def test_four_times_the_input_is_about_four_times_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(ENGINE, PYTHON)
    prepare = GROWTH[name]
    # The first run also imports modules and fills tables.
    prepare(tmp_path, 8)()
    empty = count_lines(prepare(tmp_path, 8))
    small, large = (count_lines(prepare(tmp_path, n)) - empty for n in (SMALL, 4 * SMALL))
    assert large <= 4 * TOLERANCE * max(small, 1000)
