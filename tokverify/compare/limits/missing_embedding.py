"""TL026: llama.cpp loads no more tokens than a model has embeddings."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.embedding import describe_rows, find_without_embedding
from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin
from tokverify.text.wording import list_tokens


@limit(code="TL026", name="missing-embedding", origin=Origin.RUNTIME, severity=INFO)
def missing_embedding(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp loads no more tokens than the model has embeddings.

    What llama.cpp does:
        The token embedding (`token_embd.weight`) must have a row for each token, or the model does not load. So the
        converter leaves out the added tokens from the model's `vocab_size` on (`_create_vocab_sentencepiece` in
        `conversion/base.py`). A file without tensors does not say how many embeddings its model has; then
        tokverify takes the `vocab_size` of the config.json beside the reference, if there is one.

    Which models:
        Small models that share a tokenizer with larger ones: Gemma 3 with 1B and 270M parameters has no
        `<image_soft_token>`. And fine-tunes of Llama whose `[PAD]` or `<pad>` has the id 32000, for 32,000 embeddings.

    How to live with it:
        The model was never trained with these tokens. Do not send them; texts without them are not affected.

    What it does not explain:
        A token without which chats do not work, such as one that ends a turn; a token that the model has at another
        id; an ordinary token. Such a reference belongs to another model.
    """
    added = find_without_embedding(sides.spec, sides.facts)
    if added:
        texts = {id: token.text for id, token in added.items()}
        names = list_tokens(list(texts), texts)
        yield Counterfactual(
            reason=f"{describe_rows(sides.spec, sides.facts)}, none of them for {names}",
            sentence=f"matching {names}, as {sides.facts.name} does",
            deviation=Deviation(specials={id: token.special for id, token in added.items()}, texts=texts),
            applies=lambda target: any(text in target.text for text in texts.values()),
        )
