"""Models in repositories of the HuggingFace hub: `hf:org/name[:quantization or file][@revision]`."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.sources.location import FILE_NAMES
from tokverify.sources.stores.choice import choose_file, tokenizer_files
from tokverify.sources.stores.head import HeadCache, obtain_head
from tokverify.sources.stores.hub_api import MAX_REPOSITORIES, Hub, explain
from tokverify.sources.stores.listing import Listing
from tokverify.sources.stores.model_file import ModelFile
from tokverify.sources.stores.remote_file import RemoteFile
from tokverify.system.http_client import Response

_NAME = re.compile(r"(\w[\w.-]*/\w[\w.-]*)(?::([^@]+))?(?:@([\w./-]+))?", re.ASCII)


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
    def explain_response(response: Response) -> TokverifyError:
        return explain(response, location)

    return RemoteFile(hub.client, url, location, explain_response)
