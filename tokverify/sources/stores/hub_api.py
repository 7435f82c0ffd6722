"""Ask the HuggingFace hub which files a repository has, and which repositories an organization has.

Sources: https://huggingface.co/docs/hub/api for the addresses, and huggingface_hub for the headers of its responses.
The library itself is used for the settings that it shares with other tools: address, token, cache and offline mode.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from tokverify.errors import TokverifyError
from tokverify.sources.stores.listing import COMMIT, Listing, recall_listing, remember_listing
from tokverify.system.http_address import redirected
from tokverify.system.http_client import Credentials, HttpClient, NoResponseError, Response, describe_status
from tokverify.system.json_input import JsonError, parse_json
from tokverify.system.library_error import summary

MAX_REPOSITORIES = 1000
"""The limit for the repositories that a pattern matches."""

_MAX_LISTING_BYTES = 1 << 24
_PAGE = 500
_MAX_PAGES = 20
_NEXT_PAGE = re.compile(r'<([^>]+)>\s*;\s*rel="next"')


class Hub:
    """The hub that huggingface_hub is configured for, by `HF_ENDPOINT`, `HF_TOKEN` and `HF_HUB_OFFLINE`."""

    def __init__(self) -> None:
        from huggingface_hub import constants, get_token

        self.endpoint: str = constants.ENDPOINT.rstrip("/")
        self.is_offline: bool = constants.HF_HUB_OFFLINE
        token = get_token()
        self.client = HttpClient(credentials=Credentials(self.endpoint, token) if token else None)

    def url_of(self, listing: Listing, file: str) -> str:
        """Return the address of a file, which never changes its content."""
        return f"{self.endpoint}/{listing.repository}/resolve/{listing.commit}/{quote(file)}"

    def list_files(self, repository: str, revision: str) -> Listing:
        """List the files of a repository. In offline mode, return what is known about it.

        Raises:
            TokverifyError: If there is no such repository or revision, or no access to it, or no response.
        """
        if self.is_offline:
            return recall_listing(repository, revision)
        listing = self._request_files(repository, revision)
        remember_listing(listing, revision)
        return listing

    def _request_files(self, repository: str, revision: str) -> Listing:
        url = f"{self.endpoint}/api/models/{quote(repository)}/revision/{quote(revision, safe='')}"
        content = self._request(url, f"hf:{repository}").content
        entries = content.get("siblings") if isinstance(content, dict) else None
        commit = content.get("sha") if isinstance(content, dict) else None
        if not isinstance(entries, list) or not isinstance(commit, str) or not COMMIT.fullmatch(commit):
            raise TokverifyError(f"{url}: the response is not the description of a repository; is this the hub?")
        names = [entry.get("rfilename") for entry in entries if isinstance(entry, dict)]
        return Listing(repository, commit, [name for name in names if isinstance(name, str) and _is_inside(name)])

    def list_repositories(self, owner: str) -> list[str]:
        """List the repositories of an organization or a user that contain GGUF files.

        Raises:
            TokverifyError: If the hub does not respond, or there are too many.
        """
        url = f"{self.endpoint}/api/models?author={quote(owner, safe='')}&filter=gguf&limit={_PAGE}"
        ids: list[str] = []
        for _ in range(_MAX_PAGES):
            page = self._request(url, f"hf:{owner}/*")
            entries = page.content if isinstance(page.content, list) else []
            ids += [entry["id"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
            match = _NEXT_PAGE.search(page.link)
            if not match:
                return ids
            url = redirected(url, match[1])
        raise TokverifyError(f"hf:{owner}/*: more than {_MAX_PAGES * _PAGE} repositories; name fewer")

    def _request(self, url: str, name: str) -> _Page:
        try:
            response = self.client.get(url, max_bytes=_MAX_LISTING_BYTES)
        except NoResponseError as error:
            raise TokverifyError(
                f"{name}: the hub cannot be reached ({error}); try again, or use what is cached with HF_HUB_OFFLINE=1"
            ) from error
        if response.status != HTTPStatus.OK:
            raise explain(response, name)
        try:
            return _Page(parse_json(response.data), response.headers.get("link", ""))
        except JsonError as error:
            raise TokverifyError(f"{url}: the response is not JSON ({error}); is this the hub?") from error


def _is_inside(name: str) -> bool:
    """Whether the name of a file cannot lead out of its repository."""
    return ".." not in name.split("/") and not name.startswith("/") and "\\" not in name


@dataclass(frozen=True, slots=True)
class _Page:
    content: Any
    link: str
    """The header that contains the address of the next page."""


def explain(response: Response, name: str) -> TokverifyError:
    """Build the error for a response of the hub that is not a success; `name` is what was asked for."""
    code = response.headers.get("x-error-code", "")
    if code == "GatedRepo" or response.status == HTTPStatus.FORBIDDEN:
        problem = "access denied; if the repository is gated, accept its terms on the hub; then `hf auth login`"
    elif code == "RevisionNotFound":
        problem = "the repository has no such revision; check the name after @"
    elif code == "EntryNotFound":
        problem = "the repository has no such file; check the name"
    elif response.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND}:
        problem = "no such repository, or a private one; check the name, or set HF_TOKEN, or `hf auth login`"
    elif response.status == HTTPStatus.TOO_MANY_REQUESTS:
        problem = "too many requests; wait a few minutes, or set HF_TOKEN for a higher limit"
    else:
        message = response.headers.get("x-error-message", "")
        problem = f"unexpected response{f' ({summary(ValueError(message))})' if message else ''}; try again later"
    return TokverifyError(f"{name}: {describe_status(response.status)}: {problem}")
