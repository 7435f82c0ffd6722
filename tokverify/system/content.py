"""Say what a file contains that is not what was expected."""

from __future__ import annotations

POINTER = b"version https://git-lfs"
"""The first bytes of the few lines of text that Git LFS leaves in place of a file it has not fetched."""

_SOMETHING_ELSE = "something else"
_LEAST = 8
"""So many line feeds of a binary file do not all follow a carriage return by chance."""

_FIRST = 1 << 12
"""In bytes; a token, which is U+FFFD itself in some vocabularies, comes later."""
_AS_TEXT = "a program took it for text"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()

_MAGIC = (
    ((b"GGUF", b"FUGG"), "a GGUF file"),
    ((POINTER,), "a Git LFS pointer; fetch the file itself with `git lfs pull`"),
    ((b"PK\x03\x04",), "a zip archive or a PyTorch checkpoint; unpack it, or convert the model to GGUF"),
    (tuple(bytes((0x80, version)) for version in range(2, 6)), "a Python pickle; convert the model to GGUF"),
    ((b"\x1f\x8b",), "gzip data; unpack it first"),
    ((b"\x28\xb5\x2f\xfd",), "zstd data; unpack it first"),
    ((b"\xfd7zXZ\x00",), "xz data; unpack it first"),
    ((b"BZh",), "bzip2 data; unpack it first"),
    ((b"PAR1",), "a Parquet file"),
    ((b"lmgg", b"fmgg", b"tjgg"), "a GGML file from before GGUF; convert the original model again"),
)
"""What files begin with -> what they are, and what to do about it where that is clear."""


def guess_content(head: bytes, otherwise: str) -> str:
    """Guess what a file is by its first bytes; `otherwise` says what to do if that does not follow from it."""
    for beginnings, description in _MAGIC:
        if head.startswith(beginnings):
            return description if ";" in description else f"{description}; {otherwise}"
    if head[8:10] == b'{"':
        return "safetensors; convert the model to GGUF"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] == b"<":
        return "an HTML or XML page; the download may have saved an error page"
    # `[PAD]` begins a vocabulary of BERT.
    is_json = text[:1] == b"{" or (text[:1] == b"[" and not text[1:2].isupper())
    kind = "JSON text" if is_json else "text" if _is_text(head) else _SOMETHING_ELSE
    return f"{kind}; {otherwise}"


def is_recognized(guess: str) -> bool:
    """Whether a guess names a kind of binary file."""
    return not guess.startswith(("text;", "JSON text;", f"{_SOMETHING_ELSE};"))


def why_broken(head: bytes) -> str:
    """Say what shows that a program took a binary file for text; empty if nothing does."""
    lines = head.count(b"\n")
    if lines >= _LEAST and head.count(b"\r\n") == lines:
        return f"{_AS_TEXT} and changed its line ends, as git does if .gitattributes lacks `*.gguf binary`"
    if _is_utf8(head) and _REPLACEMENT in head[:_FIRST]:
        return f"{_AS_TEXT} and replaced what is not UTF-8 by U+FFFD"
    return ""


def _is_text(head: bytes) -> bool:
    return _is_utf8(head) and b"\0" not in head


def _is_utf8(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        # The last character may be cut.
        return error.start > len(head) - 4 and error.reason == "unexpected end of data"
    return True
