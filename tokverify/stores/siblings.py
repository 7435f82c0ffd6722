"""Files next to a model behind an address, such as its tokenizer.json: they are downloaded completely, and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urljoin

from tokverify.errors import TokverifyError
from tokverify.files.config import COMPANIONS
from tokverify.files.location import MAX_FILE_BYTES
from tokverify.system.cache import VARIABLE, cache_directory
from tokverify.system.http_address import shown
from tokverify.system.http_client import HttpClient, describe_status
from tokverify.system.output_file import move_into_place, temporary_beside

_MISSING = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})


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
    for name in names:
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
        self._copies = cache_directory() / "siblings" / hashlib.sha256(self._url.encode()).hexdigest()[:16]

    def url_of(self, name: str) -> str:
        return self._url + quote(name)

    def path_of(self, name: str) -> Path:
        return self._copies / name

    def download(self, name: str) -> bool:
        """Replace the copy of a file; return False, and keep none, if the server has no such file."""
        response = self._client.get(self.url_of(name), max_bytes=MAX_FILE_BYTES)
        if response.status != HTTPStatus.OK and response.status not in _MISSING:
            raise TokverifyError(f"{shown(self.url_of(name))}: {describe_status(response.status)}; try again later")
        if response.status == HTTPStatus.OK and not response.data and response.headers.get("content-length") != "0":
            raise TokverifyError(f"{shown(self.url_of(name))}: larger than {MAX_FILE_BYTES >> 20} MiB, the limit")
        try:
            self._keep(self.path_of(name), response.data if response.status == HTTPStatus.OK else None)
        except OSError as error:
            raise TokverifyError(
                f"{self._copies}: cannot be written ({error.strerror}); name another directory in {VARIABLE}"
            ) from error
        return response.status == HTTPStatus.OK

    def _keep(self, path: Path, data: bytes | None) -> None:
        if data is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_beside(path) as temporary:
            temporary.write_bytes(data)
            move_into_place(temporary, path)
