"""Find out that a reference is damaged: it no longer produces its own tokens, or no longer decodes what it encodes.

A library can lose a stage of a tokenizer when it loads and saves it. Neither side is right because of its name, so both
are put to the same test, and the reference is blamed only if the model passes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tokverify.compare.damage.lost_pattern import (
    find_foreign_pattern,
    find_longer_numbers,
    find_lost_pattern,
    find_lost_stage,
    find_missing_pre,
    find_replaced_pattern,
)
from tokverify.compare.damage.lost_setting import (
    find_long_pieces,
    find_lost_case,
    find_lost_charsmap,
    find_lost_continuations,
    find_lost_fallback,
    find_lost_spaces,
    find_probabilities,
    find_ranks_as_scores,
    find_removed_spaces,
    find_wrong_unknown,
)
from tokverify.compare.damage.lost_token import (
    find_lost_merges,
    find_lost_tokens,
    find_lost_types,
    find_plain_markers,
    find_unmade_tokens,
    find_unordered_bytes,
)
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.report.tokenizer_difference import TokenizerDifference
from tokverify.sources.huggingface.document import Document
from tokverify.tokenizer import Tokenizer

_OF_DOCUMENTS: tuple[Callable[[Encoder, Document, Opened], Iterator[TokenizerDifference]], ...] = (
    find_lost_continuations,
    find_lost_case,
    find_lost_fallback,
    find_wrong_unknown,
    find_long_pieces,
    find_lost_pattern,
    find_lost_stage,
    find_replaced_pattern,
)
"""What a tokenizer.json can have lost."""

_OF_SETTINGS: tuple[Callable[[Encoder, Opened], Iterator[TokenizerDifference]], ...] = (
    find_lost_spaces,
    find_lost_charsmap,
    find_removed_spaces,
    find_ranks_as_scores,
    find_probabilities,
    find_unordered_bytes,
    find_missing_pre,
)
"""What any reference can have lost."""


def find_damage(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield what shows that a reference is damaged, if the model is not."""
    # A stage that is known to be lost splits pieces, too.
    found = [*_find_lost(actual, facts)] or [*find_lost_tokens(actual, facts)]
    if not found and isinstance(actual, Encoder):
        found = [*find_foreign_pattern(actual, facts), *find_longer_numbers(actual, facts)]
    yield from found


def _find_lost(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    document = facts.document
    if document is not None and isinstance(actual, Encoder):
        for find in _OF_DOCUMENTS:
            yield from find(actual, document, facts)
    if isinstance(actual, Encoder):
        for find_setting in _OF_SETTINGS:
            yield from find_setting(actual, facts)
    yield from find_lost_merges(actual, facts)
    yield from find_unmade_tokens(actual, facts)
    yield from find_lost_types(actual, facts)
    yield from find_plain_markers(actual, facts)
