"""Small JSON files that remember something between runs. All of them may be deleted at any time."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.system.output_file import write_file

VARIABLE = "TOKVERIFY_CACHE"
"""The environment variable that names the directory of caches."""

_MAX_BYTES = 8 * 2**20


def cache_directory() -> Path:
    """Return the directory for caches of this user, which need not exist; without a home directory, it cannot."""
    if own := os.environ.get(VARIABLE):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or _home() / ".cache", "tokverify")


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # the user that a container runs as need not be a known one
        return Path(os.devnull)


@contextmanager
def written_to_cache(directory: Path) -> Iterator[None]:
    """Report an error while a directory of the cache is made, or written to.

    Raises:
        TokverifyError: If the directory or something in it cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise TokverifyError(
            f"{directory}: cannot be written ({error.strerror}); name another directory in {VARIABLE}"
        ) from error


@dataclass(frozen=True, slots=True)
class CacheFile:
    """A file of the cache. What cannot be read or written is treated as if there were no cache."""

    path: Path

    @classmethod
    def of(cls, kind: str, model: str | Path, reference: str) -> CacheFile:
        """Return what the cache remembers about two tokenizers, given by their locations.

        Args:
            kind: What is remembered, as the name of a directory.
            model: A path, or any other text that identifies the tokenizer under test.
            reference: The same for the reference.
        """
        key = f"{_resolve(model)}\n{_resolve(reference)}"
        name = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return cls(cache_directory() / kind / f"{name}.json")

    def read(self, version: int) -> Mapping[str, object]:
        """Return the content; nothing if there is none, or it is damaged or of another version."""
        try:
            if self.path.stat().st_size > _MAX_BYTES:
                return {}
            content = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return content if isinstance(content, dict) and content.get("version") == version else {}

    def write(self, version: int, content: Mapping[str, object]) -> bool:
        """Replace the content, or remove the file if there is none; return False if that is not possible."""
        try:
            if not content:
                self.path.unlink(missing_ok=True)
                return True
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_file(self.path, json.dumps({"version": version, **content}))
        except (OSError, TokverifyError):
            return False
        return True


def _resolve(location: str | Path) -> Path | str:
    path = Path(location)
    return path.resolve() if path.exists() else str(location)
