"""Train a tokenizer on a corpus, convert it to GGUF, and verify that the two agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tokverify.train.corpus import Preparation
from tokverify.train.trainer import Trained, Trainer, TrainingPlan

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder
    from tokverify.report.train import ChecklistPoint


def _train_bpe(plan: TrainingPlan) -> Trained:
    from tokverify.train.bpe import train

    return train(plan)


def _train_spm(plan: TrainingPlan) -> Trained:
    from tokverify.train.sentencepiece import train_spm

    return train_spm(plan)


def _train_unigram(plan: TrainingPlan) -> Trained:
    from tokverify.train.sentencepiece import train_unigram

    return train_unigram(plan)


def _train_wordpiece(plan: TrainingPlan) -> Trained:
    from tokverify.train.wordpiece import train

    return train(plan)


def _train_cpp(plan: TrainingPlan) -> Trained:
    from tokverify.train.presets.cpp import train

    return train(plan)


def _check_cpp(encoder: Encoder) -> Iterable[ChecklistPoint]:
    from tokverify.train.presets.cpp import check_points

    return check_points(encoder)


# Each function imports its module when it is called: listing the algorithms must not load any of them.
TRAINERS: Mapping[str, Trainer] = {
    "bpe": Trainer(_train_bpe, "byte-level BPE, like GPT-2's", traces_merges=True, presets={"sheepop": 50_260}),
    "spm": Trainer(_train_spm, "sentencepiece BPE with byte fallback, like Llama 2's", uses_min_frequency=False),
    "unigram": Trainer(_train_unigram, "a sentencepiece unigram model, like T5's", uses_min_frequency=False),
    "wordpiece": Trainer(_train_wordpiece, "WordPiece, like BERT's"),
    "cpp": Trainer(
        _train_cpp,
        "a hybrid of fixed tokens for C++ and byte-level BPE",
        vocab_size=32_768,
        preparations=tuple(map(str, Preparation)),
        check_points=_check_cpp,
    ),
}
"""The algorithms by name. A new one is one module and one row."""

__all__ = ["TRAINERS", "Trained", "Trainer", "TrainingPlan"]
