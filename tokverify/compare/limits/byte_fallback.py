"""TL009: the model decides whether unknown text is encoded as bytes."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL009", name="byte-fallback", origin=Origin.RUNTIME, severity=WARNING)
def byte_fallback(sides: Sides) -> Iterator[Counterfactual]:
    """The model decides whether text that no piece matches is encoded as bytes or as unknown.

    What llama.cpp does:
        Its unigram model (`t5`) never falls back to byte tokens such as `<0x0A>`, even if the vocabulary has all 256; a
        run of unknown characters becomes one unknown token. Its `llama` model always falls back to them, and aborts if
        there are none. A case on which it aborts is an error, which no limit excuses.

    Which models:
        Unigram models that sentencepiece trained with `byte_fallback`; models of merges whose tokenizer.json has
        byte tokens but `byte_fallback` off, and no decoder for them; and models of merges that sentencepiece trained
        without `byte_fallback`.

    How to live with it:
        Only texts with characters outside the vocabulary are affected: rare scripts and symbols. If llama.cpp aborts on
        them, such a model cannot be served to others.

    What it does not explain:
        A character that is a piece of the reference, but not of the file.
    """
    settings = sides.settings
    unknown = settings.special_ids.get("unk")
    byte_ids = {settings.ids[text] for text in (f"<0x{byte:02X}>" for byte in range(256)) if text in settings.ids}
    if unknown is None or 0 < len(byte_ids) < 256:  # noqa: PLR2004 - all bytes
        return
    if byte_ids and settings.family.ranking is Ranking.SCORE_SUM:
        # For HuggingFace tokenizers, a byte token is also a piece like any other, which it finds in a text.
        usable = dict.fromkeys(byte_ids, True) if sides.facts.document else {}
        yield Counterfactual(
            reason="llama.cpp's unigram model never encodes unknown characters as bytes",
            sentence="encoding unknown characters as bytes",
            deviation=Deviation(byte_fallback=True, usable=usable),
            applies=lambda target: not byte_ids.isdisjoint(target.expected),
        )
    elif settings.family.ranking is Ranking.SCORE:
        fuses = sides.facts.fuses_unknown
        for fuse in (True, False) if fuses is None else (fuses,):
            sentence = "treating what the vocabulary lacks as unknown instead of encoding its bytes"
            always = "always encodes unknown characters as bytes"
            yield Counterfactual(
                reason=f"llama.cpp {always}" if byte_ids else f"llama.cpp {always}, and aborts without byte tokens",
                sentence=sentence if fuse else f"{sentence}, with one token per character",
                deviation=Deviation(fuse_unknown=fuse),
                applies=lambda target: unknown in target.expected,
                is_guess=fuses is None,
            )
