"""Remember the texts on which a model and its reference differed, so that the next run tries them first.

This is a cache, like the example database of hypothesis: it may be deleted at any time, another version of tokverify
may ignore it, and a text that no longer differs is dropped. Cases are the permanent form of a text worth keeping.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.fuzz.sample import Sample
from tokverify.system.output_file import write_file

VARIABLE = "TOKVERIFY_CACHE"
"""The environment variable that names the directory of caches."""

MAX_KEPT = 500
_MAX_BYTES = 8 * 2**20
_VERSION = 1


def cache_directory() -> Path:
    """Return the directory for caches of this user, which need not exist."""
    if own := os.environ.get(VARIABLE):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tokverify")


@dataclass(frozen=True, slots=True)
class EarlierFailures:
    """The cached texts of one model and one reference."""

    path: Path

    @classmethod
    def of(cls, model: str, reference: str) -> EarlierFailures:
        """Return those of two tokenizers, given by where they come from."""
        key = f"{_resolve(model)}\n{_resolve(reference)}"
        name = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return cls(cache_directory() / "fuzz" / f"{name}.json")

    def read(self) -> tuple[Sample, ...]:
        """Return the texts; none if there are none, or the file is damaged or of another version."""
        try:
            if self.path.stat().st_size > _MAX_BYTES:
                return ()
            content = json.loads(self.path.read_bytes())
            if content["version"] != _VERSION:
                return ()
            return tuple(_to_sample(item) for item in content["texts"])[:MAX_KEPT]
        except (OSError, ValueError, LookupError, TypeError):
            return ()

    def write(self, samples: Iterable[Sample]) -> bool:
        """Replace the texts; return False if that is not possible, which is no reason to fail."""
        kept = list(dict.fromkeys(samples))[:MAX_KEPT]
        try:
            if not kept:
                self.path.unlink(missing_ok=True)
                return True
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_file(self.path, json.dumps({"version": _VERSION, "texts": [sample._asdict() for sample in kept]}))
        except (OSError, TokverifyError):
            return False
        return True


def _resolve(source: str) -> str:
    path = Path(source)
    return str(path.resolve() if path.exists() else source)


def _to_sample(item: dict[str, object]) -> Sample:
    text, add_special, parse_special = item["text"], item["add_special"], item["parse_special"]
    if not isinstance(text, str) or not isinstance(add_special, bool) or not isinstance(parse_special, bool):
        raise TypeError("a text and two flags are required")
    return Sample(text, add_special, parse_special)
