"""TL004: llama.cpp classifies characters by an older version of Unicode."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter
from tokverify.engine.unicode_version import FIRST_LETTERS, UNICODE_VERSION, has_unassigned
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL004", name="unicode-version", origin=Origin.RUNTIME, severity=INFO)
def unicode_version(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp classifies characters by an older version of Unicode than the reference.

    What llama.cpp does:
        Its tables of letters, digits and marks are those of Unicode 15.1. A character that was assigned later, such as
        the Garay digits of Unicode 16 (from U+10D40 on), is neither a letter nor a digit there, so a pattern splits the
        text around it differently.

    Which models:
        All with a pre-tokenizer that asks for letters or digits: Llama 3, GPT-4o, Qwen, Mistral with tekken.

    How to live with it:
        Only texts in scripts that Unicode added since September 2023 are affected; they are encoded as bytes anyway.

    What it does not explain:
        Any text without such a character; and a wrong name of the pre-tokenizer, because its patterns stay the same.
    """
    if sides.settings.family.is_bpe:
        split = splitter(PRE_TOKENIZERS[sides.settings.pre], newest_unicode=True)
        newest = _version_of(sides) or "a later version of Unicode"
        yield Counterfactual(
            reason=f"llama.cpp classifies characters by Unicode {UNICODE_VERSION}, and the reference by {newest}",
            sentence=f"classifying characters by {newest} instead of Unicode {UNICODE_VERSION}",
            deviation=Deviation(split_pre_tokens=split),
            applies=lambda target: has_unassigned(target.text),
        )


def _version_of(sides: Sides) -> str:
    """Return the version by which the reference classifies characters; empty if that is not known."""
    if sides.facts.document is None:
        return ""
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    split = Split(Regex(r"\p{L}"), "isolated").pre_tokenize_str
    known = [version for version, letter in FIRST_LETTERS.items() if len(split(f"{letter}\uffff")) > 1]
    return f"Unicode {known[-1]}" if known else ""
