"""The rules of `tokverify audit`, one file each.

A new rule is one file and one line in `_RULES`. Rules are named after the pattern that they report; a rule's docstring
is its manual, from which docs/rules.md is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokverify.audit.rules.added_token_flag_mismatch import added_token_flag_mismatch
from tokverify.audit.rules.added_token_mismatch import added_token_mismatch
from tokverify.audit.rules.ambiguous_reference import ambiguous_reference
from tokverify.audit.rules.borrowed_token import borrowed_token
from tokverify.audit.rules.broken_byte_tokens import broken_byte_tokens
from tokverify.audit.rules.broken_charsmap import broken_charsmap
from tokverify.audit.rules.broken_merges import broken_merges
from tokverify.audit.rules.constant_score import constant_score
from tokverify.audit.rules.contradictory_reference import contradictory_reference
from tokverify.audit.rules.double_bos import double_bos
from tokverify.audit.rules.duplicate_token import duplicate_token
from tokverify.audit.rules.escaped_space import escaped_space
from tokverify.audit.rules.lost_marker import lost_marker
from tokverify.audit.rules.missing_embedding_flag import missing_embedding_flag
from tokverify.audit.rules.missing_pre_tokenizer import missing_pre_tokenizer
from tokverify.audit.rules.missing_turn_end import missing_turn_end
from tokverify.audit.rules.missing_type import missing_type
from tokverify.audit.rules.name_dependent_stripping import name_dependent_stripping
from tokverify.audit.rules.normalizer_mismatch import normalizer_mismatch
from tokverify.audit.rules.overridden_setting import overridden_setting
from tokverify.audit.rules.plain_marker import plain_marker
from tokverify.audit.rules.post_processor_mismatch import post_processor_mismatch
from tokverify.audit.rules.pre_tokenizer_mismatch import pre_tokenizer_mismatch
from tokverify.audit.rules.ranking_mismatch import ranking_mismatch
from tokverify.audit.rules.refused_file import refused_file
from tokverify.audit.rules.size_mismatch import size_mismatch
from tokverify.audit.rules.template_mismatch import template_mismatch
from tokverify.audit.rules.unknown_architecture import unknown_architecture
from tokverify.audit.rules.unknown_pre_tokenizer import unknown_pre_tokenizer
from tokverify.audit.rules.unknown_template_token import unknown_template_token
from tokverify.audit.rules.unmatched_text import unmatched_text
from tokverify.audit.rules.vocabulary_mismatch import vocabulary_mismatch
from tokverify.audit.rules.wrong_alphabet import wrong_alphabet
from tokverify.audit.rules.wrong_marker_type import wrong_marker_type
from tokverify.audit.rules.wrong_special_id import wrong_special_id

if TYPE_CHECKING:
    from tokverify.audit.rule import Rule

_RULES: tuple[Rule, ...] = (
    refused_file,
    missing_pre_tokenizer,
    unknown_pre_tokenizer,
    overridden_setting,
    duplicate_token,
    size_mismatch,
    wrong_special_id,
    broken_merges,
    constant_score,
    broken_byte_tokens,
    missing_type,
    plain_marker,
    unknown_template_token,
    missing_turn_end,
    double_bos,
    missing_embedding_flag,
    name_dependent_stripping,
    broken_charsmap,
    wrong_alphabet,
    unmatched_text,
    escaped_space,
    borrowed_token,
    wrong_marker_type,
    unknown_architecture,
    vocabulary_mismatch,
    added_token_mismatch,
    added_token_flag_mismatch,
    pre_tokenizer_mismatch,
    normalizer_mismatch,
    post_processor_mismatch,
    ranking_mismatch,
    contradictory_reference,
    ambiguous_reference,
    template_mismatch,
    lost_marker,
)

RULES: Mapping[str, Rule] = {rule.code: rule for rule in _RULES}
"""Code -> rule, in the order of the codes."""
