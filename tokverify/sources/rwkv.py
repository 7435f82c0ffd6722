r"""Read RWKV's text vocabulary (rwkv_vocab_v20230424.txt): an id, a Python literal and a length in bytes on each line.

Sources: `TRIE_TOKENIZER` in ChatRWKV's `rwkv_pip_package/src/rwkv/rwkv_tokenizer.py`, and `_set_vocab_rwkv_world` in
llama.cpp's converter, which names the id 0 `<s>` and makes it BOS and EOS, and two line feeds the end of a turn.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.location import read_file
from tokverify.spec import MAX_GAP, MAX_TOKENS, TokenizerSpec, TokenType
from tokverify.text.wording import plural

END = "<s>"
"""The text of the id 0, which ends a document and is not in the file."""

_MAX_BYTES = 1 << 24
_MAX_LINE_BYTES = 1 << 13
_MAX_TOKEN_BYTES = 1 << 10
_ESCAPE = r"\\(?:[\\'\"abfnrtv]|x[0-9A-Fa-f]{2}%s)"
_TEXT_ESCAPE, _BYTES_ESCAPE = _ESCAPE % "|u[0-9A-Fa-f]{4}|U000[0-9A-Fa-f]{5}|U0010[0-9A-Fa-f]{4}", _ESCAPE % ""
_TEXT = rf"'(?:[^'\\]|{_TEXT_ESCAPE})+'|\"(?:[^\"\\]|{_TEXT_ESCAPE})+\""
_BYTES = rf"b'(?:[ -&(-\[\]-~]|{_BYTES_ESCAPE})+'|b\"(?:[ !#-\[\]-~]|{_BYTES_ESCAPE})+\""
_LINE = re.compile(rf"([0-9]{{1,7}}) ({_TEXT}|{_BYTES}) ([0-9]{{1,5}})")


def read_spec(path: Path | str) -> TokenizerSpec:
    """Read a text vocabulary.

    Raises:
        BrokenFileError: If it cannot be read or is not one.
        UnsupportedError: If it is too large.
    """
    path = Path(path)
    tokens = read_vocabulary(path, read_file(path))
    size = max(tokens) + 1
    if size > len(tokens) + MAX_GAP:
        raise BrokenFileError(f"{path}: the highest id is {size - 1}, but there are only {len(tokens)} tokens")
    pieces = [END, *(escape(tokens[id]) if id in tokens else f"[PAD{id}]" for id in range(1, size))]
    types = [TokenType.NORMAL if id in tokens else TokenType.UNUSED for id in range(size)]
    types[0] = TokenType.CONTROL
    turn = next((id for id, token in tokens.items() if token == b"\n\n"), None)
    return TokenizerSpec(
        model="rwkv",
        tokens=pieces,
        types=[type.value for type in types],
        special_ids={"bos": 0, "eos": 0} | ({} if turn is None else {"eot": turn}),
    )


def read_vocabulary(path: Path, data: bytes) -> Mapping[int, bytes]:
    """Return the tokens by id.

    Raises:
        BrokenFileError: If the file is not a text vocabulary.
        UnsupportedError: If it is too large.
    """
    if len(data) > _MAX_BYTES or data.count(b"\n") > MAX_TOKENS:
        raise UnsupportedError(
            f"{path}: larger than {MAX_TOKENS:,} tokens or {_MAX_BYTES >> 20} MiB, the limits for a text vocabulary"
        )
    tokens: dict[int, bytes] = {}
    for number, id, token in _lines(path, data):
        if not 0 < id < MAX_TOKENS or id in tokens:
            problem = "used twice" if id in tokens else f"not between 1 and {MAX_TOKENS - 1:,}"
            raise BrokenFileError(f"{path}:{number}: the id {id} is {problem}")
        if len(token) > _MAX_TOKEN_BYTES:
            raise UnsupportedError(f"{path}:{number}: a token of more than {_MAX_TOKEN_BYTES:,} bytes, the limit")
        tokens[id] = token
    if len(set(tokens.values())) < len(tokens):
        raise BrokenFileError(f"{path}: two ids have the same token")
    if not tokens:
        raise BrokenFileError(f"{path}: contains no tokens")
    return tokens


def escape(token: bytes) -> str:
    """Write a token as llama.cpp's converter stores it, which is like a Python literal without its quotes."""
    return repr(token)[2:-1]


def _lines(path: Path, data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the number, the id and the token of each line."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            text = line.removesuffix(b"\r").decode() if len(line) <= _MAX_LINE_BYTES else ""
            if match := _LINE.fullmatch(text):
                literal = ast.literal_eval(match[2])
                token = literal.encode() if isinstance(literal, str) else literal
                if len(token) != int(match[3]):
                    size = plural(len(token), "byte")
                    raise BrokenFileError(f"{path}:{number}: {match[2]} has {size}, not {match[3]} as it says")
                yield number, int(match[1]), token
                continue
        except (ValueError, SyntaxError):  # not UTF-8, or a lone surrogate; a NUL, or an incomplete escape
            pass
        raise BrokenFileError(
            f"{path}:{number}: not an id, a token as a Python literal, and its length in bytes, separated by spaces"
        )
