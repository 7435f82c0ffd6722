"""Training: from a corpus to a tokenizer file, its GGUF, and the proof that the two agree.

A new algorithm is one module with a function `train` and one line in `TRAINERS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tokverify.train.trainer import Trained, Trainer, TrainingPlan

TRAINERS: Mapping[str, Trainer] = {
    "bpe": Trainer(
        module="tokverify.train.bpe",
        summary="byte-level BPE, as GPT-2 has it",
        presets={"sheepop": 50_260},
    ),
    "spm": Trainer(
        module="tokverify.train.spm",
        summary="sentencepiece BPE with byte fallback, as Llama 2 has it",
        counts=False,
    ),
    "unigram": Trainer(
        module="tokverify.train.unigram",
        summary="sentencepiece unigram, as T5 has it",
        counts=False,
    ),
    "wordpiece": Trainer(
        module="tokverify.train.wordpiece",
        summary="WordPiece, as BERT has it",
    ),
    "cpp": Trainer(
        module="tokverify.train.presets.cpp",
        summary="a hybrid of fixed tokens for C++ and byte-level BPE",
        vocab_size=32_768,
    ),
}
"""Algorithm -> how it is trained."""

__all__ = ["TRAINERS", "Trained", "Trainer", "TrainingPlan"]
