"""Generate valid files with hostile values, from a grammar of each format; each maker returns names and contents."""

import base64
import json
import random
from collections.abc import Callable, Mapping
from itertools import pairwise

from hostile.values import damage, distinct, flip, identifier, number, score, text
from support.gguf_maker import flag, make_gguf, numbers, string, strings, uint32
from support.sentencepiece_maker import make_model
from tokverify.engine.byte_level import byte_alphabet
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.files.gguf import keys
from tokverify.files.gguf.cursor import ValueType
from tokverify.text.utf8 import to_bytes

Files = dict[str, bytes]
"""Name -> content; the first is the one to test, the others belong beside it."""

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
ALPHABET = [byte_alphabet()[byte] for byte in range(256)]
MODELS = ("llama", "gpt2", "gemma4", "bert", "t5", "rwkv", "plamo2", "plamo3", "hybriddna", "whitespace", "cpp-hybrid")
_FLAGS = (
    *(keys.ADD_BOS, keys.ADD_EOS, keys.ADD_SEP, keys.ADD_SPACE_PREFIX),
    *(keys.REMOVE_EXTRA_WHITESPACES, keys.LOWERCASE, keys.STRIP_ACCENTS),
)


def gguf(source: random.Random) -> Files:
    """Make a GGUF file of any family."""
    model = source.choice(MODELS)
    tokens = distinct([*_base(model), *(text(source, lone_bytes=True) for _ in range(source.randint(1, 60)))])
    types = [_type(source, token) for token in tokens]
    fields = {
        "general.architecture": string(source.choice(("llama", "llama", "gpt2", "nonsense", text(source)))),
        "general.name": string(source.choice(("x", "phi-3", "Modern-BERT", text(source)))),
        keys.MODEL: string(model if source.random() < 0.97 else text(source)),
        keys.PRE: string(source.choice(list(PRE_TOKENIZERS)) if source.random() < 0.9 else text(source)),
        keys.TOKENS: strings(list(map(to_bytes, tokens))),
        keys.TYPES: numbers(ValueType.INT32, types),
        keys.SCORES: numbers(ValueType.FLOAT32, [score(source) for _ in tokens]),
        keys.MERGES: strings(list(map(to_bytes, _merges(source, tokens)))),
        keys.CHAT_TEMPLATE: string(to_bytes(text(source, lone_bytes=True))),
        **{key: uint32(identifier(source, len(tokens))) for _, key in keys.SPECIAL_IDS if source.random() < 0.3},
        **{key: flag(source.random() < 0.5) for key in _FLAGS if source.random() < 0.3},
    }
    if model == "t5" and source.random() < 0.5:
        blob = source.randbytes(source.choice((0, 3, 4, 5, 64))) + b"a\0" * source.randrange(3)
        fields[keys.CHARSMAP] = numbers(ValueType.UINT8, list(blob))
    for key in list(fields):
        if source.random() < 0.03:
            del fields[key]
        elif source.random() < 0.02:
            fields[key] = source.choice((uint32(7), string(text(source)), strings([]), flag(True), strings(["a"] * 9)))
    return {"model.gguf": make_gguf(fields, order=source.choice("<<<<<<<<<>"))}


def _base(model: str) -> list[str]:
    """Return the tokens without which a family loads nothing."""
    if model in {"gpt2", "hybriddna", "cpp-hybrid"}:
        return [*ALPHABET, "<|endoftext|>"]
    if model == "bert":
        return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁a", "a", "##b"]
    if model == "rwkv":
        return ["<s>", *(f"\\x{byte:02x}" for byte in range(256))]
    if model.startswith("plamo"):
        return ["<|plamo:unk|>", *BYTES, "a", "b"]
    return ["<unk>", "<s>", "</s>", *BYTES, "▁", "a", "b"]


def _type(source: random.Random, token: str) -> int:
    if token in BYTES and source.random() < 0.999:
        return 6
    return source.choice((1,) * 14 + (3, 3, 4, 4, 5, 2, 0, 6, 7, -1)) if source.random() < 0.2 else 1


def _merges(source: random.Random, tokens: list[str]) -> list[str]:
    pairs = [f"{source.choice(tokens)} {source.choice(tokens)}" for _ in range(source.randint(1, 40))]
    return [pair if source.random() < 0.97 else text(source, lone_bytes=True) for pair in pairs]


def tokenizer_json(source: random.Random) -> Files:
    """Make a tokenizer.json of any model, with stages at random."""
    return {"tokenizer.json": _json(source, _tokenizer(source)), **_companions(source)}


def _json(source: random.Random, document: object) -> bytes:
    return json.dumps(damage(source, document), ensure_ascii=source.random() < 0.3).encode("utf-8", "replace")


