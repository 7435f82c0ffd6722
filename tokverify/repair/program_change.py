"""Explain a reference that declares nothing and does more than encode texts, as a program can.

It may lowercase them, remove spaces around them, or cut ids off. No file makes llama.cpp do that, so this costs more
than a change to the file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping

from tokverify.compare.limits.no_normalizer import FORMS
from tokverify.compare.opened import Opened
from tokverify.engine.deviation import Deviation
from tokverify.engine.families import find_family
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence
from tokverify.tokenizer import why_hidden

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
_BY_FILE = frozenset({"lowercasing texts", "removing accents", "normalizing texts with NFKC"})
"""What the file says of some models, so that it may be at fault."""


def _declares(facts: Opened) -> bool:
    """Whether a reference declares how it encodes, which leaves nothing to guess."""
    return facts.document is not None or facts.spec is not None


def rewritten_texts(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Change texts as the reference may do, if that changes all those whose ids differ."""
    expected, family = evidence.facts.tokenizer, find_family(evidence.spec.model)
    if expected is None or family is None or _declares(evidence.facts):
        return
    normalizes = family.uses_charsmap or "lowercase" in family.flags
    excluded = _BY_FILE if normalizes and not why_hidden(expected) else ()
    for name, rewrite in REWRITES.items():
        if name not in excluded and all(rewrite(target.text) != target.text for target in evidence.targets):
            yield TokenizerChange(
                kind="texts",
                sentence=f"{name} first (as the reference seems to do)",
                cost=cost.RUNTIME,
                deviation=Deviation(rewrite=rewrite),
            )


def cut_ids(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Return as many ids as the reference does if it returns equally many for all texts whose ids differ."""
    sizes = {len(target.expected) for target in evidence.targets}
    if _declares(evidence.facts) or len(sizes) != 1:
        return
    (size,) = sizes
    if not size:
        # What answers nothing is broken, and cuts nothing off.
        return
    for after, what in ((0, f"the first {size} ids"), (1, f"{size} ids, of which the last one ends the text")):
        yield TokenizerChange(
            kind="length",
            sentence=f"returning only {what} (as the reference seems to do)",
            cost=cost.RUNTIME,
            deviation=Deviation(cut=(size, after)),
        )
