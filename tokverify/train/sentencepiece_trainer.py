"""Train with sentencepiece, so that the same lines always give the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tokverify.errors import TokverifyError
from tokverify.system.library_error import summary
from tokverify.train.corpus import read_lines
from tokverify.train.note import too_few

if TYPE_CHECKING:
    from tokverify.train.trainer import TrainingPlan

_LONGEST_LINE = 1_000
_NOTHING_LEFT = "(all_chars_count) > (0)"
_TOO_SMALL = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")


def train_sentencepiece(lines: Iterable[str], *, vocab_size: int, **options: Any) -> bytes:  # noqa: ANN401 - as the library has them
    """Train a model on lines of text, with the options of sentencepiece's trainer.

    Raises:
        TokverifyError: If it cannot be trained so.
    """
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=_short(lines),
            model_writer=model,
            vocab_size=vocab_size,
            # subtle: another number of threads adds floats in another order, and the number is written to the file.
            num_threads=1,
            minloglevel=2,
            **options,
        )
    except (RuntimeError, OSError) as error:
        raise _explained(error, vocab_size) from error
    return model.getvalue()


def train_plan(plan: TrainingPlan, **options: bool | int | str) -> tuple[bytes, tuple[str, ...]]:
    """Train as planned; return the model and what there is to say of it.

    A corpus that does not hold enough for the vocabulary size gives a smaller vocabulary.
    """
    from sentencepiece import SentencePieceProcessor, set_random_generator_seed

    set_random_generator_seed(plan.seed)
    data = train_sentencepiece(read_lines(plan.corpus), vocab_size=plan.vocab_size, hard_vocab_limit=False, **options)
    return data, too_few(plan, SentencePieceProcessor(model_proto=data).vocab_size())


def _short(lines: Iterable[str]) -> Iterator[str]:
    """Cut long lines at spaces, as sentencepiece silently leaves out those beyond 4,192 bytes."""
    for line in lines:
        start = 0
        while len(line) - start > _LONGEST_LINE:
            space = line.rfind(" ", start + 1, start + _LONGEST_LINE)
            end = space if space > start else start + _LONGEST_LINE
            yield line[start:end]
            start = end
        yield line[start:]


def _explained(error: Exception, vocab_size: int) -> TokverifyError:
    if match := _TOO_SMALL.search(str(error)):
        return TokverifyError(
            f"a vocabulary of {vocab_size:,} tokens is too small: what is fixed and the characters of the corpus take "
            f"{int(match[1]):,}; ask for more"
        )
    if _NOTHING_LEFT in str(error):
        return TokverifyError(
            "nothing to learn: the normalization leaves no character of the corpus; take one that holds words"
        )
    return TokverifyError(f"sentencepiece cannot train on this: {summary(error)}")
