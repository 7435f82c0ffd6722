"""Compare our specification with the reference's: the changes that together lead from one to the other.

A search over single changes finds one fault. If there are several, these changes explain the failing cases only
together, and the search then drops those that it does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.repair import added_token_change, array_change, piece_change, setting_change, type_change
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence
from tokverify.repair.extra_token_change import extra_tokens
from tokverify.repair.shift_change import shifts
from tokverify.spec import TokenizerSpec

_Generator = Callable[[Evidence], Iterator[TokenizerChange]]

_OF_POSITIONS: tuple[_Generator, ...] = (shifts, extra_tokens)
"""The generators of changes to which ids tokens have; the others describe what is left after these."""

_GENERATORS: tuple[_Generator, ...] = (
    array_change.models,
    setting_change.declared_pre_tokenizer,
    piece_change.all_reference_texts,
    added_token_change.missing_tokens,
    added_token_change.tokens_by_bytes,
    added_token_change.placeholders_by_bytes,
    type_change.declared_types,
    array_change.merges,
    array_change.scores,
    array_change.charsmaps,
    setting_change.declared_flags,
    setting_change.declared_special_ids,
    setting_change.undeclared_special_ids,
    setting_change.declared_ends,
    setting_change.names,
)


def declared_changes(spec: TokenizerSpec, encoder: Encoder | None, facts: Opened) -> list[TokenizerChange]:
    """Return one change for each way in which the reference declares something else.

    If it declares only special ids, these are compared. Our side has no encoder if it cannot be loaded.
    """
    evidence = Evidence(spec, encoder, facts, ())
    changes: list[TokenizerChange] = []
    for generate in _OF_POSITIONS:
        change = next(generate(evidence), None)
        if change:
            changes.append(change)
            # The tokens that are moved or removed must not be reported as different ones.
            evidence = replace(evidence, spec=change.transform(evidence.spec))
    for generate in _GENERATORS:
        changes += generate(evidence)
    return changes
