"""Train sentencepiece's unigram model, with the options of T5's tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.files.sentencepiece.message import parse
from tokverify.train.note import require_size
from tokverify.train.sentencepiece_trainer import train_plan
from tokverify.train.trainer import Trained

if TYPE_CHECKING:
    from tokverify.train.trainer import TrainingPlan

_SCORE_UNIT = 2.0**-6


def train(plan: TrainingPlan) -> Trained:
    """Train; the model carries the map of characters `nmt_nfkc`, and what the vocabulary lacks is `<unk>`."""
    require_size(plan, 3, "3 special tokens")
    data, notes = train_plan(
        plan,
        model_type="unigram",
        normalization_rule_name="nmt_nfkc",
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
    )
    config = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "add_bos_token": False}
    return Trained("tokenizer.model", _with_round_scores(data), notes, config | {"add_eos_token": True})


def _with_round_scores(model: bytes) -> bytes:
    """Round the scores so that sums of them are exact, whatever floats a library adds them in.

    subtle: the same pieces in another order score the same, but rounding would rank them. llama.cpp adds in double
    precision and sentencepiece in single, where 24 bits are enough for texts of thousands of tokens.
    """
    message = parse(model)
    for piece in message.pieces:
        piece.score = round(piece.score / _SCORE_UNIT) * _SCORE_UNIT
    return message.SerializeToString()
