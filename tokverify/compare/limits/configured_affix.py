"""TL027: classes of transformers add BOS and EOS as tokenizer_config.json says, whatever the tokenizer.json does."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.blame import compare_around
from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL027", name="configured-affix", origin=Origin.CONVENTION, severity=INFO)
def configured_affix(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp's converter adds BOS and EOS as tokenizer_config.json says, where the tokenizer.json does otherwise.

    What llama.cpp does:
        Its converter copies `add_bos_token` and `add_eos_token` (`SpecialVocab` in gguf-py's vocab.py). transformers
        follows them, too, for the classes `LlamaTokenizer`, `CodeLlamaTokenizer`, `GemmaTokenizer` and
        `CohereTokenizer`, which replace the post-processor of the tokenizer.json. The tokenizers library, which reads
        nothing else, adds other tokens.

    Which models:
        DeepSeek-Coder, whose tokenizer.json adds no BOS. That of Command R+ adds two tokens after a text (TL018).

    How to live with it:
        The model was trained with what transformers adds, so the file is right.

    What it does not explain:
        A file that adds another token than the configuration names; another class, whose tokenizer.json counts.
    """
    expected = sides.facts.tokenizer
    settled = [each for each in sides.facts.contradictions if each.is_settled]
    around = compare_around(settled, sides.encoder, expected) if expected else []
    if any(blame for *_, blame in around) and all(blame or ours == theirs for ours, theirs, blame in around):
        (_, before, _), (_, after, _) = around
        yield Counterfactual(
            reason="the file adds BOS and EOS as tokenizer_config.json says, which the class named there follows",
            sentence="adding the tokens around a text that the tokenizer.json adds",
            deviation=Deviation(around=(tuple(before), tuple(after))),
            applies=lambda target: target.add_special,
        )
