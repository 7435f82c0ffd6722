"""TV118: pieces that are written in the alphabet of another model."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.space_mark import describe_foreign_spaces
from tokverify.report.finding import ERROR, Finding
from tokverify.sources.gguf.keys import MODEL, TOKENS


@rule(code="TV118", name="wrong-alphabet", severity=ERROR)
def wrong_alphabet(subject: Subject) -> Iterator[Finding]:
    """Require pieces in the alphabet that the model uses.

    What it does:
        Counts the tokens that begin with `Ġ`, the space of byte-level BPE, and with `▁`, that of sentencepiece. Models
        that write a space one way must not have a vocabulary that mostly writes it the other way, nor `bert` one with
        the `##` of a vocab.txt, which llama.cpp's converter turns into `▁` before all other pieces.

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
    if found := describe_foreign_spaces(subject.spec):
        message = f"{found}, which the model {subject.spec.model} uses for a space"
        yield Finding(ERROR, message, keys=(MODEL, TOKENS), repair=FIX)
