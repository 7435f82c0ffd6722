"""Read the beginning of a file on a server, as far as it is needed, with HTTP range requests."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from tokverify.errors import BrokenFileError, GoneError, TokverifyError, UnsupportedError
from tokverify.system.http_client import HttpClient, Response, describe_status

MAX_BYTES = 1 << 28
"""The limit for the metadata of a model. Those of the largest known vocabularies have 30 MiB."""
LEAST_BYTES = 1 << 17
"""The least number of bytes to request."""
MOST_BYTES = 1 << 21
"""The largest number of bytes to request at once."""
MAX_REQUESTS = 512
"""The limit for the requests about one file. Reading all metadata up to the limit takes about 150."""
MAX_SECONDS = 600.0
"""The limit for the time that one file takes; what was read until then is kept, so that the next run continues."""

_SHARE = 6
_WINDOW = 1 << 20
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_EXPIRED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})

Explain = Callable[[Response], TokverifyError]
"""Builds the error for a response that is not a success."""


@dataclass(frozen=True, slots=True)
class Version:
    """What distinguishes the versions of a file on a server."""

    etag: str | None
    """The server's name for the version; None if it has none, so that it cannot be recognized."""
    size: int
    """The size in bytes."""


class RemoteFile:
    """The file behind an address. What has been read of it is `data`, without gaps.

    Each request asks for what is certainly needed, or for a sixth of what is already there, so that little is
    transferred in vain.

    Args:
        client: What sends the requests.
        url: The address.
        name: How to call the file in errors.
        explain: Builds the error for a response that is not a success.
    """

    def __init__(self, client: HttpClient, url: str, name: str, explain: Explain | None = None) -> None:
        self._client = client
        self._url = self._direct_url = url
        self._name = name
        self._explain = explain or self._describe
        self._until = time.monotonic() + MAX_SECONDS
        self._requests_left = MAX_REQUESTS
        self._expected_end = 0
        self._direct_etag: str | None = None
        self.data = bytearray()
        self.version: Version | None = None
        """The version that is read; None before the first request."""
        self.headers: Mapping[str, str] = {}
        """The headers of the first response."""

    @property
    def size(self) -> int:
        """The size of the complete file in bytes."""
        return self.version.size if self.version else 0

    def open(self, data: bytes = b"", version: Version | None = None) -> None:
        """Request the beginning, or what follows the beginning that an earlier download left behind.

        Args:
            data: That beginning.
            version: The version that it belongs to. If the file has changed, it is dropped.

        Raises:
            BrokenFileError: If the file is empty.
            UnsupportedError: If the server cannot send a part of a file.
            TokverifyError: If there is no such file, or it cannot be read.
        """
        self.data += data
        if data and not self._continues(version):
            self.data.clear()
            self.version = None
        if self.version is None:
            self._request(LEAST_BYTES)

    def _continues(self, version: Version | None) -> bool:
        """Whether what follows the data can be read, and belongs to the same version."""
        try:
            self._request(LEAST_BYTES)
        except BrokenFileError:
            return False
        return self.version == version

    def probe(self) -> Version | None:
        """Return the current version of the file, without reading it; errors are those of `open`."""
        self._request(1)
        return self.version

    def load(self, start: int, least: int) -> bytes:
        """Return at least `least` bytes from `start` on.

        Raises:
            UnsupportedError: If they are beyond the limit for metadata.
            TokverifyError: If they cannot be read.
        """
        end = start + least
        if end > MAX_BYTES:
            limit = f"{MAX_BYTES >> 20} MiB"
            raise UnsupportedError(f"{self._name}: the metadata is larger than {limit}, the limit for a download")
        while len(self.data) < end:
            needed = max(end, self._expected_end) - len(self.data)
            self._request(min(max(needed, len(self.data) // _SHARE, LEAST_BYTES), MOST_BYTES))
        return bytes(self.data[start : max(end, start + _WINDOW)])

    def expect(self, end: int) -> None:
        """Note that everything before `end` will be needed."""
        self._expected_end = min(max(self._expected_end, end), MAX_BYTES)

    def close(self) -> None:
        """Do nothing: connections are closed with the client."""

    def _request(self, length: int) -> None:
        """Append the next `length` bytes to the data, or fewer at the end of the file or if the server sends fewer."""
        start = len(self.data)
        headers = {"Range": f"bytes={start}-{start + length - 1}", "Accept-Encoding": "identity"}
        response = self._get(self._direct_url, length, headers)
        if response.status in _EXPIRED and self._direct_url != self._url:
            # A signed address that the first one redirects to is valid for a limited time.
            response = self._get(self._url, length, headers)
        version, data = self._parse(response, start, length)
        if self.version is None:
            self.version = version
            self.headers = response.headers
        elif version.size != self.size or response.headers.get("etag") != self._direct_etag:
            raise TokverifyError(f"{self._name}: changed while it was read; try again")
        self._direct_url, self._direct_etag = response.url, response.headers.get("etag")
        self.data += data

    def _get(self, url: str, length: int, headers: Mapping[str, str]) -> Response:
        """Send a request, within the limits for all requests about this file."""
        self._requests_left -= 1
        if self._requests_left < 0:
            raise GoneError(
                f"{self._name}: the server has sent only {len(self.data):,} bytes in {MAX_REQUESTS} requests; "
                "download the file"
            )
        if time.monotonic() >= self._until:
            raise GoneError(
                f"{self._name}: the server has sent only {len(self.data):,} bytes in {MAX_SECONDS:g} s; "
                "try again to continue, or download the file"
            )
        return self._client.get(url, max_bytes=length, headers=headers, until=self._until)

    def _parse(self, response: Response, start: int, length: int) -> tuple[Version, bytes]:
        headers = response.headers
        if response.status == HTTPStatus.OK and not start and response.data:
            # The server ignores ranges, but the file is small.
            return Version(headers.get("etag"), len(response.data)), response.data
        if response.status == HTTPStatus.OK:
            raise self._without_ranges(response)
        if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise BrokenFileError(f"{self._name}: ends after {start} bytes; name a GGUF file")
        if response.status != HTTPStatus.PARTIAL_CONTENT:
            raise self._explain(response)
        match = _RANGE.fullmatch(headers.get("content-range", ""))
        first, last, size = map(int, match.groups()) if match else (-1, -1, -1)
        is_consistent = first == start and len(response.data) == last - first + 1 <= length and last < size
        if not is_consistent or not response.data:
            raise TokverifyError(f"{self._name}: the server sends other bytes than requested; download the file")
        return Version(headers.get("x-linked-etag") or headers.get("etag"), size), response.data

    def _without_ranges(self, response: Response) -> TokverifyError:
        if not response.data and not response.is_too_large:
            return BrokenFileError(f"{self._name}: the file is empty; name a GGUF file")
        return UnsupportedError(
            f"{self._name}: the server can only send the complete file; download the file and name it"
        )

    def _describe(self, response: Response) -> TokverifyError:
        return TokverifyError(f"{self._name}: {describe_status(response.status)}; check the address")
