"""TV118: pieces that are written in the alphabet of another model."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.families import find_family
from tokverify.engine.family import Alphabet
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.report.finding import ERROR, Finding
from tokverify.sources.gguf.keys import MODEL, TOKENS

_FEWEST = 3


@rule(code="TV118", name="wrong-alphabet", severity=ERROR)
def wrong_alphabet(subject: Subject) -> Iterator[Finding]:
    """Require pieces in the alphabet that the model uses.

    What it does:
        Counts the tokens that begin with `Ġ`, the space of byte-level BPE, and with `▁`, that of sentencepiece. Models
        that write a space one way must not have a vocabulary that mostly writes it the other way.

    Why it is bad:
        No piece that contains a space is ever matched. The text is split into single letters and bytes.

    Example:
        Llama 3, which is byte-level BPE, exported with `tokenizer.ggml.model` `llama`.

    How to repair:
        Convert again; the model's name affects far more than the alphabet. If only the pieces are wrong, copy them from
        the reference with `tokverify fix MODEL -r REFERENCE -o FIXED`.

    Threads:
        ggml-org/llama.cpp#26799, onnxruntime/mobius#543
    """
    family = find_family(subject.spec.model)
    if family is None or family.alphabet is Alphabet.OWN:
        return
    joined = "\0" + "\0".join(subject.spec.tokens)
    byte_level, escaped = joined.count("\0Ġ"), joined.count("\0▁")
    pre = PRE_TOKENIZERS.get(family.pre or subject.spec.pre or "default")
    reads_byte_level = family.alphabet is Alphabet.BYTE_LEVEL and (pre is None or pre.byte_level)
    right, wrong = (byte_level, escaped) if reads_byte_level else (escaped, byte_level)
    if wrong >= _FEWEST and wrong > right:
        mark, other = ("▁", "Ġ") if reads_byte_level else ("Ġ", "▁")
        message = (
            f"{wrong:,} tokens begin with {mark}, and {right:,} with {other}, which the model "
            f"{subject.spec.model} uses for a space"
        )
        yield Finding(ERROR, message, keys=(MODEL, TOKENS), repair=FIX)
