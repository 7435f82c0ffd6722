"""Read the ranks of a .tiktoken file, and look up its pattern and special tokens, which the file does not contain."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.sources.config import declared_tokens
from tokverify.spec import MAX_TOKENS
from tokverify.text.wording import short_repr

_MAX_BYTES = 1 << 24
_MAX_TOKEN_BYTES = 1 << 10


@dataclass(frozen=True, slots=True)
class Published:
    """What belongs to a published .tiktoken file but is not stored in it."""

    pattern: str
    size: int = 0
    """The number of ranks in the published file."""
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    """Text -> id, for a file with `size` ranks only."""


_END, _CONTRACTIONS = "<|endoftext|>", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA3 = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|%s| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_QWEN_TEXTS = (_END, "<|im_start|>", "<|im_end|>", *(f"<|extra_{number}|>" for number in range(205)))
_QWEN_TOKENS = {text: id for id, text in enumerate(_QWEN_TEXTS, 151643)}
PUBLISHED: Mapping[str, Published] = {
    "gpt2": Published(_GPT2, 50256, {_END: 50256}),
    "r50k_base": Published(_GPT2, 50256, {_END: 50256}),
    "p50k_base": Published(_GPT2, 50280, {_END: 50256}),
    "cl100k_base": Published(
        _CL100K,
        100256,
        {
            _END: 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "o200k_base": Published(_O200K, 199998, {_END: 199999, "<|endofprompt|>": 200018}),
    "llama3": Published(_LLAMA3 % r"\p{N}{1,3}"),
    "qwen": Published(_LLAMA3 % r"\p{N}", 151643, _QWEN_TOKENS),
}


def read_ranks(path: Path, data: bytes) -> dict[bytes, int]:
    """Read a .tiktoken file, each line of which is a token in base64 and its id.

    Raises:
        BrokenFileError: If it is not one, or violates what the library assumes.
        UnsupportedError: If it exceeds the limits for the number and the length of tokens.
    """
    lines = data.split(b"\n")
    if len(lines) > MAX_TOKENS or len(data) > _MAX_BYTES:
        raise UnsupportedError(
            f"{path}: larger than {MAX_TOKENS:,} tokens or {_MAX_BYTES >> 20} MiB, the limits for a tiktoken vocabulary"
        )
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        token, rank = _parse_line(path, number, line)
        if len(token) > _MAX_TOKEN_BYTES:
            raise UnsupportedError(f"{path}:{number}: a token of more than {_MAX_TOKEN_BYTES:,} bytes, the limit")
        ranks[token] = rank
    if missing := sum(bytes([byte]) not in ranks for byte in range(256)):
        raise BrokenFileError(
            f"{path}: an incomplete tiktoken vocabulary: {missing} of the 256 single bytes are missing"
        )
    if len(set(ranks.values())) != len(ranks):
        raise BrokenFileError(f"{path}: two tokens have the same id")
    return ranks


def _parse_line(path: Path, number: int, line: bytes) -> tuple[bytes, int]:
    try:
        token, rank = line.split()
        id = int(rank)
        if 0 <= id < MAX_TOKENS:
            return base64.b64decode(token, validate=True), id
    except ValueError:
        pass
    raise BrokenFileError(f"{path}:{number}: not a token in base64 and its id, which is below {MAX_TOKENS:,}")


def published_for(path: Path, pattern: str) -> Published:
    """Look up the pattern and special tokens of a file by `pattern` (a name or a regular expression) or its file name.

    Raises:
        UnsupportedError: If no pattern is given and the file's name is not that of a published one.
        TokverifyError: If the pattern is an unknown name.
    """
    name = pattern or path.name.removesuffix(".tiktoken")
    if name in PUBLISHED:
        return PUBLISHED[name]
    names = ", ".join(PUBLISHED)
    if not pattern:
        raise UnsupportedError(
            f"{path}: a tiktoken vocabulary contains no pattern; add its name, as in {path}:cl100k_base, or the "
            f"regular expression itself after the colon; known names: {names}"
        )
    if re.fullmatch(r"[\w.-]+", pattern):
        raise TokverifyError(
            f"{path}: {short_repr(pattern)} is neither a pattern nor the name of one; known names: {names}"
        )
    return Published(pattern)


def special_tokens(path: Path, ranks: Mapping[bytes, int], published: Published) -> dict[str, int]:
    """Return the special tokens of the published file, if this one is complete, and those in a config beside it."""
    special = dict(published.special_tokens) if len(ranks) == published.size else {}
    taken = set(ranks.values())
    return special | {text: id for text, id in declared_tokens(path).items() if id not in taken}
