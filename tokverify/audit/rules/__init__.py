"""The rules of `tokverify audit`, one file each.

A new rule is one file and one line in `_RULES`; its docstring is its manual (docs/rules.md is made from it).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokverify.audit.rules.byte_token import byte_token
from tokverify.audit.rules.charsmap import charsmap
from tokverify.audit.rules.constant_score import constant_score
from tokverify.audit.rules.double_bos import double_bos
from tokverify.audit.rules.duplicate_token import duplicate_token
from tokverify.audit.rules.embedding_flag import embedding_flag
from tokverify.audit.rules.escaped_space import escaped_space
from tokverify.audit.rules.merge_list import merge_list
from tokverify.audit.rules.missing_pre_tokenizer import missing_pre_tokenizer
from tokverify.audit.rules.missing_type import missing_type
from tokverify.audit.rules.name_rule import name_rule
from tokverify.audit.rules.override import override
from tokverify.audit.rules.plain_marker import plain_marker
from tokverify.audit.rules.reference_added_flag import reference_added_flag
from tokverify.audit.rules.reference_added_token import reference_added_token
from tokverify.audit.rules.reference_contradiction import reference_contradiction
from tokverify.audit.rules.reference_loading import reference_loading
from tokverify.audit.rules.reference_normalizer import reference_normalizer
from tokverify.audit.rules.reference_post_processor import reference_post_processor
from tokverify.audit.rules.reference_pre_tokenizer import reference_pre_tokenizer
from tokverify.audit.rules.reference_ranking import reference_ranking
from tokverify.audit.rules.reference_template import reference_template
from tokverify.audit.rules.reference_vocabulary import reference_vocabulary
from tokverify.audit.rules.refused_file import refused_file
from tokverify.audit.rules.size_mismatch import size_mismatch
from tokverify.audit.rules.special_id import special_id
from tokverify.audit.rules.template_literal import template_literal
from tokverify.audit.rules.turn_end import turn_end
from tokverify.audit.rules.unknown_pre_tokenizer import unknown_pre_tokenizer
from tokverify.audit.rules.unmatched_text import unmatched_text
from tokverify.audit.rules.wrong_alphabet import wrong_alphabet

if TYPE_CHECKING:
    from tokverify.audit.rule import Rule

_RULES: tuple[Rule, ...] = (
    refused_file,
    missing_pre_tokenizer,
    unknown_pre_tokenizer,
    override,
    duplicate_token,
    size_mismatch,
    special_id,
    merge_list,
    constant_score,
    byte_token,
    missing_type,
    plain_marker,
    template_literal,
    turn_end,
    double_bos,
    embedding_flag,
    name_rule,
    charsmap,
    wrong_alphabet,
    unmatched_text,
    escaped_space,
    reference_vocabulary,
    reference_added_token,
    reference_added_flag,
    reference_pre_tokenizer,
    reference_normalizer,
    reference_post_processor,
    reference_ranking,
    reference_contradiction,
    reference_loading,
    reference_template,
)

RULES: Mapping[str, Rule] = {rule.code: rule for rule in _RULES}
"""Code -> rule, in the order of the codes."""
