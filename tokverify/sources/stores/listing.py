"""Which files a repository of the hub has, as far as that is known without asking the hub."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tokverify.errors import TokverifyError
from tokverify.system.cache import cache_directory, written_to_cache
from tokverify.system.output_file import write_file

COMMIT = re.compile("[0-9a-f]{40,64}")
"""The id of a commit."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of one commit of a repository."""

    repository: str
    """Its id, `org/name`."""
    commit: str
    files: Sequence[str]
    """The paths of all files; offline, perhaps only of those in the local cache of the hub."""


def remember_listing(listing: Listing, revision: str) -> None:
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


def recall_listing(repository: str, revision: str) -> Listing:
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
