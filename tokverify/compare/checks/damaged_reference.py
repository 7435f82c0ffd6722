"""TV213: a reference that a program has damaged."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.damage import find_damage
from tokverify.compare.damage.decoder import find_broken_decoder
from tokverify.compare.rule import rule, to_finding
from tokverify.compare.subject import Subject
from tokverify.report.finding import ERROR, WARNING, Finding


@rule(code="TV213", name="damaged-reference", severity=ERROR)
def damaged_reference(subject: Subject) -> Iterator[Finding]:
    """Expect a reference that produces its own tokens, and decodes what it encodes.

    What it does:
        Encodes the texts of tokens alone on both sides. A vocabulary is trained on the parts into which its
        pre-tokenizer splits texts, so nearly all tokens come back as themselves. If they do in the model, but many do
        not in the reference, the reference splits texts in another way than in training. Its pieces, its decoder and
        the files beside it can also show that it has lost its pattern, a stage, merges, `byte_fallback`, its charsmap,
        or the case or the accents of letters, that it removes the spaces of its own pieces, or does not write them as
        its pieces do, that its scores are not the logarithms of probabilities that a Unigram model adds up, that its
        byte tokens are out of order, that a limit of WordPiece makes its own longer pieces unusable, that a GGUF file
        does not name its pre-tokenizer, or, by the chat template of a GGUF file, that it has lost the types of markers.
        And the ids of plain texts are decoded, which must give the same texts again.

    Why it is bad:
        The reference is wrong, and a model that is converted from it, or compared with it, gets its fault. `run` names
        the reference as the one that is at fault, and no repair of the GGUF file is offered.

    Example:
        transformers 5 loads a tokenizer whose class is GPT2Tokenizer without its own pattern, and saves it so. A
        tokenizer.json without a decoder returns `HelloĠworld`.

    How to repair:
        Get the tokenizer.json of the publisher, from before it was loaded and saved, or name another reference.

    Threads:
        huggingface/transformers#45920, allenai/open-instruct#1896, meta-pytorch/tokenizers#198, mzau/mlx-knife#49,
        huggingface/swift-transformers#345, huggingface/transformers#44255, google/sentencepiece#873
    """
    reference = subject.reference
    yield from map(to_finding, find_damage(subject.encoder, reference))
    if reason := find_broken_decoder(subject.encoder, reference):
        yield Finding(WARNING, reason)
