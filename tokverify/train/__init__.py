"""Train a tokenizer on a corpus, convert it to GGUF, and verify that the two agree."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module

from tokverify.train.trainer import Trained, Trainer, TrainingPlan


def _train(module: str, name: str, plan: TrainingPlan) -> Trained:
    trained: Trained = getattr(import_module(f"{__name__}.{module}"), name)(plan)
    return trained


# A module is imported when its function is called: listing the algorithms must not load any of them.
TRAINERS: Mapping[str, Trainer] = {
    "bpe": Trainer(partial(_train, "bpe", "train"), "byte-level BPE, like GPT-2's", presets={"sheepop": 50_260}),
    "spm": Trainer(
        partial(_train, "sentencepiece", "train_spm"),
        "sentencepiece BPE with byte fallback, like Llama 2's",
        uses_min_frequency=False,
    ),
    "unigram": Trainer(
        partial(_train, "sentencepiece", "train_unigram"),
        "a sentencepiece unigram model, like T5's",
        uses_min_frequency=False,
    ),
    "wordpiece": Trainer(partial(_train, "wordpiece", "train"), "WordPiece, like BERT's"),
    "cpp": Trainer(
        partial(_train, "presets.cpp", "train"),
        "a hybrid of fixed tokens for C++ and byte-level BPE",
        vocab_size=32_768,
    ),
}
"""The algorithms by name. A new one is one module and one row."""

__all__ = ["TRAINERS", "Trained", "Trainer", "TrainingPlan"]
