"""Remember the texts on which a model and its reference differed, so that the next run tries them first.

This is a cache, like the example database of hypothesis: it may be deleted at any time, another version of tokverify
may ignore it, and a text that no longer differs is dropped. Cases are the permanent form of a text worth keeping.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokverify.system.cache import CacheFile
from tokverify.texts.sample import Sample

MAX_KEPT = 500
_VERSION = 1


@dataclass(frozen=True, slots=True)
class EarlierFailures:
    """The cached texts of one model and one reference."""

    file: CacheFile

    @classmethod
    def of(cls, model: str, reference: str) -> EarlierFailures:
        """Return those of two tokenizers, given by where they come from."""
        return cls(CacheFile.of("fuzz", model, reference))

    def read(self) -> tuple[Sample, ...]:
        """Return the texts; none if there are none, or the file is damaged or of another version."""
        texts = self.file.read(_VERSION).get("texts")
        try:
            return tuple(map(_to_sample, texts))[:MAX_KEPT] if isinstance(texts, list) else ()
        except (LookupError, TypeError):
            return ()

    def write(self, samples: Iterable[Sample]) -> bool:
        """Replace the texts; return False if that is not possible, which is no reason to fail."""
        kept = list(dict.fromkeys(samples))[:MAX_KEPT]
        return self.file.write(_VERSION, {"texts": [sample._asdict() for sample in kept]} if kept else {})


def _to_sample(item: dict[str, object]) -> Sample:
    text, add_special, parse_special = item["text"], item["add_special"], item["parse_special"]
    if not isinstance(text, str) or not isinstance(add_special, bool) or not isinstance(parse_special, bool):
        raise TypeError("a text and two flags are required")
    return Sample(text, add_special, parse_special)
