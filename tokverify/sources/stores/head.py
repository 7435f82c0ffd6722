"""Keep the metadata of remote GGUF files: a local file with the beginning, and a hole where the tensors would be.

The local file is as large as the remote one, since llama.cpp and our own reader check that the tensors fit, but takes
up only the space of the metadata. Next to it, `head.json` says which version of which file it is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.sources.gguf.metadata import find_metadata_end
from tokverify.sources.gguf.window import GgufFile
from tokverify.sources.stores.remote_file import MAX_BYTES, RemoteFile, Version
from tokverify.system.cache import cache_directory, written_to_cache
from tokverify.system.output_file import move_into_place, temporary_beside, write_file

_FORMAT = 1
_UNFIT = re.compile(r"[^\w.-]")
_MAX_NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What is known locally about a remote file."""

    path: Path
    """The local file."""
    version: Version
    """The version of the remote file."""
    length: int
    """How many bytes of it are there."""
    is_complete: bool
    """Whether these are all the metadata."""
    sha256: str | None
    """The hash of the complete remote file, if the server states it."""


class HeadCache:
    """The place for the metadata of the file behind one address."""

    def __init__(self, url: str) -> None:
        self._key = hashlib.sha256(url.encode()).hexdigest()
        name = _UNFIT.sub("-", unquote(urlsplit(url).path).rpartition("/")[2])[-_MAX_NAME:] or "model.gguf"
        self._directory = cache_directory() / "models" / self._key[:16]
        self._path = self._directory / name
        self._note = self._directory / "head.json"

    def read(self) -> Head | None:
        """Return what is there; None if there is nothing, or it is damaged or of another version of tokverify."""
        try:
            note = json.loads(self._note.read_bytes())
            if (note["format"], note["key"]) != (_FORMAT, self._key):
                return None
            version = Version(note["etag"], note["size"])
            head = Head(
                path=self._path,
                version=version,
                length=note["length"],
                is_complete=note["is_complete"],
                sha256=note["sha256"],
            )
            size = self._path.stat().st_size
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return head if size == (version.size if head.is_complete else head.length) else None

    def read_data(self, head: Head) -> bytes:
        """Return the bytes that are there."""
        with head.path.open("rb") as file:
            return file.read(min(head.length, MAX_BYTES))

    def write(self, remote: RemoteFile, *, is_complete: bool) -> Head:
        """Keep what was downloaded.

        Raises:
            TokverifyError: If it cannot be written.
        """
        version = remote.version or Version(None, 0)
        sha256 = _sha256_of(remote)
        size = version.size if is_complete else len(remote.data)
        head = Head(path=self._path, version=version, length=len(remote.data), is_complete=is_complete, sha256=sha256)
        note = {
            "format": _FORMAT,
            "key": self._key,
            "etag": version.etag,
            "size": version.size,
            "length": head.length,
            "is_complete": is_complete,
            "sha256": sha256,
        }
        with written_to_cache(self._directory):
            self._directory.mkdir(parents=True, exist_ok=True)
            self._note.unlink(missing_ok=True)
            _write_with_hole(self._path, remote.data, size)
            write_file(self._note, json.dumps(note))
        return head


def obtain_head(
    cache: HeadCache, connect: Callable[[], RemoteFile], location: str, *, is_immutable: bool, is_offline: bool
) -> Head:
    """Return the metadata of a remote file, from the cache if it has not changed since.

    An interrupted download continues where it stopped.

    Args:
        cache: The place for it.
        connect: Returns the remote file, not opened yet.
        location: What to call the file in errors.
        is_immutable: Whether the file behind the address never changes.
        is_offline: Whether to use only what is in the cache, even if it may have changed.

    Raises:
        TokverifyError: If the file cannot be read; a subclass as for a local file.
    """
    head = cache.read()
    is_known = head is not None and head.is_complete
    if is_offline and not is_known:
        raise TokverifyError(f"{location}: not known locally, and HF_HUB_OFFLINE is set; run once without it")
    if head and is_known and (is_offline or is_immutable or head.version == _current_version(connect())):
        return head
    remote = connect()
    if head and not is_known and head.version.etag:
        remote.open(cache.read_data(head), head.version)
    else:
        remote.open()
    try:
        find_metadata_end(Path(location), GgufFile(remote))
    except (BrokenFileError, UnsupportedError):
        # What follows would not help.
        raise
    except BaseException:
        cache.write(remote, is_complete=False)
        raise
    return cache.write(remote, is_complete=True)


def _current_version(remote: RemoteFile) -> Version | None:
    version = remote.probe()
    return version if version and version.etag else None


def _sha256_of(remote: RemoteFile) -> str | None:
    """Return the hash that the hub states for large files."""
    etag = remote.headers.get("x-linked-etag", "").strip('"')
    return etag if re.fullmatch("[0-9a-f]{64}", etag) else None


def _write_with_hole(path: Path, data: bytes | bytearray, size: int) -> None:
    """Write a file of which only the beginning takes up space; another process sees the old file or the new one."""
    with temporary_beside(path) as temporary:
        with temporary.open("wb") as file:
            file.write(data)
            file.truncate(size)
        move_into_place(temporary, path)
