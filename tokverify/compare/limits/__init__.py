"""LIMITS: the table of what no GGUF file can express, and of what llama.cpp's converter writes on purpose.

A new limit is one file and one line here. Its docstring is its manual, from which docs/limits-of-gguf.md is made. A
limit explains a case only if an encoder that deviates from llama.cpp in this way, and otherwise uses the file, gives
exactly the reference's ids.
"""

from __future__ import annotations

from collections.abc import Mapping

from tokverify.compare.limits.added_token_flags import added_token_flags
from tokverify.compare.limits.added_token_order import added_token_order
from tokverify.compare.limits.byte_fallback import byte_fallback
from tokverify.compare.limits.charsmap_reading import charsmap_reading
from tokverify.compare.limits.companion_token import companion_token
from tokverify.compare.limits.configured_affix import configured_affix
from tokverify.compare.limits.control_piece import control_piece
from tokverify.compare.limits.converted_marker import converted_marker
from tokverify.compare.limits.converted_piece import converted_piece
from tokverify.compare.limits.equal_score import equal_score
from tokverify.compare.limits.fixed_ignore_merges import fixed_ignore_merges
from tokverify.compare.limits.limit import Limit
from tokverify.compare.limits.literal_marker import literal_marker
from tokverify.compare.limits.long_word import long_word
from tokverify.compare.limits.missing_byte import missing_byte
from tokverify.compare.limits.missing_embedding import missing_embedding
from tokverify.compare.limits.nearest_pattern import nearest_pattern
from tokverify.compare.limits.no_normalizer import no_normalizer
from tokverify.compare.limits.nul_piece import nul_piece
from tokverify.compare.limits.overridden_type import overridden_type
from tokverify.compare.limits.removed_spaces import removed_spaces
from tokverify.compare.limits.score_rounding import score_rounding
from tokverify.compare.limits.several_affixes import several_affixes
from tokverify.compare.limits.space_prefix import space_prefix
from tokverify.compare.limits.unicode_version import unicode_version
from tokverify.compare.limits.unlisted_merge import unlisted_merge
from tokverify.compare.limits.unsplit_spaces import unsplit_spaces
from tokverify.compare.limits.user_defined_piece import user_defined_piece
from tokverify.compare.limits.word_clean_up import word_clean_up

_LIMITS: tuple[Limit, ...] = (
    overridden_type,
    converted_marker,
    no_normalizer,
    unicode_version,
    literal_marker,
    fixed_ignore_merges,
    added_token_flags,
    added_token_order,
    byte_fallback,
    word_clean_up,
    long_word,
    nearest_pattern,
    user_defined_piece,
    score_rounding,
    control_piece,
    space_prefix,
    nul_piece,
    several_affixes,
    charsmap_reading,
    missing_byte,
    unsplit_spaces,
    unlisted_merge,
    removed_spaces,
    converted_piece,
    equal_score,
    missing_embedding,
    configured_affix,
    companion_token,
)

LIMITS: Mapping[str, Limit] = {limit.code: limit for limit in _LIMITS}
"""Code -> limit, the most specific first."""
