"""TL028: the library for a tokenizer.json does not read the added tokens that only the files beside it list."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin
from tokverify.text.wording import list_tokens
from tokverify.tokenizer import DocumentHolding


@limit(code="TL028", name="companion-token", origin=Origin.CONVENTION, severity=INFO)
def companion_token(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp's converter reads the added tokens that only the files beside a tokenizer list.

    What llama.cpp does:
        Its converter asks transformers, which adds the tokens of `added_tokens_decoder` in tokenizer_config.json, or of
        added_tokens.json, to those of the tokenizer.json or .model file. The tokenizers and sentencepiece libraries
        read nothing else than that file, so they split the texts of these tokens. It appends a token to a
        tokenizer.json whose id belongs to another one there.

    Which models:
        Qwen3.5, whose tokenizer_config.json alone has `<|audio_start|>`, `<tts_pad>` and five more; fine-tunes with an
        added_tokens.json; HelpingAI, whose tokenizer_config.json has the runs of spaces of GPT-NeoX.

    How to live with it:
        The file is right. Texts that do not contain these tokens are not affected.

    What it does not explain:
        A token that the file has at another id, with another text, or as an ordinary token, which is not matched in
        texts at all. And a tokenizer.json without BOS or EOS: it has lost them.
    """
    listed = sides.facts.left_out
    left_out = [id for id, text in listed.items() if id in sides.added and sides.added[id].text == text]
    around = {sides.settings.special_ids.get(role) for role in ("bos", "eos")}
    has_lost_roles = isinstance(sides.facts.tokenizer, DocumentHolding) and not around.isdisjoint(left_out)
    if left_out and not has_lost_roles:
        names = list_tokens(left_out, listed)
        yield Counterfactual(
            reason=f"only the files beside the reference list {names}",
            sentence=f"not matching {names}, as {sides.facts.name} does not",
            deviation=Deviation(specials=dict.fromkeys(left_out)),
            applies=lambda target: any(listed[id] in target.text for id in left_out),
        )
