"""Explain a reference that declares nothing and changes texts before it encodes them, as a program can.

It may lowercase them, or remove spaces around them. Then no file is at fault, and nothing else explains the ids.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping

from tokverify.compare.limits.no_normalizer import FORMS
from tokverify.engine.deviation import Deviation
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence

_SPACES = re.compile(" +")


def _remove_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(mark for mark in decomposed if unicodedata.category(mark) != "Mn"))


REWRITES: Mapping[str, Callable[[str], str]] = {
    "lowercasing texts": str.lower,
    "removing white space around texts": str.strip,
    "removing spaces around texts": lambda text: text.strip(" "),
    "merging white space": lambda text: " ".join(text.split()),
    "merging spaces": lambda text: _SPACES.sub(" ", text),
    "removing accents": _remove_accents,
    "removing characters beyond ASCII": lambda text: text.encode("ascii", "ignore").decode(),
    "replacing characters beyond ASCII by ?": lambda text: text.encode("ascii", "replace").decode(),
    "removing line ends": lambda text: text.replace("\r", "").replace("\n", ""),
    "making spaces of line ends": lambda text: text.replace("\r\n", " ").replace("\n", " "),
    # Limits explain all but the texts in which this makes a special token.
    "normalizing texts with NFKC": FORMS["NFKC"],
}
"""What programs do to texts."""


def rewritten_texts(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Change texts as the reference may do, if that changes all those whose ids differ."""
    if evidence.facts.document or evidence.facts.spec:
        return
    for name, rewrite in REWRITES.items():
        if all(rewrite(target.text) != target.text for target in evidence.targets):
            yield TokenizerChange(
                kind="texts",
                sentence=f"{name} first (as the reference seems to do)",
                cost=cost.RUNTIME,
                deviation=Deviation(rewrite=rewrite),
            )
