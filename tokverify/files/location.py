"""Tell what kind of reference a location names: a word, a file, a directory or a repository on the hub."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.system.input_file import require_fetched
from tokverify.verify.expectation import EXPECT

FILE_NAMES = (
    "tokenizer.json",
    "tokenizer.model",
    "spiece.model",
    "tekken.json",
    "qwen.tiktoken",
    "tiktoken.model",
)
"""The files looked for in a directory or a repository, in this order."""

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", re.ASCII)
_HUB_URL = re.compile(r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/([\w.-]+/[\w.-]+)", re.ASCII)
_SERVER = re.compile("https?://")
_NOT_MODELS = ("datasets/", "spaces/", "docs/", "blog/", "papers/", "collections/")
_SHOWN = 5
_TIKTOKEN = re.compile(rb"[A-Za-z0-9+/]+={0,2} \d+\r?(\n|$)")
_TEKKEN = re.compile(rb'\s*\{\s*"config"\s*:\s*\{\s*"pattern"')
_TEKKEN_NAME = re.compile(r"tekken.*\.json")


def identify(location: str, kinds: Container[str]) -> tuple[str, str]:
    """Return the kind of reference and what to hand to its loader.

    A kind of `kinds` can be written out, as `rebuilt` or `hub:gpt2`. Otherwise a path that exists comes before
    a hub id.

    Raises:
        TokverifyError: If the location is none of these.
        BrokenFileError: If it is a file or a directory without a tokenizer.
        UnsupportedError: If it is a tokenizer of a kind that tokverify lacks.
    """
    if location == EXPECT:
        raise TokverifyError("`expect`, what cases themselves expect, is for `tokverify run` alone; name a reference")
    kind, _, rest = location.partition(":")
    if kind in kinds:
        return kind, rest
    if _SERVER.match(location) and not _HUB_URL.match(location):
        return "server", location
    if path := existing(location):
        file = file_in(path) if path.is_dir() else path
        return kind_of(file), str(file)
    if hub_id := repository(location):
        return "hub", hub_id
    if (found := file_and_rest(location)) and kind_of(found[0]) == "tiktoken":
        return "tiktoken", location
    raise TokverifyError(
        f"{location!r}: no such file or directory, and not a hub id such as org/name or org/name@revision"
    )


def existing(location: str) -> Path | None:
    """Return the file or directory that a location names; a leading `~` is a home directory where nothing is called so.

    Raises:
        BrokenFileError: If the system cannot tell, as of a name that is too long or a user that is not there.
    """
    try:
        path = Path(location)
        # subtle: to Path, `./~a` is `~a`, too.
        path = path if path.exists() else path.expanduser()
        # subtle: the empty path is the current directory.
        return path if location and path.exists() else None
    except (OSError, RuntimeError) as error:
        raise BrokenFileError(f"{location}: cannot be read ({error})") from error


def repository(location: str) -> str | None:
    """Return the hub id that a location or a huggingface.co address names, or None."""
    if _HUB_URL.match(location):
        return repository_of_url(location)
    looks_like_path = location.startswith((".", "~")) or location.endswith((".json", ".model", ".gguf"))
    return location if _HUB_ID.fullmatch(location) and not looks_like_path else None


def repository_of_url(url: str) -> str | None:
    """Return the hub id of the model that a huggingface.co address belongs to, or None."""
    match = _HUB_URL.match(url)
    return match[1].removesuffix(".git") if match and not match[1].startswith(_NOT_MODELS) else None


def files_in(directory: Path) -> list[Path]:
    """Return the tokenizer files in a directory, in the order in which they are looked for."""
    paths = [directory / name for name in FILE_NAMES]
    paths += sorted(path for path in directory.glob("*.tiktoken") if path not in paths)
    return [path for path in paths if path.is_file()]


def file_in(directory: Path) -> Path:
    """Return the tokenizer file in a directory.

    Raises:
        BrokenFileError: If it holds none.
    """
    if found := files_in(directory):
        return found[0]
    try:
        names = sorted(path.name for path in directory.iterdir())
    except OSError as error:
        raise BrokenFileError(f"{directory}: cannot be read ({error.strerror})") from error
    shown = names[:_SHOWN]
    held = ", ".join(shown) + (f" and {len(names) - len(shown)} more" if shown != names else "")
    raise BrokenFileError(
        f"{directory}: holds no {', '.join(FILE_NAMES[:-1])} or {FILE_NAMES[-1]}, only {held or 'nothing'}"
    )


def kind_of(path: Path) -> str:
    """Tell the kind of a tokenizer file by its first bytes, else by its suffix.

    Raises:
        BrokenFileError: If it cannot be read or is no tokenizer.
        UnsupportedError: If it is a tokenizer of a kind that tokverify lacks.
    """
    head = read_file(path, 512)
    if not head:
        raise BrokenFileError(f"{path}: the file is empty")
    require_fetched(path, head)
    if head.startswith((b"GGUF", b"FUGG")):
        raise UnsupportedError(
            f"{path}: a GGUF file cannot be the reference; name the tokenizer it was made from, or `llama.cpp:{path}`"
        )
    if _TIKTOKEN.match(head):
        return "tiktoken"
    if _TEKKEN.match(head) or _TEKKEN_NAME.fullmatch(path.name):
        return "tekken"
    if head.lstrip().startswith((b"{", b"[")) or path.suffix == ".json":
        return "tokenizers"
    # A sentencepiece model opens with field 1 (a piece), and that with its own field 1 (the text).
    if path.suffix == ".model" or (head[:1] == b"\n" and head[2:3] == b"\n"):
        return "sentencepiece"
    raise BrokenFileError(f"{path}: neither a HuggingFace tokenizer.json nor a sentencepiece model")


def file_and_rest(location: str) -> tuple[Path, str] | None:
    """Split `FILE:REST` after the first file that exists; None if there is none."""
    at = 0
    while (at := location.find(":", at + 1)) > 0:
        if (path := existing(location[:at])) and path.is_file():
            return path, location[at + 1 :]
    return None


def read_file(path: Path, size: int = -1) -> bytes:
    """Return the content of a file, or its first `size` bytes.

    Raises:
        BrokenFileError: If it cannot be read.
    """
    # subtle: opening a pipe would wait for whoever writes to it, and could not be done twice.
    if path.exists() and not path.is_file():
        raise BrokenFileError(f"{path}: not a regular file; copy its content into one")
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise BrokenFileError(f"{path}: cannot be read ({error.strerror})") from error
