"""Find and recognize tokenizer files."""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.system.content import guess_content
from tokverify.system.input_file import exists, require_fetched

FILE_NAMES = (
    "tokenizer.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tekken.json",
    "qwen.tiktoken",
    "tiktoken.model",
    "rwkv_vocab_v20230424.txt",
)
"""The tokenizer files to look for in a directory or a repository, in this order."""

VOCABULARIES = ("vocab.json", "vocab.txt")
"""The names of vocabularies, which are files of their own; others beside them say how texts are split."""

MAX_FILE_BYTES = 1 << 27
"""The limit for a tokenizer file that is not GGUF; the largest known ones have half as much."""

_HEAD_BYTES = 512
_MAX_CANDIDATES = 2000
_BEGINNINGS = {
    "tiktoken": re.compile(rb"[A-Za-z0-9+/]+={0,2} \d+\r?(\n|$)"),
    "rwkv": re.compile(rb"\d{1,7} b?(['\"]).{1,400}?\1 \d{1,5}\r?(\n|$)"),
    "tekken": re.compile(rb'\s*\{\s*"config"\s*:\s*\{\s*"pattern"'),
}
"""How the content of a file begins, by its kind."""
_TEKKEN_NAME = re.compile(r"tekken.*\.json")


def find_existing(location: str) -> Path | None:
    """Return the existing file or directory that a location names, or None.

    A leading `~` means a home directory, unless a file has exactly that name.

    Raises:
        BrokenFileError: If the system cannot answer, for example because a name is too long or a user unknown.
    """
    try:
        path = Path(location)
        # subtle: Path treats `./~a` like `~a`.
        path = path if exists(path) else path.expanduser()
        # subtle: the empty path is the current directory.
        return path if location and exists(path) else None
    except (OSError, RuntimeError) as error:
        raise BrokenFileError(f"{location}: cannot be read ({error})") from error


def suggest_file(path: Path) -> str:
    """Suggest what to do about a file that does not exist: take the one beside it with a similar name, if any."""
    names: list[str] = []
    with suppress(OSError, ValueError):  # ValueError: a path that contains NUL
        names = [other.name for other in islice(path.expanduser().parent.iterdir(), _MAX_CANDIDATES)]
    same_kind = {_own_name(name): name for name in names if Path(name).suffix == path.suffix}
    similar = [same_kind[name] for name in get_close_matches(_own_name(path.name), same_kind, n=1)]
    similar += get_close_matches(path.name, names, n=1, cutoff=0.9)
    return f"did you mean {str(path.with_name(similar[0]))!r}?" if similar else "check the path"


def _own_name(name: str) -> str:
    """Return the part of a file's name in which it differs from others of its kind."""
    return Path(name).stem.removesuffix(".tokenizer")


def files_in(directory: Path) -> list[Path]:
    """Return the tokenizer files in a directory, in order of preference."""
    paths = [directory / name for name in FILE_NAMES]
    paths += sorted(path for path in directory.glob("*.tiktoken") if path not in paths)
    return [path for path in paths if path.is_file()]


def kind_of(path: Path) -> str:
    """Recognize the kind of a tokenizer file by its first bytes or, failing that, by its suffix.

    Raises:
        BrokenFileError: If it cannot be read or is not a tokenizer.
        UnsupportedError: If it is a kind of tokenizer that tokverify does not support here.
    """
    head = read_file(path, _HEAD_BYTES)
    if not head:
        raise BrokenFileError(f"{path}: the file is empty; download or copy the file again")
    require_fetched(path, head)
    if head.startswith((b"GGUF", b"FUGG")):
        return "gguf"
    for kind, beginning in _BEGINNINGS.items():
        if beginning.match(head):
            return kind
    if path.name in VOCABULARIES:
        return "vocab"
    if _TEKKEN_NAME.fullmatch(path.name):
        return "tekken"
    # A vocabulary of BERT may begin with `[PAD]`.
    if (head.lstrip().startswith((b"{", b"[")) and path.suffix != ".txt") or path.suffix == ".json":
        return "tokenizers"
    # A sentencepiece model begins with field 1 (a piece), which begins with its own field 1 (the text).
    if path.suffix == ".model" or (head[:1] == b"\n" and head[2:3] == b"\n"):
        return "sentencepiece"
    if path.suffix.lower() == ".gguf":
        raise BrokenFileError(f"{path}: not a GGUF file, in spite of its name; download or copy the file again")
    names = "a tokenizer.json, a tokenizer.model, a vocab.txt under exactly this name"
    guess = guess_content(head, f"name {names}, or a directory with one of them")
    raise BrokenFileError(f"{path}: not a tokenizer; it looks like {guess}")


def file_and_rest(location: str) -> tuple[Path, str] | None:
    """Split `FILE:REST` after the first file that exists; None if there is none."""
    at = 0
    while (at := location.find(":", at + 1)) > 0:
        if (path := find_existing(location[:at])) and path.is_file():
            return path, location[at + 1 :]
    return None


def read_file(path: Path, size: int | None = None) -> bytes:
    """Read a tokenizer file, or its first `size` bytes.

    Raises:
        BrokenFileError: If it cannot be read.
        UnsupportedError: If it is larger than any tokenizer.
    """
    # subtle: opening a pipe would wait for a writer, and a pipe cannot be read twice.
    if path.exists() and not path.is_file():
        raise BrokenFileError(f"{path}: not a regular file; copy its content into one")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1 if size is None else size)
    except OSError as error:
        raise BrokenFileError(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > MAX_FILE_BYTES:
        raise UnsupportedError(f"{path}: larger than {MAX_FILE_BYTES >> 20} MiB, the limit for a tokenizer")
    return data
