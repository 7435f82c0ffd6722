"""TV109: byte tokens that are missing or mistyped."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.families import find_family
from tokverify.report.finding import ERROR, WARNING, Finding
from tokverify.sources.gguf.keys import TOKENS, TYPES
from tokverify.spec import TokenType, ids_of_type
from tokverify.text.wording import list_items, list_tokens, plural

_FIRST_OF_SEVERAL = 0x80
"""The first byte that is only a part of a character in UTF-8."""
BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(0x100))


@rule(code="TV109", name="broken-byte-tokens", severity=ERROR)
def broken_byte_tokens(subject: Subject) -> Iterator[Finding]:
    """Require the 256 byte tokens, with their type, if the model falls back to bytes.

    What it does:
        For `llama` and `gemma4`: the tokens `<0x00>` to `<0xFF>` must all exist and be typed BYTE, and no other token
        may be. One whose character is a token itself, such as a tab, may be missing. For `t5`, warns that llama.cpp
        does not fall back to bytes, as some originals do.

    Why it is bad:
        What the vocabulary does not contain is encoded as bytes. If one is missing, llama.cpp stops with an exception
        (`llama`), or drops the character (`gemma4`). A byte token typed NORMAL is decoded to its name: `<0x0A>` for a
        line break. For `t5`, everything that the vocabulary does not contain becomes the unknown token.

    Example:
        mT5 in llama.cpp encodes ` this is 🦙.cpp` with an unknown token where the original has four bytes.

    How to repair:
        If only types are wrong: `tokverify fix MODEL -r REFERENCE -o FIXED`. Otherwise convert again; the types of byte
        tokens come from the sentencepiece model, not from tokenizer.json. For `t5` the file cannot be repaired.

    Threads:
        ggml-org/llama.cpp#4622, ollama/ollama#5255, ggml-org/llama.cpp#2865, ggml-org/llama.cpp#28862
    """
    family = find_family(subject.spec.model)
    if family is None or not (family.ignores_byte_pieces or family.byte_fallback):
        return
    ids = _byte_ids(subject)
    if family.ignores_byte_pieces:
        if len(ids) == len(BYTE_PIECES):
            unused = f"the 256 byte tokens of this {subject.spec.model} model are never used"
            message = f"{unused}: llama.cpp uses the unknown token instead"
            yield Finding(WARNING, message, ids=tuple(ids.values()), keys=(TOKENS,))
        return
    fallback = family.byte_fallback
    if fallback is None:
        return
    # A character of one byte that is a token itself needs none; Gemma 2 has a tab in place of <0x09>.
    replaceable = len(BYTE_PIECES) if fallback.accepts_raw_bytes else _FIRST_OF_SEVERAL
    missing = [
        piece
        for byte, piece in enumerate(BYTE_PIECES)
        if piece not in ids and not (byte < replaceable and _has_raw(subject, byte))
    ]
    if missing:
        count = plural(len(missing), "byte token")
        message = f"{count} missing ({list_items(missing)}): llama.cpp {fallback.when_missing} if a text needs one"
        yield Finding(ERROR, message, keys=(TOKENS,))
    yield from _check_types(subject, ids)


def _byte_ids(subject: Subject) -> dict[str, int]:
    pieces = frozenset(BYTE_PIECES)
    return {token: id for id, token in enumerate(subject.spec.tokens) if token in pieces}


def _has_raw(subject: Subject, byte: int) -> bool:
    """Whether the vocabulary contains the byte itself as a token."""
    return bytes([byte]).decode("utf-8", "surrogateescape") in subject.spec.tokens


def _check_types(subject: Subject, ids: dict[str, int]) -> Iterator[Finding]:
    types, pieces = subject.spec.types, subject.spec.tokens
    if types is None or len(types) != len(pieces):
        return
    others = tuple(id for id in ids.values() if types[id] != TokenType.BYTE)
    if others:
        message = f"{plural(len(others), 'byte token')} not typed BYTE, and therefore decoded as text: "
        yield Finding(ERROR, message + list_tokens(others, pieces), ids=others, keys=(TYPES,), repair=FIX)
    byte_ids = frozenset(ids.values())
    wrong = tuple(id for id in ids_of_type(types, TokenType.BYTE) if id not in byte_ids)
    if wrong:
        message = f"{plural(len(wrong), 'token')} typed BYTE but not named like one: {list_tokens(wrong, pieces)}"
        yield Finding(ERROR, message, ids=wrong, keys=(TYPES,), repair=FIX)
