"""Generate GGUF files of every family."""

import random

from hostile.values import distinct, identifier, score, short_text, text, usually
from support.charsmap_maker import make_charsmap
from support.gguf_maker import flag, make_gguf, numbers, string, strings, uint32
from tokverify.engine.byte_level import byte_alphabet
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.sources.gguf import keys
from tokverify.sources.gguf.cursor import ValueType
from tokverify.text.utf8 import to_bytes

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
ALPHABET = [byte_alphabet()[byte] for byte in range(256)]
BYTE_LEVEL = {"gpt2", "hybriddna", "cpp-hybrid"}
MODELS = ("llama", "gpt2", "gemma4", "bert", "t5", "rwkv", "plamo2", "plamo3", "hybriddna", "whitespace", "cpp-hybrid")
_FLAGS = (
    *(keys.ADD_BOS, keys.ADD_EOS, keys.ADD_SEP, keys.ADD_SPACE_PREFIX),
    *(keys.REMOVE_EXTRA_WHITESPACES, keys.LOWERCASE, keys.STRIP_ACCENTS),
)
_TEMPLATES = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}",
    "{% for i in range(10**9) %}x{% endfor %}",
    "{{ messages[0].content * 10**9 }}",
    "{{ ''.__class__.__mro__ }}{{ x.y.z }}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
)


def gguf(source: random.Random) -> dict[str, bytes]:
    """Make a GGUF file of any family."""
    model = source.choice(MODELS)
    lone = source.random() < 0.2
    added = [text(source, lone_bytes=lone) for _ in range(source.choice((1, 5, 60)))]
    merges, merged = make_merges(source, [*_base(model)[-200:], *added])
    tokens = distinct([*_base(model), *added, *merged])
    fields = {
        "general.architecture": string(usually(source, "llama", "gpt2", "nonsense", text(source))),
        "general.name": string(usually(source, "x", "phi-3", "Modern-BERT", text(source), share=0.1)),
        keys.MODEL: string(usually(source, model, text(source), share=0.01)),
        keys.PRE: string(usually(source, source.choice(list(PRE_TOKENIZERS)), text(source), share=0.03)),
        keys.TOKENS: strings(list(map(to_bytes, tokens))),
        keys.TYPES: numbers(ValueType.INT32, [_type(source, token) for token in tokens]),
        keys.SCORES: numbers(ValueType.FLOAT32, [score(source) for _ in tokens]),
        keys.MERGES: strings(list(map(to_bytes, merges))),
        **{key: uint32(identifier(source, len(tokens))) for _, key in keys.SPECIAL_IDS if source.random() < 0.2},
        **{key: flag(source.random() < 0.5) for key in _FLAGS if source.random() < 0.3},
    }
    if source.random() < 0.3:
        fields[keys.CHAT_TEMPLATE] = string(to_bytes(source.choice((*_TEMPLATES, text(source, lone_bytes=True)))))
    if model == "t5" and source.random() < 0.5:
        fields[keys.CHARSMAP] = numbers(ValueType.UINT8, list(charsmap(source)))
    _misuse(source, fields)
    return {"model.gguf": make_gguf(fields, order=usually(source, "<", ">", share=0.03))}


def _misuse(source: random.Random, fields: dict[str, tuple[int, bytes]]) -> None:
    """Remove a few keys, and give a few others a value of another type."""
    for key in list(fields):
        if source.random() < 0.008:
            del fields[key]
        elif source.random() < 0.008:
            integers = [source.randrange(2) for _ in range(source.choice((0, 1, 300)))]
            kind = source.choice((ValueType.BOOL, ValueType.UINT8, ValueType.UINT32, ValueType.FLOAT64))
            other = (uint32(7), string(text(source)), strings([]), flag(True), strings(["a"] * 9))
            fields[key] = source.choice((*other, numbers(kind, integers)))


def _base(model: str) -> list[str]:
    """Return the tokens without which a family loads nothing."""
    if model in BYTE_LEVEL:
        return [*ALPHABET, "<|endoftext|>"]
    if model == "bert":
        return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁a", "a", "##b"]
    if model == "rwkv":
        return ["<s>", *(f"\\x{byte:02x}" for byte in range(256))]
    if model.startswith("plamo"):
        return ["<|plamo:unk|>", *BYTES, "a", "b"]
    return ["<unk>", "<s>", "</s>", *BYTES, "▁", "a", "b"]


def _type(source: random.Random, token: str) -> int:
    if token in BYTES and source.random() < 0.9999:
        return 6
    return source.choice((1,) * 14 + (3, 3, 4, 4, 5, 2, 0, 6, 7, -1)) if source.random() < 0.2 else 1


def make_merges(source: random.Random, tokens: list[str]) -> tuple[list[str], list[str]]:
    """Make merges, most of them of tokens, and the tokens that they produce."""
    parts = [token for token in tokens if token and " " not in token]
    merges, merged = [], []
    for _ in range(source.choice((0, 5, 40))):
        left, right = source.choice([*parts, *merged[-20:]]), source.choice([*parts, *merged[-20:]])
        if len(left + right) < 300:
            merges.append(usually(source, f"{left} {right}", text(source, lone_bytes=True)))
            merged.append(left + right)
    return merges, merged if source.random() < 0.9 else merged[::2]


def charsmap(source: random.Random) -> bytes:
    """Make a charsmap, rarely an invalid one."""
    replaced = {short_text(source, 20): short_text(source, 20) for _ in range(source.randrange(5))}
    data = make_charsmap({key: value for key, value in replaced.items() if "\0" not in key + value})
    return usually(source, data, source.randbytes(40), data[:5], data[:-1], b"", share=0.1)
