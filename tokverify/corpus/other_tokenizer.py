"""Recognize ids in a corpus that were made with another tokenizer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tokverify.report.corpus_cause import CorpusCause
from tokverify.report.run import NEARLY_ALL

if TYPE_CHECKING:
    from tokverify.corpus.result import Example, Tally

NOTE = (
    "nearly all documents have ids that the tokenizer would not return: they were probably made with another one; "
    "name its file as MODEL"
)
_CAUSES = (CorpusCause.NOT_CANONICAL, CorpusCause.OUTSIDE_VOCABULARY, CorpusCause.OTHER)
"""The causes that ids of another tokenizer show; a document has at most one of them."""
_MOST_SHARED = 0.9
"""If an example shares more ids with what the tokenizer returns, only places differ, such as where it was cut."""


def has_ids_of_other_tokenizer(tally: Tally) -> bool:
    """Whether nearly all documents have ids that the tokenizer would not return, in most examples many of them."""
    found = [tally.causes[cause] for cause in _CAUSES if cause in tally.causes]
    examples = [example for cause in found for example in cause.examples]
    unlike = sum(_share_ids(example) <= _MOST_SHARED for example in examples)
    return sum(cause.documents for cause in found) > NEARLY_ALL * tally.documents and 2 * unlike > len(examples)


def _share_ids(example: Example) -> float:
    """Return the share of the ids of an example that are on both sides."""
    shared = (Counter(example.actual) & Counter(example.expected)).total()
    return shared / max(len(example.actual), len(example.expected), 1)