def _tokenizer(source: random.Random) -> dict[str, object]:
    pieces = distinct([*ALPHABET, "<unk>", "▁", *(text(source) for _ in range(source.randint(1, 40)))])
    kind = source.choice(("BPE", "BPE", "Unigram", "WordPiece", "WordLevel"))
    vocab: object = {piece: id for id, piece in enumerate(pieces)}
    model: dict[str, object] = {"type": kind, "vocab": vocab, "unk_token": "<unk>"}
    if kind == "BPE":
        merges = [source.choice(pieces) for _ in range(10)]
        model |= {"merges": list(map(list, pairwise(merges)))}
        model |= {"byte_fallback": source.random() < 0.3, "ignore_merges": source.random() < 0.2, "dropout": None}
    elif kind == "Unigram":
        model = {"type": kind, "unk_id": 0, "vocab": [[piece, score(source)] for piece in pieces]}
    elif kind == "WordPiece":
        model |= {
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": source.choice((100, 1, number(source))),
        }
    added = [
        {
            "id": len(pieces) + at if source.random() < 0.9 else number(source),
            "content": text(source),
            **{name: source.random() < 0.3 for name in ("single_word", "lstrip", "rstrip", "normalized", "special")},
        }
        for at in range(source.randrange(6))
    ]
    return {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": _stages(source, "normalizers", _NORMALIZERS),
        "pre_tokenizer": _stages(source, "pretokenizers", _PRE_TOKENIZERS),
        "post_processor": source.choice((None, None, _template(source))),
        "decoder": _stages(source, "decoders", _DECODERS),
        "model": model,
    }


