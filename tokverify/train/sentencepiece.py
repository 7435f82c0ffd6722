"""Train with sentencepiece: BPE like Llama 2's and unigram like T5's. The same lines always yield the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tokverify.errors import TokverifyError
from tokverify.sources.sentencepiece.message import parse
from tokverify.system.library_error import summary
from tokverify.train.corpus import read_lines
from tokverify.train.trainer import Trained, TrainingPlan, notes_on_size, require_size

_LONGEST_LINE = 1_000
"""The length to which lines are split, in characters."""
_NOTHING_LEFT = "(all_chars_count) > (0)"
_TOO_SMALL = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")
_SCORE_UNIT = 2.0**-6


def train_spm(plan: TrainingPlan) -> Trained:
    """Train BPE with byte fallback; digits stay single tokens, and texts are not normalized."""
    require_size(plan, 259, "256 bytes and 3 special tokens")
    data, notes = _train_plan(
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


def train_unigram(plan: TrainingPlan) -> Trained:
    """Train a unigram model with the normalizer `nmt_nfkc`; characters outside the vocabulary become `<unk>`."""
    require_size(plan, 3, "3 special tokens")
    data, notes = _train_plan(
        plan,
        model_type="unigram",
        normalization_rule_name="nmt_nfkc",
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
    )
    config = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "add_bos_token": False}
    return Trained("tokenizer.model", _round_scores(data), notes, config | {"add_eos_token": True})


def _round_scores(model: bytes) -> bytes:
    """Round the scores so that their sums are exact in single and in double precision.

    subtle: two orders of the same pieces score the same, but rounding errors would rank them. llama.cpp adds in double
    precision and sentencepiece in single, whose 24 bits are enough for texts of thousands of tokens.
    """
    message = parse(model)
    for piece in message.pieces:
        piece.score = round(piece.score / _SCORE_UNIT) * _SCORE_UNIT
    return message.SerializeToString()


def _train_plan(plan: TrainingPlan, **options: bool | int | str) -> tuple[bytes, tuple[str, ...]]:
    """Train as planned; return the model and notes. A small corpus yields a smaller vocabulary."""
    from sentencepiece import SentencePieceProcessor, set_random_generator_seed

    set_random_generator_seed(plan.seed)
    data = train_sentencepiece(read_lines(plan.corpus), vocab_size=plan.vocab_size, hard_vocab_limit=False, **options)
    return data, notes_on_size(plan, SentencePieceProcessor(model_proto=data).vocab_size())


def train_sentencepiece(lines: Iterable[str], *, vocab_size: int, **options: Any) -> bytes:  # noqa: ANN401 - those of the library
    """Train a model on lines of text, with the options of sentencepiece's trainer.

    Raises:
        TokverifyError: If sentencepiece refuses the corpus or the options.
    """
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=_split_long(lines),
            model_writer=model,
            vocab_size=vocab_size,
            # subtle: another number of threads adds floats in another order, and the number is written to the file.
            num_threads=1,
            minloglevel=2,
            **options,
        )
    except (RuntimeError, OSError) as error:
        raise _explain(error, vocab_size) from error
    return model.getvalue()


def _split_long(lines: Iterable[str]) -> Iterator[str]:
    """Split long lines at spaces, because sentencepiece silently skips lines of more than 4,192 bytes."""
    for line in lines:
        start = 0
        while len(line) - start > _LONGEST_LINE:
            space = line.rfind(" ", start + 1, start + _LONGEST_LINE)
            end = space if space > start else start + _LONGEST_LINE
            yield line[start:end]
            start = end
        yield line[start:]


def _explain(error: Exception, vocab_size: int) -> TokverifyError:
    if match := _TOO_SMALL.search(str(error)):
        return TokverifyError(
            f"a vocabulary of {vocab_size:,} tokens is too small: the fixed tokens and the characters of the corpus "
            f"take {int(match[1]):,}; request a larger vocabulary"
        )
    if _NOTHING_LEFT in str(error):
        return TokverifyError(
            "nothing to learn: normalization removes every character of the corpus; use a corpus that contains words"
        )
    return TokverifyError(f"sentencepiece cannot train on this corpus: {summary(error)}")
