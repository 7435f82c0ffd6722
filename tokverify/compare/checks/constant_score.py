"""TV108: scores that rank nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.families import find_family
from tokverify.report.finding import ERROR, INFO, Finding
from tokverify.sources.gguf.keys import SCORES
from tokverify.spec import TokenType, ids_of_type


@rule(code="TV108", name="constant-score", severity=ERROR)
def constant_score(subject: Subject) -> Iterator[Finding]:
    """Require different scores if the model uses scores.

    What it does:
        For the models `llama`, `t5`, `plamo2` and `plamo3`, checks the scores of the ordinary tokens. They must exist,
        and must not all be equal. Special tokens are ignored: their score is usually -1000 or 0. So is `gemma4`, which
        uses merges.

    Why it is bad:
        The score decides which of two possible tokens is used. If all are equal, pairs are merged from left to right;
        short English words may still come out correctly, which hides the problem.

    Example:
        MiniCPM converted to `llama` with -1000 for every score: `你好，世界！` became other tokens.

    How to repair:
        Convert again from the sentencepiece model, or copy its scores: `tokverify fix MODEL -r REFERENCE -o FIXED`. If
        the original has merges and no scores, the merges must be converted to scores, or the model converted as one
        that uses merges.

    Threads:
        onnxruntime/mobius#660, ggml-org/llama.cpp#24034
    """
    family = find_family(subject.spec.model)
    if family is None or not family.ranking.uses_scores:
        return
    scores, types = subject.spec.scores, subject.spec.types
    if scores is None:
        yield Finding(ERROR, f"{SCORES} is missing: nothing ranks the tokens", keys=(SCORES,), repair=FIX)
        return
    typed = types if types is not None and len(types) == len(scores) else [TokenType.NORMAL] * len(scores)
    ordinary = [scores[id] for id in ids_of_type(typed, TokenType.NORMAL)]
    if len(ordinary) > 1 and len(set(ordinary)) == 1:
        message = f"all {len(ordinary):,} ordinary tokens have the same score, {ordinary[0]:g}, so nothing ranks them"
        if _has_reference_scores(subject):
            yield Finding(INFO, f"{message}; so it is in the reference", keys=(SCORES,))
        else:
            yield Finding(ERROR, message, keys=(SCORES,), repair=FIX)


def _has_reference_scores(subject: Subject) -> bool:
    """Whether the reference declares the same scores."""
    declared = subject.independent.spec if subject.independent else None
    theirs = declared.scores if declared else None
    return theirs is not None and list(theirs) == list(subject.spec.scores or ())
