"""Models in repositories of the HuggingFace hub: `hf:org/name[:quantization or file][@revision]`."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tokverify.errors import TokverifyError
from tokverify.sources.location import FILE_NAMES
from tokverify.sources.stores.choice import choose_file, tokenizer_files
from tokverify.sources.stores.head import HeadCache, obtain_head
from tokverify.sources.stores.model_file import ModelFile
from tokverify.sources.stores.remote_file import RemoteFile
from tokverify.system.cache import cache_directory, written_to_cache
from tokverify.system.http_address import redirected
from tokverify.system.http_client import Credentials, HttpClient, NoResponseError, Response, describe_status
from tokverify.system.json_input import JsonError, parse_json
from tokverify.system.library_error import summary
from tokverify.system.output_file import write_file

_NAME = re.compile(r"(\w[\w.-]*/\w[\w.-]*)(?::([^@]+))?(?:@([\w./-]+))?", re.ASCII)
COMMIT = re.compile("[0-9a-f]{40,64}")
"""The id of a commit."""


def find(name: str) -> ModelFile:
    """Find one model.

    A complete file in the local cache of the hub is preferred; otherwise, only the metadata is downloaded.

    Args:
        name: What follows `hf:`.

    Raises:
        TokverifyError: If there is no such model, or no access to it.
    """
    repository, wanted, revision = _parse(name)
    hub = Hub()
    listing = hub.list_files(repository, revision or "main")
    file = choose_file(listing.files, wanted, f"hf:{repository}")
    location = f"hf:{repository}:{file}@{listing.commit}"
    stem = Path(file).stem
    origin = None if set(FILE_NAMES).isdisjoint(listing.files) else f"{repository}@{listing.commit}"
    if cached := _find_cached(listing, file):
        return ModelFile(path=cached, name=stem, location=location, repository=origin)
    url = hub.url_of(listing, file)
    head = obtain_head(
        HeadCache(url),
        lambda: _connect(hub, url, location),
        location,
        is_immutable=True,
        is_offline=hub.is_offline,
    )
    return ModelFile(
        path=head.path, name=stem, location=location, sha256=head.sha256, repository=origin, is_partial=True
    )


def expand(name: str) -> list[str]:
    """Return the locations of all models that a name with `*` in it matches, such as `org/*` or `org/name:*`.

    Raises:
        TokverifyError: If there are none, or too many, or the hub does not respond.
    """
    owner, _, rest = name.partition("/")
    pattern, _, revision = rest.partition("@")
    repositories, _, files = pattern.partition(":")
    if not owner or "*" in owner or not rest:
        raise TokverifyError(f"hf:{name}: not a pattern of models; write org/*, org/name*, or org/name:*")
    at = f"@{revision}" if revision else ""
    matching = [f"{owner}/{repositories}"]
    if "*" in repositories:
        known = sorted(Hub().list_repositories(owner))
        matching = [each for each in known if fnmatch.fnmatchcase(each, f"{owner}/{repositories}")]
    if len(matching) > MAX_REPOSITORIES:
        raise TokverifyError(f"hf:{name}: {len(matching)} repositories; the limit is {MAX_REPOSITORIES}")
    locations = [location for each in matching for location in _expand_files(each, files, at)]
    if not locations:
        raise TokverifyError(f"hf:{name}: no repository with a GGUF file matches; check the pattern")
    return locations


def _expand_files(repository: str, files: str, at: str) -> list[str]:
    if "*" not in files:
        return [f"hf:{repository}{f':{files}' if files else ''}{at}"]
    models = tokenizer_files(Hub().list_files(repository, at.removeprefix("@") or "main").files)
    return [f"hf:{repository}:{file}{at}" for file in models if fnmatch.fnmatchcase(file, files)]


def _parse(name: str) -> tuple[str, str | None, str | None]:
    match = _NAME.fullmatch(name)
    if not match:
        raise TokverifyError(f"hf:{name}: not the name of a model; write hf:org/name, hf:org/name:Q4_K_M@revision, ...")
    return match[1], match[2], match[3]


def _find_cached(listing: Listing, file: str) -> Path | None:
    """Return the complete file in the cache that huggingface_hub and llama.cpp share, if it is there."""
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(listing.repository, file, revision=listing.commit)
    return Path(path) if isinstance(path, str) else None


def _connect(hub: Hub, url: str, location: str) -> RemoteFile:
    return RemoteFile(hub.client, url, location, partial(explain, name=location))


MAX_REPOSITORIES = 1000
"""The limit for the repositories that a pattern matches."""

_MAX_LISTING_BYTES = 1 << 24
_PAGE = 500
_MAX_PAGES = 20
_NEXT_PAGE = re.compile(r'<([^>]+)>\s*;\s*rel="next"')


# Sources: https://huggingface.co/docs/hub/api for the addresses, and huggingface_hub for the headers of its responses.
# The library itself is used for the settings that it shares with other tools: address, token, cache and offline mode.
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
            return _recall_listing(repository, revision)
        listing = self._request_files(repository, revision)
        _remember_listing(listing, revision)
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


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of one commit of a repository."""

    repository: str
    """Its id, `org/name`."""
    commit: str
    files: Sequence[str]
    """The paths of all files; offline, perhaps only of those in the local cache of the hub."""


def _remember_listing(listing: Listing, revision: str) -> None:
    """Keep what the hub has answered, for runs without a network.

    Raises:
        TokverifyError: If it cannot be written.
    """
    text = json.dumps({"commit": listing.commit, "files": list(listing.files)})
    for name in {revision, listing.commit}:
        note = _note(listing.repository, name)
        with written_to_cache(note.parent):
            note.parent.mkdir(parents=True, exist_ok=True)
            write_file(note, text)


def _recall_listing(repository: str, revision: str) -> Listing:
    """Return the last listing for a revision, or else the files in the local cache of the hub.

    Raises:
        TokverifyError: If neither is there.
    """
    try:
        known = json.loads(_note(repository, revision).read_bytes())
        return Listing(repository, known["commit"], known["files"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        listing = _list_cached(repository, revision)
    if listing is None:
        raise TokverifyError(f"hf:{repository}: not known locally, and HF_HUB_OFFLINE is set; run once without it")
    return listing


def _note(repository: str, revision: str) -> Path:
    return cache_directory() / "models" / "listings" / f"{quote(f'{repository}@{revision}', safe='@')}.json"


def _list_cached(repository: str, revision: str) -> Listing | None:
    """List the files that huggingface_hub or llama.cpp has downloaded."""
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE, f"models--{repository.replace('/', '--')}")
    try:
        commit = revision if COMMIT.fullmatch(revision) else (folder / "refs" / revision).read_text().strip()
    except (OSError, ValueError):
        return None
    snapshot = folder / "snapshots" / commit
    files = [path.relative_to(snapshot).as_posix() for path in snapshot.rglob("*") if path.is_file()]
    return Listing(repository, commit, files) if COMMIT.fullmatch(commit) and files else None


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
