"""Read how a tokenizer.json writes spaces like sentencepiece: as `▁`, possibly with one before the text.

This can be declared by normalizers (`Prepend`, `Replace`) or by the pre-tokenizer `Metaspace`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.text.visible import visible

if TYPE_CHECKING:
    from tokverify.sources.huggingface.document import Document
    from tokverify.sources.huggingface.stage import Stage

_REPLACE_SPACE = {"type": "Replace", "pattern": {"String": " "}, "content": ESCAPED_SPACE}
_PREPEND = {"type": "Prepend", "prepend": ESCAPED_SPACE}


@dataclass(frozen=True, slots=True)
class Spaces:
    """How spaces are written."""

    prefix: bool
    """Whether a space is added before the text."""
    splits: bool
    """Whether texts are split before spaces."""

    def require_inside_words(self, document: Document, pieces: Iterable[str]) -> None:
        """Check that no piece continues across a space if texts are split there, because llama.cpp does not split."""
        crossing = next((piece for piece in pieces if ESCAPED_SPACE in piece[1:]), None) if self.splits else None
        if crossing is not None:
            raise document.unsupported(
                "pre_tokenizer Metaspace split", f"llama.cpp can produce {visible(crossing)}, which is split here"
            )


def read_spaces(document: Document, normalizer: Sequence[Stage], pre_tokenizer: Sequence[Stage]) -> Spaces:
    """Determine from these stages of the document how spaces are written.

    Raises:
        UnsupportedError: If a stage does anything else, or none writes spaces as `▁`.
    """
    for stage in normalizer:
        if stage not in (_PREPEND, _REPLACE_SPACE):
            raise document.unsupported(f"normalizer {stage['type']}")
    prepends, replaces = _PREPEND in normalizer, _REPLACE_SPACE in normalizer
    spaces = Spaces(prefix=prepends, splits=False) if replaces else None
    for stage in pre_tokenizer:
        if stage["type"] == "Metaspace" and stage["replacement"] == ESCAPED_SPACE:
            spaces = Spaces(prefix=prepends or stage["prepend_scheme"] != "never", splits=stage["split"])
        # A split at spaces has no effect if they have been replaced.
        elif not (replaces and stage["type"] == "Split" and stage["pattern"] == {"String": " "}):
            raise document.unsupported(f"pre_tokenizer {stage['type']}")
    if spaces is None:
        raise document.unsupported("pre_tokenizer", "neither ByteLevel nor one that writes spaces as `▁`")
    return spaces
