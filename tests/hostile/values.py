"""Hostile values: texts, numbers and identifiers that are valid where they stand, and easily handled wrongly."""

import json
import math
import random
from collections.abc import Sequence
from typing import Any

LONG = 3000
WORDS = ("a", "b", "ab", "the", " the", "▁the", "▁", "Ġ", "Ġthe", "Ċ", "##a", "12", "\n", "\t", " ", "é", "日本", "🦙")
SPECIAL = (
    *("<s>", "</s>", "<unk>", "<pad>", "<mask>", "[MASK]", "[UNK]", "[CLS]", "[SEP]", "<|endoftext|>", "<|im_end|>"),
    *("<0x0A>", "<0x00>", "<0xZZ>", "<0x", "<0xFFFF>", "<|end|>", "<|call|>", "<|return|>", "<|plamo:eos|>"),
    *("<dna>", "</dna>", "<oov>", "<tool_call>", "<|user|>", "<|fim_prefix|>", "<extra_id_0>", "[PAD7]", "[EMPTY_3]"),
)
STRANGE = (
    *("", "\0", "a\0b", "\x1b[31m", "\r\n", "\u2028", "\u202e", "\ufeff", "\u200d", "\u0301", "e\u0301", "\ufdfa"),
    *("\U0010ffff", "\ue000", "\ufffd", "ß", "İ", "\u017f", "ǆ", "ﬁ", "½", "Ⅷ", "๒", "\u3000", "\u00a0", "\x85"),
    *(
        "'s",
        "$(id)",
        "{{ x }}",
        "${{ x }}",
        "::error::x",
        "](http://x)",
        "<script>",
        "%s%n",
        "../../x",
        "~",
        "no",
        "1:30",
    ),
)
LONE_BYTES = ("\udcff", "\udcc3", "\udca9", "a\udcf4\udc90\udc80\udc80", "\udced\udca0\udc80", "\udcc0\udc80")


def text(source: random.Random, *, lone_bytes: bool = False) -> str:
    """Return a text, sometimes long, sometimes strange."""
    kind = source.random()
    if kind < 0.5:
        return source.choice(WORDS)
    if kind < 0.65:
        return source.choice(SPECIAL)
    if kind < 0.8:
        return source.choice(LONE_BYTES if lone_bytes and source.random() < 0.3 else STRANGE)
    if kind < 0.97:
        return "".join(source.choice(WORDS + STRANGE) for _ in range(source.randint(1, 5)))
    return source.choice(WORDS) * source.randint(100, LONG)


def short_text(source: random.Random, limit: int = 200, *, lone_bytes: bool = False) -> str:
    """Return a text that is not long, and not empty."""
    return text(source, lone_bytes=lone_bytes)[:limit] or "x"


def usually(source: random.Random, value: Any, *strange: Any, share: float = 0.02) -> Any:
    """Return a value, or in a few cases a strange one instead."""
    return source.choice(strange) if source.random() < share else value


def score(source: random.Random) -> float:
    """Return a score, sometimes at the limits of single precision."""
    kind = source.random()
    if kind < 0.9:
        return -float(source.randint(0, 20))
    if kind < 0.9995:
        return source.choice((-1000.0, 0.0, 1e38, -1e38, 1e-45, -2000.0, 3.4e38, -999.99994, 0.1, -0.1))
    return source.choice((math.inf, -math.inf, math.nan))


def number(source: random.Random) -> int:
    """Return an integer, often at a limit of some type."""
    bits = source.choice((1, 7, 8, 15, 16, 24, 31, 32, 53, 63, 64, 70, 20_000))
    return source.choice((0, 1, -1, 2, 3, (1 << bits) - 1, 1 << bits, -(1 << bits)))


def identifier(source: random.Random, size: int) -> int:
    """Return an id that usually exists."""
    if source.random() < 0.99:
        return source.randrange(size)
    return source.choice((size, size + 1, (1 << 31) - 1, (1 << 32) - 1))


def distinct(texts: Sequence[str]) -> list[str]:
    """Drop repeated texts, as llama.cpp refuses most files that contain some."""
    return list(dict.fromkeys(texts))


def json_value(source: random.Random, depth: int = 0) -> object:
    """Return any JSON value."""
    kind = source.randrange(8 if depth < 3 else 6)
    if kind == 6:
        return [json_value(source, depth + 1) for _ in range(source.randrange(4))]
    if kind == 7:
        return {text(source): json_value(source, depth + 1) for _ in range(source.randrange(4))}
    simple = (None, True, False, number(source), score(source), text(source))
    value = simple[kind]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def damage(source: random.Random, document: object, share: float = 0.3) -> object:
    """Return a JSON document in which sometimes one value, at any depth, is another one or missing."""
    if source.random() > share:
        return document
    if isinstance(document, dict) and document:
        key = source.choice(list(document))
        if source.random() < 0.15:
            return {name: value for name, value in document.items() if name != key}
        return {**document, key: damage(source, document[key], 0.9)}
    if isinstance(document, list) and document:
        at = source.randrange(len(document))
        return [*document[:at], damage(source, document[at], 0.9), *document[at + 1 :]]
    return json_value(source)


def to_json(source: random.Random, document: object) -> bytes:
    """Write a JSON document, perhaps a damaged one."""
    return json.dumps(damage(source, document), ensure_ascii=source.random() < 0.1).encode("utf-8", "replace")


def flip(source: random.Random, data: bytes) -> bytes:
    """Return data with a few bytes changed, removed, repeated or cut off."""
    for _ in range(source.randint(1, 4)):
        at = source.randrange(len(data) + 1)
        end = min(len(data), at + source.choice((1, 1, 1, 4, 64)))
        change = source.randrange(4)
        if change == 0:
            data = data[:at] + source.randbytes(end - at) + data[end:]
        elif change == 1:
            data = data[:at] + data[end:]
        elif change == 2:
            data = data[:end] + data[at:end] * source.choice((1, 3)) + data[end:]
        else:
            data = data[:at] if source.random() < 0.2 else data
    return data
