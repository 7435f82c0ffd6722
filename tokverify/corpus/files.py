"""Open the files of a corpus: local ones, and those behind any URL that fsspec understands, compressed or not."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from tokverify.errors import MissingLibraryError
from tokverify.system.library_error import summary

COMPRESSED = (".gz", ".zst")
"""The suffixes of files that can be read only from their beginning."""

PLAIN_SCHEMES = ("http", "https", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "hf")
"""The schemes of addresses that only fetch bytes, and send credentials to nobody but their store."""

_BLOCK_BYTES = 1 << 23
_BROKEN = {
    "ArrowInvalid": "the file is corrupt or cut off, or has another format than its name says",
    "BadGzipFile": "the file is not compressed as its name says",
    "EOFError": "the file ends too early",
    "ZstdError": "the file cannot be decompressed",
}
"""What the errors of libraries mean, by the names of their types."""
_CONNECT_SECONDS, _READ_SECONDS = 20, 60


class UnreadableFileError(Exception):
    """A file cannot be read, or not any further; the message is one of few texts and does not name the file."""


def is_url(path: str) -> bool:
    """Check whether fsspec opens a path."""
    return "://" in path


def is_plain(path: str) -> bool:
    """Check that a path is a file, or a URL of a scheme in `PLAIN_SCHEMES`, so that a stranger may name it.

    Others log in to any host, or let a downloaded file decide what is opened (`reference://::https://...`).
    """
    return not is_url(path) or (path.partition("://")[0] in PLAIN_SCHEMES and "::" not in path)


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it.

    Raises:
        MissingLibraryError: If fsspec, or the package for this kind of URL, is not installed.
        ValueError: If there is no such kind of URL.
    """
    try:
        from fsspec.core import url_to_fs

        # A server that does not answer must not stop the run.
        found: tuple[Any, str] = url_to_fs(url, **_limits(url.partition("://")[0]))
    except ImportError as error:
        advice = "install the package of fsspec for this kind of URL with pip"
        raise MissingLibraryError(f"{url}: a library is missing ({summary(error)}); {advice}") from None
    return found


def _limits(protocol: str) -> dict[str, Any]:
    """Return the options that limit how long a file system waits for its server."""
    if protocol in {"s3", "s3a"}:
        limits = {"connect_timeout": _CONNECT_SECONDS, "read_timeout": _READ_SECONDS}
        return {"config_kwargs": {**limits, "retries": {"max_attempts": 4, "mode": "standard"}}}
    if protocol in {"http", "https"}:
        from aiohttp import ClientTimeout

        return {"client_kwargs": {"timeout": ClientTimeout(sock_connect=_CONNECT_SECONDS, sock_read=_READ_SECONDS)}}
    return {}


def version_of(path: str) -> str:
    """Return what changes with a file: the time of its last modification, or its ETag."""
    if not is_url(path):
        return str(Path(path).stat().st_mtime_ns)
    system, inner = file_system(path)
    return remote_version(system.info(inner))


def remote_version(info: dict[str, Any]) -> str:
    """Return the same for a file behind a URL, given what fsspec says about it; empty if it says nothing."""
    marks = (info.get(key) for key in ("ETag", "etag", "LastModified", "mtime", "url"))
    return next((str(mark) for mark in marks if mark is not None), "")


@contextmanager
def open_file(path: str, *, reads_ahead: bool = True) -> Iterator[BinaryIO]:
    """Open a file that can be read from any place.

    Args:
        path: A path or a URL.
        reads_ahead: Whether to request more from a server than is read at first.
    """
    with explained():
        if is_url(path):
            system, inner = file_system(path)
            cache = "readahead" if reads_ahead else "none"
            opened = system.open(inner, "rb", block_size=_BLOCK_BYTES, cache_type=cache)
        else:
            opened = Path(path).open("rb")  # noqa: SIM115 - closed below
    with opened:
        yield opened


@contextmanager
def open_stream(path: str) -> Iterator[BinaryIO]:
    """Open a file that is read in order from some place on, and decompress it if its name says so."""
    with open_file(path) as file:
        if path.endswith(".gz"):
            yield cast("BinaryIO", gzip.GzipFile(fileobj=file))
        elif path.endswith(".zst"):
            yield _decompress_zstandard(file)
        else:
            yield cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", file), _BLOCK_BYTES))


def _decompress_zstandard(file: IO[bytes]) -> BinaryIO:
    try:
        import zstandard
    except ImportError:
        advice = "pip install zstandard"
        raise MissingLibraryError(f"files that end in .zst require the library zstandard; {advice}") from None
    reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    return cast("BinaryIO", io.BufferedReader(reader, _BLOCK_BYTES))


@contextmanager
def explained() -> Iterator[None]:
    """Turn the errors of libraries that read a file into one kind.

    Raises:
        UnreadableFileError: For anything that a library or the system raises in the block.
    """
    try:
        yield
    except (UnreadableFileError, MissingLibraryError, MemoryError):
        raise
    except Exception as error:
        raise UnreadableFileError(_describe(error)) from error


def _describe(error: BaseException) -> str:
    """Describe an error without anything that differs from file to file, such as names and offsets."""
    if isinstance(error, FileNotFoundError):
        # subtle: for fsspec, a file does not exist if a server fails in any way.
        cause = error.__cause__
        return "the file does not exist" if cause is None or cause is error else _describe(cause)
    if isinstance(error, PermissionError):
        return "access to the file is denied"
    if isinstance(error, TimeoutError):
        return "the server does not answer"
    if status := getattr(error, "status", None):
        return "the file does not exist" if status == HTTPStatus.NOT_FOUND else f"the server answers {status}"
    name = type(error).__name__
    reason = error.strerror if isinstance(error, OSError) else ""
    return _BROKEN.get(name) or f"the file cannot be read ({reason or name})"
