"""TV108: scores that rank nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.audit.repair import FIX
from tokverify.audit.rule import rule
from tokverify.engine.families import find_family
from tokverify.files.gguf.declaration import SCORES
from tokverify.report.finding import ERROR, Finding
from tokverify.spec import TokenType

if TYPE_CHECKING:
    from tokverify.audit.subject import Subject


@rule(code="TV108", name="constant-score", severity=ERROR)
def constant_score(subject: Subject) -> Iterator[Finding]:
    """Require scores that differ where the model goes by scores.

    What it does:
        For the models `llama`, `t5`, `plamo2` and `plamo3`, looks at the scores of the ordinary tokens. They must be
        there, and not all be the same. Special tokens are left out: theirs are mostly -1000 or 0. So is `gemma4`, which
        goes by merges.

    Why it is bad:
        The score says which of two possible tokens is right. If all are equal, texts are put together from left to
        right by chance; short English words may still come out right, which hides it.

    Example:
        MiniCPM converted to `llama` with -1000 for every score: `你好，世界！` became other tokens.

    How to repair:
        Convert again from the sentencepiece model, or take its scores: `tokverify fix MODEL -r REFERENCE -o FIXED`. If
        the original has merges and no scores, they must be turned into
        scores, or the model be converted as one that goes by merges.

    Threads:
        onnxruntime/mobius#660, ggml-org/llama.cpp#24034
    """
    family = find_family(subject.spec.model)
    if family is None or not family.ranking.uses_scores:
        return
    scores, types = subject.spec.scores, subject.spec.types
    if scores is None:
        yield Finding(ERROR, f"{SCORES} is missing: nothing tells which token comes first", keys=(SCORES,), repair=FIX)
        return
    typed = types if types is not None and len(types) == len(scores) else [TokenType.NORMAL] * len(scores)
    ordinary = [score for score, type in zip(scores, typed, strict=True) if type == TokenType.NORMAL]
    if len(ordinary) > 1 and len(set(ordinary)) == 1:
        message = f"all {len(ordinary):,} ordinary tokens have the score {ordinary[0]:g}, which ranks nothing"
        yield Finding(ERROR, message, keys=(SCORES,), repair=FIX)