def _template(source: random.Random) -> dict[str, object]:
    name = source.choice(("<s>", text(source)))
    special = {"id": name, "ids": [source.choice((0, 1, 300, number(source)))], "tokens": [name]}
    single = [{"SpecialToken": {"id": name, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": {name: special}}


def _replace(source: random.Random) -> dict[str, object]:
    patterns = ({"String": text(source)}, {"Regex": source.choice((" {2,}", "(a+)+$", "", "[", ".", "a{9999}"))})
    return {"type": "Replace", "pattern": source.choice(patterns), "content": source.choice(("▁", " ", text(source)))}


def _byte_level(source: random.Random) -> dict[str, object]:
    return {"type": "ByteLevel", "add_prefix_space": source.random() < 0.2, "trim_offsets": True, "use_regex": True}


def _metaspace(source: random.Random) -> dict[str, object]:
    scheme = source.choice(("always", "never", "first"))
    return {"type": "Metaspace", "replacement": source.choice("▁▁▁_"), "prepend_scheme": scheme, "split": True}


def _split(source: random.Random) -> dict[str, object]:
    pattern = {"Regex": source.choice((r"\p{N}{1,3}", "(a+)+$", "", r"\s+(?!\S)", "a|b"))}
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": source.random() < 0.1}


def _plain(name: str) -> Callable[[random.Random], dict[str, object]]:
    return lambda _: {"type": name}


def _bert(source: random.Random) -> dict[str, object]:
    accents = source.choice((None, True, False))
    return {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": accents,
        "lowercase": source.random() < 0.5,
    }


def _precompiled(source: random.Random) -> dict[str, object]:
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(source.randbytes(40)).decode()}


def _prepend(source: random.Random) -> dict[str, object]:
    return {"type": "Prepend", "prepend": source.choice(("▁", text(source)))}


def _strip(source: random.Random) -> dict[str, object]:
    return {"type": "Strip", "strip_left": True, "strip_right": source.random() < 0.5}


_NORMALIZERS = (_replace, _prepend, _strip, _bert, _precompiled, *map(_plain, ("NFC", "NFKC", "NFD", "Lowercase")))
_PRE_TOKENIZERS = (_byte_level, _byte_level, _metaspace, _split, *map(_plain, ("BertPreTokenizer", "WhitespaceSplit")))
_DECODERS = (_byte_level, _metaspace, _replace, *map(_plain, ("ByteFallback", "Fuse")))


def _stages(
    source: random.Random, key: str, makers: tuple[Callable[[random.Random], dict[str, object]], ...]
) -> object:
    stages = [source.choice(makers)(source) for _ in range(source.randrange(4))]
    if not stages:
        return None
    return stages[0] if len(stages) == 1 else {"type": "Sequence", key: stages}


def _companions(source: random.Random) -> Files:
    """Make the files beside a tokenizer, sometimes."""
    if source.random() < 0.5:
        return {}
    entry = {"content": text(source), "special": True}
    ids = (number(source), 300, "5" * 5000, text(source))
    config = {
        "added_tokens_decoder": {str(source.choice(ids)): source.choice((entry, text(source)))},
        "bos_token": source.choice((text(source), entry, None)),
        "eos_token": "<unk>",
        "chat_template": source.choice((text(source), [{"name": "default", "template": text(source)}])),
        "add_bos_token": source.choice((True, False, None, 1)),
    }
    return {"tokenizer_config.json": _json(source, config)}


def sentencepiece(source: random.Random) -> Files:
    """Make a sentencepiece model."""
    tokens = distinct(["<unk>", "<s>", "</s>", *BYTES, "▁", *(text(source) or "x" for _ in range(40))])
    kinds = [{"<unk>": 2, "<s>": 3, "</s>": 3}.get(token) or max(1, _type(source, token)) for token in tokens]
    pieces = [
        (to_bytes(token), score(source) if at > 2 else 0.0, kind)
        for at, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
    ]
    data = make_model(pieces, trainer={3: source.choice((1, 1, 2, 2, 3)), 35: 1}, normalizer={3: 1, 4: 1})
    return {"tokenizer.model": data, **_companions(source)}


def tiktoken(source: random.Random) -> Files:
    """Make a tiktoken vocabulary."""
    words = [to_bytes(text(source, lone_bytes=True)) for _ in range(source.randint(1, 40))]
    tokens = list(dict.fromkeys([*(bytes([byte]) for byte in range(256)), *filter(None, words)]))
    ids = [at if source.random() < 0.998 else number(source) for at in range(len(tokens))]
    lines = [base64.b64encode(token) + b" %d" % id for token, id in zip(tokens, ids, strict=True)]
    return {"qwen.tiktoken": b"\n".join(lines) + b"\n", **_companions(source)}


def tekken(source: random.Random) -> Files:
    """Make a tekken.json."""
    tokens = [bytes([byte]) for byte in range(256)] + [to_bytes(text(source)) for _ in range(20)]
    vocab = [
        {"rank": at, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for at, token in enumerate(tokens)
    ]
    names = ("<unk>", "<s>", "</s>")
    special = [{"rank": at, "token_str": name, "is_control": True} for at, name in enumerate(names)]
    config = {
        "pattern": source.choice((r"\p{L}+|\p{N}|\s+|.", "(a+)+$", "", "[")),
        "num_vocab_tokens": len(vocab),
        "default_vocab_size": len(vocab) + source.choice((3, 10, 0)),
        "default_num_special_tokens": source.choice((3, 10)),
        "version": source.choice(("v3", "v11", "v99")),
    }
    return {"tekken.json": _json(source, {"config": config, "vocab": vocab, "special_tokens": special})}


def toml(source: random.Random) -> Files:
    """Make a configuration."""
    model = {
        "model": source.choice(("sample.gguf", "/etc/passwd", "../x.gguf", text(source))),
        "reference": source.choice(("sample.tokenizer.model", "rebuilt", "/etc/passwd", "hub:", text(source))),
        "cases": source.choice((["suite.yaml"], ["shipped"], ["/etc"], [text(source)])),
        "tags": [text(source)],
        "baseline": source.choice(("known.yaml", "/dev/zero", text(source))),
    }
    chosen = {key: value for key, value in model.items() if key == "model" or source.random() < 0.5}
    lines = ["[[models]]", *(f"{key} = {json.dumps(value)}" for key, value in chosen.items())]
    return {"tokverify.toml": flip_sometimes(source, "\n".join(lines).encode("utf-8", "replace"))}


def flip_sometimes(source: random.Random, data: bytes) -> bytes:
    return flip(source, data) if source.random() < 0.2 else data


def _yaml(source: random.Random, document: object) -> bytes:
    # JSON is YAML, but for a few characters.
    return flip_sometimes(source, _json(source, document))


def suite(source: random.Random) -> Files:
    """Make a suite of cases."""
    cases = [
        {
            "id": source.choice((f"c{at}", text(source))),
            "text": text(source),
            **({"expect": {"sample": [number(source)]}} if source.random() < 0.3 else {}),
            **({"repeat": source.choice((2, 10**6, number(source)))} if source.random() < 0.2 else {}),
        }
        for at in range(source.randint(1, 5))
    ]
    return {"suite.yaml": _yaml(source, {"suite": source.choice(("s", text(source))), "cases": cases})}


def baseline(source: random.Random) -> Files:
    """Make a baseline."""
    digest = source.choice(("0" * 12, "f" * 64, text(source)))
    entry = {"case": source.choice(("seed/spaces", text(source))), "difference": digest, "reason": text(source)}
    return {"known.yaml": _yaml(source, [entry] * source.randint(0, 2))}


def waivers(source: random.Random) -> Files:
    """Make a file of waivers."""
    ids = [source.choice(("0-5", "5-0", number(source), "99999999999-1", text(source)))]
    entry = {"code": source.choice(("TV103", "TV999", text(source))), "reason": text(source), "ids": ids}
    return {"waivers.yaml": _yaml(source, [entry])}


def report(source: random.Random) -> Files:
    """Make a saved report by damaging a real one."""
    return {"report.json": _json(source, json.loads(source.choice(_reports())))}


def _reports() -> list[str]:
    from hostile.execution import make_reports

    return make_reports()


MAKERS: Mapping[str, Callable[[random.Random], Files]] = {
    "gguf": gguf,
    "tokenizer.json": tokenizer_json,
    "sentencepiece": sentencepiece,
    "tiktoken": tiktoken,
    "tekken": tekken,
    "toml": toml,
    "suite": suite,
    "baseline": baseline,
    "waivers": waivers,
    "report": report,
}
"""Format -> the function that makes a file of it."""
