"""Short texts and the ids that a reference gives for them: the evidence by which hypotheses are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from tokverify.engine.encoder import Encoder
from tokverify.engine.pre_search import PROBES
from tokverify.texts.batch import Queries, encode_one

_WINDOW = 14
_STEP = 5
_JOINED_TEXTS = 400
_RUNS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 16, 19, 23, 31, 33, 40, 47, 64)
_MORE = (
    "Don't STOP me now, I'm HAVING such a good time: 24/7!",
    "def f(x):\n    return {'a': x[0], 'b': x**2}  # comment\n\n\n",
    "Ünïcödé ÀÉÎÕÜ àéîõü ǅ ŒUVRE straße İstanbul ſ",
    "１２３ ＡＢＣ ﬁ ① ² ㌔ ℌ ½",
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A text and the ids that the reference gives for it, without special tokens."""

    text: str
    ids: Sequence[int]


def take_samples(queries: Queries, texts: Sequence[str | None]) -> list[Sample]:
    """Encode texts that separate pre-tokenizers, parts of them, and a few tokens in a row."""
    chosen = list(dict.fromkeys([*_make_windows(), *_repeat_blanks(), *_join_tokens(texts)]))
    encodings = zip(chosen, queries.encode_all(chosen), strict=True)
    return [Sample(text, ids) for text, ids in encodings if ids is not None]


def _make_windows() -> Iterator[str]:
    for text in (*PROBES, *_MORE):
        yield text
        # The last text is one long run.
        starts = range(0, min(len(text), 200) - _WINDOW + 1, _STEP)
        yield from (text[start : start + _WINDOW] for start in starts)


def _repeat_blanks() -> Iterator[str]:
    """Yield runs of white space, which some vocabularies merge in another order than everything else."""
    for blank in " \n\t":
        for length in _RUNS:
            yield blank * length
            yield f"x{blank * length}y"


def _join_tokens(texts: Sequence[str | None]) -> Iterator[str]:
    rng = Random(0)  # noqa: S311 - no secret
    known = [text for text in texts if text]
    for _ in range(_JOINED_TEXTS if known else 0):
        yield rng.choice(("", "", " ")).join(rng.choices(known, k=rng.randint(2, 4)))


def count_agreements(encoder: Encoder, samples: Sequence[Sample]) -> int:
    """Count the samples that a hypothesis encodes to the same ids."""
    return sum(encode_one(encoder, sample.text) == list(sample.ids) for sample in samples)
