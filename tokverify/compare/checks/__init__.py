"""The rules of `tokverify audit`, one file each.

A new rule is one file and one line in `_RULES`. Rules are named after the pattern that they report; a rule's docstring
is its manual, from which docs/rules.md is made.
"""

from __future__ import annotations

from collections.abc import Mapping

from tokverify.compare.checks.added_token_flag_mismatch import added_token_flag_mismatch
from tokverify.compare.checks.added_token_mismatch import added_token_mismatch
from tokverify.compare.checks.ambiguous_reference import ambiguous_reference
from tokverify.compare.checks.borrowed_token import borrowed_token
from tokverify.compare.checks.broken_byte_tokens import broken_byte_tokens
from tokverify.compare.checks.broken_charsmap import broken_charsmap
from tokverify.compare.checks.broken_merges import broken_merges
from tokverify.compare.checks.broken_template import broken_template
from tokverify.compare.checks.constant_score import constant_score
from tokverify.compare.checks.contradictory_reference import contradictory_reference
from tokverify.compare.checks.damaged_reference import damaged_reference
from tokverify.compare.checks.double_bos import double_bos
from tokverify.compare.checks.duplicate_token import duplicate_token
from tokverify.compare.checks.escaped_space import escaped_space
from tokverify.compare.checks.generation_end_mismatch import generation_end_mismatch
from tokverify.compare.checks.hidden_word import hidden_word
from tokverify.compare.checks.lost_marker import lost_marker
from tokverify.compare.checks.missing_embedding_flag import missing_embedding_flag
from tokverify.compare.checks.missing_pre_tokenizer import missing_pre_tokenizer
from tokverify.compare.checks.missing_turn_end import missing_turn_end
from tokverify.compare.checks.missing_type import missing_type
from tokverify.compare.checks.name_dependent_stripping import name_dependent_stripping
from tokverify.compare.checks.normalizer_mismatch import normalizer_mismatch
from tokverify.compare.checks.overridden_setting import overridden_setting
from tokverify.compare.checks.plain_marker import plain_marker
from tokverify.compare.checks.post_processor_mismatch import post_processor_mismatch
from tokverify.compare.checks.pre_tokenizer_mismatch import pre_tokenizer_mismatch
from tokverify.compare.checks.ranking_mismatch import ranking_mismatch
from tokverify.compare.checks.refused_file import refused_file
from tokverify.compare.checks.size_mismatch import size_mismatch
from tokverify.compare.checks.suppressed_token import suppressed_token
from tokverify.compare.checks.template_mismatch import template_mismatch
from tokverify.compare.checks.unknown_architecture import unknown_architecture
from tokverify.compare.checks.unknown_pre_tokenizer import unknown_pre_tokenizer
from tokverify.compare.checks.unknown_template_token import unknown_template_token
from tokverify.compare.checks.unmatched_text import unmatched_text
from tokverify.compare.checks.unread_key import unread_key
from tokverify.compare.checks.vocabulary_mismatch import vocabulary_mismatch
from tokverify.compare.checks.wrong_alphabet import wrong_alphabet
from tokverify.compare.checks.wrong_marker_type import wrong_marker_type
from tokverify.compare.checks.wrong_special_id import wrong_special_id
from tokverify.compare.rule import Rule

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
    hidden_word,
    broken_template,
    unknown_architecture,
    suppressed_token,
    unread_key,
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
    generation_end_mismatch,
    damaged_reference,
)

RULES: Mapping[str, Rule] = {rule.code: rule for rule in _RULES}
"""Code -> rule, in the order of the codes."""
