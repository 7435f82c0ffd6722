"""Recover a tokenizer's specification from the ids that it returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokverify.probe.hypothesis import Evidence, Hypothesis, find_hypothesis
from tokverify.probe.queries import Queries
from tokverify.probe.role import Roles, find_roles
from tokverify.probe.sample import take_samples
from tokverify.probe.tokens import PlainTokens, ProbedTokens, probe_with
from tokverify.probe.vocabulary import read_vocabulary

if TYPE_CHECKING:
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class LearnedTokenizer:
    """A tokenizer that was reconstructed from the ids of a reference."""

    spec: TokenizerSpec
    """What a GGUF file with this tokenizer would declare."""
    tokens: ProbedTokens
    """What is known about the tokens."""
    roles: Roles
    """The ids of special tokens by role."""
    alike: tuple[str, ...]
    """Other names of pre-tokenizers that agree with the reference as well."""
    encodings: int
    """The number of texts that the reference encoded."""


def learn(tokenizer: Tokenizer) -> LearnedTokenizer:
    """Reconstruct a tokenizer from ids, and from the bytes and pieces of its tokens.

    Raises:
        UnsupportedError: If no family encodes like the reference.
    """
    queries = Queries(tokenizer)
    vocabulary = read_vocabulary(tokenizer)
    samples = take_samples(queries, vocabulary.texts)

    def find(plain: PlainTokens) -> Hypothesis:
        return find_hypothesis(Evidence(queries=queries, vocabulary=vocabulary, samples=samples, tokens=plain))

    tokens = probe_with(queries, vocabulary, lambda plain: find(plain).spec)
    hypothesis = find(
        PlainTokens(types=tokens.types, byte_ids=tokens.byte_ids, unknown=tokens.unknown, around=tokens.around)
    )
    special = {id for id, token in tokens.added_tokens.items() if token.special}
    roles = find_roles(hypothesis.spec.model, tokens.around, tokens.unknown, vocabulary.texts, special)
    return LearnedTokenizer(
        spec=_add_roles(hypothesis.spec, roles, tokens),
        tokens=tokens,
        roles=roles,
        alike=hypothesis.alike,
        encodings=queries.count,
    )


def _add_roles(spec: TokenizerSpec, roles: Roles, tokens: ProbedTokens) -> TokenizerSpec:
    spec = replace(spec, special_ids=roles.all)
    if tokens.around is None:
        return spec
    return replace(spec, add_bos=bool(tokens.around.before), add_eos=bool(tokens.around.after))
