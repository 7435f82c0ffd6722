"""Files next to a model behind an address, such as its tokenizer.json: they are downloaded completely, and kept."""

from __future__ import annotations

import hashlib
import time
from codecs import BOM_UTF8
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urljoin

from tokverify.errors import TokverifyError
from tokverify.location import COMPANIONS
from tokverify.sources.location import MAX_FILE_BYTES
from tokverify.system.cache import cache_directory, written_to_cache
from tokverify.system.http_address import shown
from tokverify.system.http_client import HttpClient, Response, describe_status
from tokverify.system.output_file import move_into_place, temporary_beside

MAX_SECONDS = 600.0
"""The limit for the time that all files next to a model take."""

_MAX_NAME_BYTES = 200
"""Shorter than the limit of file systems, since a temporary file has a longer name."""
_REFUSALS = range(400, 500)
_UNRELATED = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED}
)
"""Refusals that say nothing about a file."""
_PAGE_STARTS = (b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--")
"""How a web page begins, which no tokenizer does."""


class Sibling(NamedTuple):
    """A file next to a model."""

    path: Path
    """The local copy."""
    location: str
    """Its address, without anything secret."""


def find_sibling(url: str, names: Iterable[str], *, is_offline: bool) -> Sibling | None:
    """Return the first of some files that is next to the one behind an address; None if there is none of them.

    The files that belong to a tokenizer are downloaded together with it.

    Args:
        url: The address of the model. Its query, which may contain a secret, is not sent for other files.
        names: The names to look for.
        is_offline: Whether to use only what was downloaded before.

    Raises:
        TokverifyError: If the server does not respond or cannot send a file, or it cannot be kept.
    """
    directory = _Directory(url)
    for name in filter(_is_possible, names):
        if directory.path_of(name).is_file() if is_offline else directory.download(name):
            if not is_offline:
                for companion in COMPANIONS:
                    directory.download(companion)
            return Sibling(directory.path_of(name), shown(directory.url_of(name)))
    return None


class _Directory:
    """The directory of a server, and where the copies of its files are."""

    def __init__(self, url: str) -> None:
        self._url = urljoin(url, ".")
        self._client = HttpClient()
        self._until = time.monotonic() + MAX_SECONDS
        self._copies = cache_directory() / "siblings" / hashlib.sha256(self._url.encode()).hexdigest()[:16]

    def url_of(self, name: str) -> str:
        return self._url + quote(name)

    def path_of(self, name: str) -> Path:
        return self._copies / name

    def download(self, name: str) -> bool:
        """Replace the copy of a file; return False, and keep none, if the server has no such file."""
        data = self._request(self.url_of(name))
        with written_to_cache(self._copies):
            self._keep(self.path_of(name), data)
        return data is not None

    def _request(self, url: str) -> bytes | None:
        response = self._client.get(url, max_bytes=MAX_FILE_BYTES, until=self._until)
        if _is_missing(response):
            return None
        if response.status != HTTPStatus.OK:
            raise TokverifyError(f"{shown(url)}: {describe_status(response.status)}; try again later")
        if response.is_too_large:
            raise TokverifyError(f"{shown(url)}: larger than {MAX_FILE_BYTES >> 20} MiB, the limit")
        return response.data

    def _keep(self, path: Path, data: bytes | None) -> None:
        if data is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_beside(path) as temporary:
            temporary.write_bytes(data)
            move_into_place(temporary, path)


def _is_possible(name: str) -> bool:
    """Whether a file can have this name, which comes from an address."""
    return "\0" not in name and len(name.encode(errors="replace")) <= _MAX_NAME_BYTES


def _is_missing(response: Response) -> bool:
    """Whether a response means that there is no such file: a refusal, or a web page in its place."""
    if response.status in _REFUSALS:
        return response.status not in _UNRELATED
    start = response.data[:64].removeprefix(BOM_UTF8).lstrip().lower()
    return response.status == HTTPStatus.OK and start.startswith(_PAGE_STARTS)
