"""Compare our specification with the reference's: the changes that together lead from one to the other.

A search over single changes finds one fault. If there are several, these changes explain the failing cases only
together, and the search then drops those that it does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.diagnosis import (
    added_token_change,
    array_change,
    extra_token_change,
    piece_change,
    setting_change,
    type_change,
)
from tokverify.diagnosis.evidence import Evidence
from tokverify.diagnosis.shift_change import shifts

if TYPE_CHECKING:
    from tokverify.diagnosis.change import TokenizerChange
    from tokverify.diagnosis.facts import Facts
    from tokverify.engine.encoder import Encoder
    from tokverify.spec import TokenizerSpec

_GENERATORS: tuple[Callable[[Evidence], Iterator[TokenizerChange]], ...] = (
    array_change.models,
    setting_change.declared_pre_tokenizer,
    piece_change.all_reference_texts,
    extra_token_change.extra_tokens,
    added_token_change.missing_tokens,
    added_token_change.tokens_by_bytes,
    type_change.declared_types,
    array_change.merges,
    array_change.scores,
    array_change.charsmaps,
    setting_change.declared_flags,
    setting_change.declared_special_ids,
    setting_change.undeclared_special_ids,
    setting_change.names,
)


def declared_changes(spec: TokenizerSpec, encoder: Encoder | None, facts: Facts) -> list[TokenizerChange]:
    """Return one change for each way in which the reference declares something else.

    Args:
        spec: What our side declares.
        encoder: Our side; None if it cannot be loaded.
        facts: What is known about the reference. If it declares only special ids, these are compared.
    """
    evidence = Evidence(spec, encoder, facts, ())
    moved = next(shifts(evidence), None)
    changes = [moved] if moved else []
    # The tokens that were moved must not be reported as different ones.
    rest = replace(evidence, spec=moved.transform(evidence.spec)) if moved else evidence
    for generate in _GENERATORS:
        changes += generate(rest)
    return changes
