"""Costs of changes: they decide which of several changes that explain the same cases is named first.

A cost has no unit: only the order of costs matters, and the costs of combined changes are added. The whole numbers say
how much of the tokenizer a change concerns:

- 1: a flag, or the token of a role
- 2: a name
- 3: the types or texts of tokens
- 4: an entire array, such as the merges
- 5: the model
- 6: something that GGUF cannot express, so that the runtime would have to do it

The fractions rank changes of the same size: a change that follows from the reference's data costs less than a guess,
and a change to a part less than a change to the whole.
"""

from __future__ import annotations

from typing import Final

CONFIRMED: Final = 0.5
"""The discount for a change to what the reference itself declares."""

FLAG: Final = 1.0
SPECIAL_ID: Final = 1.2

EXCHANGED_IDS: Final = 1.3
"""Two roles whose tokens are exchanged."""

SURPLUS_VALUES: Final = 1.9
"""Types and scores that no token has."""
PRE_TOKENIZER: Final = 2.0
MODEL_NAME: Final = 2.5

SHIFT: Final = 2.8
"""Tokens that were moved by an insertion or a deletion."""
SHIFT_WITHOUT_ROLES: Final = 2.85
MOVED_TOKENS: Final = 2.9
"""Tokens in another order, with their types and scores."""
ALL_TYPES: Final = 2.9
"""If the file declares no types at all."""
TYPES: Final = 3.0
"""All tokens that should have a different type."""
TYPES_OF_A_KIND: Final = 3.1
"""Only those of one kind, such as runs of spaces."""
SIMILAR_RUNS: Final = -0.05
"""The (negative) surcharge for also changing the other runs of the same character: they rarely differ in type."""
REFERENCE_TEXTS: Final = 3.2
CONVENTIONAL_TYPES: Final = 3.3
"""Types that follow from how the tokens look."""
CONVENTIONAL_TEXTS: Final = 3.3
"""Texts that follow from how the model's family stores tokens."""
SEVERAL_TYPES: Final = 3.4
"""Types of several groups of tokens at once."""
TEXTS_BY_BYTES: Final = 3.4
"""Texts that follow from the bytes that the reference decodes tokens to."""
ADDED_TOKENS: Final = 3.5
ADDED_TOKENS_BY_BYTES: Final = 3.6
TEXTS_BY_IDS: Final = 3.7
"""Texts that seem to be exchanged, as only ids show."""
ALL_TEXTS: Final = 3.8
"""Texts that differ in several ways at once."""

CHARSMAP: Final = 4.0
UNUSED_MERGES: Final = 4.4
"""The model, if the file has merges that its model ignores."""
MERGES: Final = 4.5
SCORES: Final = 4.5
REWRITTEN_SCORES: Final = 4.6
"""Scores with another sign, or their logarithms."""
CONVENTIONAL_ARRAY: Final = 4.7
"""Merges, scores or a charsmap that trainers and converters usually write."""

MODEL: Final = 5.0

WORD_DECODING: Final = 5.9
RUNTIME: Final = 6.0
"""Anything else that only the runtime could do."""


def discount(cost: float, *, confirmed: bool) -> float:
    """Return a cost, less if the reference itself declares what the change leads to."""
    return cost - CONFIRMED if confirmed else cost
