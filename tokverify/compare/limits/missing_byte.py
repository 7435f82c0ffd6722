"""TL020: bytes for which a vocabulary of byte-level BPE has no piece."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.compare.opened import Opened
from tokverify.engine.byte_level import byte_pieces, to_byte_level
from tokverify.engine.deviation import Deviation
from tokverify.references.huggingface import DescribedTokenizer
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.text.visible import visible

_OPTIONS = ("unk_token", "byte_fallback", "fuse_unk")


@limit(code="TL020", name="missing-byte", origin=Origin.RUNTIME, severity=WARNING)
def missing_byte(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp drops bytes that no piece stands for after merging, and HuggingFace tokenizers before, if at all.

    What llama.cpp does:
        Byte-level BPE needs a piece for each of the 256 bytes. llama.cpp loses a byte that has none, which keeps its
        neighbors apart while pieces are merged. HuggingFace tokenizers makes it an unknown token if the tokenizer.json
        has an `unk_token`, one for a whole run with `fuse_unk`; otherwise it loses the byte, too, but merges its
        neighbors across it.

    Which models:
        Those with a small vocabulary of their own, such as LaTeX-OCR. All large models have pieces for all bytes.

    How to live with it:
        Only texts with characters that the vocabulary cannot represent are affected; they lose these in llama.cpp.

    What it does not explain:
        A piece of the reference that the file lacks; a text whose bytes all have pieces; and, if the reference is
        rebuilt from the file, a byte that other pieces contain.
    """
    model, family = _model_of(sides.facts), sides.settings.family
    if not family.is_bpe or sides.settings.escape_whitespaces or model is None:
        return
    if model.get("byte_fallback"):
        return
    # subtle: `difference` and `isdisjoint` would go through all pieces.
    missing = {piece for piece in byte_pieces() if piece not in model["vocab"]}
    if not missing or any(piece in sides.settings.ids for piece in missing):
        return
    doubtful = _doubtful_bytes(sides, missing)
    unknown = model.get("unk_token")
    if unknown is None:
        reason = "llama.cpp keeps bytes that no piece stands for until pieces are merged"
        sentence = "dropping bytes that no piece stands for before merging"
    elif unknown in sides.settings.ids:
        reason = "llama.cpp loses bytes that no piece stands for"
        sentence = f"replacing bytes that no piece stands for by `{visible(unknown)}`"
    else:
        return
    yield Counterfactual(
        reason=reason,
        sentence=sentence,
        deviation=Deviation(missing=unknown or "", fuse_unknown=model.get("fuse_unk")),
        applies=lambda target: _lacks(to_byte_level(target.text), missing, doubtful),
    )


def _lacks(text: str, missing: Collection[str], doubtful: Collection[str]) -> bool:
    found = set(text).intersection(missing)
    return bool(found) and found.isdisjoint(doubtful)


def _doubtful_bytes(sides: Sides, missing: Collection[str]) -> frozenset[str]:
    """Return the missing bytes that the file may have lost, of which a reference that is rebuilt from it knows nothing.

    A byte that pieces contain had a piece when they were merged.
    """
    if sides.facts.document:
        return frozenset()
    return frozenset(missing).intersection("".join(sides.settings.pieces))


def _model_of(facts: Opened) -> Mapping[str, Any] | None:
    """Return the model of a tokenizer.json, or what the library shows of a model that was not read from one."""
    if facts.document:
        return {**facts.document.model, "vocab": facts.document.tables.vocab}
    if not isinstance(facts.tokenizer, DescribedTokenizer):
        return None
    model = facts.tokenizer.library.model
    return {"vocab": facts.pieces, **{option: getattr(model, option, None) for option in _OPTIONS}}
