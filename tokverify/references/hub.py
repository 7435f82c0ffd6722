"""References from a repository on the HuggingFace hub: from the local cache, or downloaded by the hub's library."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from tokverify.errors import TokverifyError
from tokverify.location import COMPANIONS, TEMPLATES
from tokverify.references.file import open_file
from tokverify.references.reference import FoundReference, Request
from tokverify.sources.config import MOST_TEMPLATES
from tokverify.sources.location import FILE_NAMES
from tokverify.system.beside import Beside
from tokverify.system.library_error import raised_as, summary

MAX_SECONDS = 600.0
"""The limit for all files of a repository together."""
MAX_BYTES = 1 << 27
"""The limit for one of them."""


_Result = TypeVar("_Result")


class UnreachableError(TokverifyError):
    """The hub cannot be reached: no network, offline mode, or no answer in time."""


def load(request: Request) -> FoundReference:
    """Open the repository `org/name` or `org/name@revision`."""
    found = open_repository(request.location.text)
    return replace(found, reason=f"as requested, {found.reason}")


def open_repository(hub_id: str, *, patience: float = 10.0, online: bool = True) -> FoundReference:
    """Open the tokenizer of a repository, from the local cache if it is there.

    Args:
        hub_id: `org/name` or `org/name@revision`.
        patience: Seconds to wait for the hub's first answer.
        online: Whether to download what is not in the cache.

    Raises:
        UnreachableError: If it is not in the cache and the hub cannot be reached.
        TokverifyError: If the hub has no such repository or revision, or there is no tokenizer in it.
        BrokenFileError: If the tokenizer in it cannot be read.
        UnsupportedError: If it is a tiktoken vocabulary whose pattern is not known.
        MissingLibraryError: If the library that reads it is not installed.
    """
    import huggingface_hub

    repo, _, revision = hub_id.partition("@")
    reason = "from the local cache of the hub"
    path = _find_cached(repo, revision or None)
    if path is None and not online:
        raise UnreachableError(f"{hub_id}: not in the local cache")
    if path is None:
        reason = "downloaded from the hub"
        path = _download(repo, revision or None, patience)
    found = open_file(path)
    return replace(
        found,
        source=f"{repo}@{_commit(path) or revision or 'main'}/{path.name}",
        reason=reason,
        versions={**found.versions, "huggingface_hub": huggingface_hub.__version__},
    )


def _find_cached(repo: str, revision: str | None) -> Path | None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    for name in FILE_NAMES:
        try:
            return Path(hf_hub_download(repo, name, revision=revision, local_files_only=True))
        except LocalEntryNotFoundError:
            continue
        except HFValidationError as error:
            raise TokverifyError(f"{repo}: not a hub id ({summary(error)})") from error
    return None


def _download(repo: str, revision: str | None, patience: float) -> Path:
    from huggingface_hub.errors import EntryNotFoundError

    name = _name_on_hub(repo, revision, patience)
    until = time.monotonic() + MAX_SECONDS
    with raised_as(UnreachableError, f"{repo}: {name} cannot be downloaded"):
        path = _fetch(repo, name, revision, until)
        for companion in (*COMPANIONS, *_run(lambda: _list_templates(repo, revision), until)):
            try:
                _fetch(repo, companion, revision, until)
            except EntryNotFoundError:
                continue
    return path


def _list_templates(repo: str, revision: str | None) -> list[str]:
    """List the further chat templates of a repository, for which no names are fixed; none if the hub lists no files."""
    from huggingface_hub import list_repo_tree
    from huggingface_hub.errors import HfHubHTTPError

    try:
        entries = (entry.path for entry in list_repo_tree(repo, TEMPLATES, revision=revision))
        return list(islice((path for path in entries if path.endswith(".jinja")), MOST_TEMPLATES))
    except HfHubHTTPError as error:
        if error.response is not None and error.response.status_code == HTTPStatus.NOT_FOUND:
            return []
        raise


def _fetch(repo: str, name: str, revision: str | None, until: float) -> Path:
    """Download a file within the limits."""
    from huggingface_hub import hf_hub_download

    options = _limit_size(hf_hub_download)
    return Path(_run(lambda: hf_hub_download(repo, name, revision=revision, **options), until))


def _run(request: Callable[[], _Result], until: float) -> _Result:
    """Make a request within the limit; the library would wait for a server that sends slowly, or without an end."""
    try:
        return Beside(request).result(max(until - time.monotonic(), 0.0))
    except TimeoutError:
        raise TokverifyError(f"the limit for all files is {MAX_SECONDS:g} s") from None


def _limit_size(download: Callable[..., str]) -> dict[str, Any]:
    """Return the options with which a download ends at the limit; earlier versions of the library have none."""
    if "tqdm_class" not in signature(download).parameters:
        return {}
    from huggingface_hub.utils import tqdm

    class Limited(tqdm):  # type: ignore[misc]  # the library has no types here
        """A progress bar that refuses what is too large."""

        received: float = 0

        def update(self, n: float | None = 1) -> bool | None:
            self.received += n or 0
            if self.received > MAX_BYTES:
                raise TokverifyError(f"larger than {MAX_BYTES >> 20} MiB, the limit")
            shown: bool | None = super().update(n)
            return shown

    return {"tqdm_class": Limited}


def _name_on_hub(repo: str, revision: str | None, patience: float) -> str:
    """Ask the hub which tokenizer file a repository has.

    `hf_hub_download` alone would retry for minutes without a network.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import EntryNotFoundError

    for name in FILE_NAMES:
        try:
            get_hf_file_metadata(hf_hub_url(repo, name, revision=revision), timeout=patience)
        except EntryNotFoundError:
            continue
        except Exception as error:
            raise _to_error(error, repo, revision) from error
        return name
    raise TokverifyError(f"{repo}: the repository contains none of {', '.join(FILE_NAMES)}")


def _to_error(error: Exception, repo: str, revision: str | None) -> TokverifyError:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    if isinstance(error, GatedRepoError):
        return TokverifyError(f"{repo}: the repository is gated; accept its terms there, then `hf auth login`")
    if isinstance(error, RepositoryNotFoundError):
        return TokverifyError(
            f"{repo}: no such file, and no such repository on the hub, or a private one; check the name, or"
            " `hf auth login`"
        )
    if isinstance(error, RevisionNotFoundError):
        return TokverifyError(f"{repo}: the repository has no revision {revision}")
    return UnreachableError(
        f"{repo}: not in the local cache, and the hub cannot be reached ({summary(error)}); "
        f"`hf download {repo} tokenizer.json` while online, or name a local file (there is none of this name)"
    )


def _commit(path: Path) -> str | None:
    """Return the commit that a file in the hub's cache belongs to."""
    return path.parent.name if path.parent.parent.name == "snapshots" else None
