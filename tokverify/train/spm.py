"""Train sentencepiece's byte-pair encoding, with the options of Llama 2's tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.train.note import require_size
from tokverify.train.sentencepiece_trainer import train_plan
from tokverify.train.trainer import Trained

if TYPE_CHECKING:
    from tokverify.train.trainer import TrainingPlan


def train(plan: TrainingPlan) -> Trained:
    """Train; what the vocabulary lacks is written in bytes, and digits stay single."""
    require_size(plan, 259, "256 bytes and 3 special tokens")
    data, notes = train_plan(
        plan,
        model_type="bpe",
        byte_fallback=True,
        split_digits=True,
        allow_whitespace_only_pieces=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    )
    config = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "add_bos_token": True}
    return Trained("tokenizer.model", data, notes, config | {"add_eos_token": False})
