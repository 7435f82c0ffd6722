"""Build tokenizers of each family that could encode like a reference, and choose the one that agrees with it best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Alphabet
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.repair.probe import convention
from tokverify.repair.probe.normalizer import (
    cleans_spaces,
    find_charsmap,
    find_word_cleanup,
    merges_spaces,
    prefixes_space,
)
from tokverify.repair.probe.pre_name import ESCAPING_NAMES, choose_pre_tokenizer
from tokverify.repair.probe.sample import Sample, count_agreements
from tokverify.repair.probe.spelling import store_tokens
from tokverify.repair.probe.tokens import PlainTokens
from tokverify.repair.probe.vocabulary import Vocabulary
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.texts.queries import Queries

_LEAST_SHARE = 0.2
"""A hypothesis that agrees with fewer of the samples is not worth refining."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known about a reference before its family is."""

    queries: Queries
    vocabulary: Vocabulary
    samples: Sequence[Sample]
    tokens: PlainTokens
    unreachable: frozenset[int] = frozenset()
    """Tokens that no merge may form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """A tokenizer that could be the reference's."""

    spec: TokenizerSpec
    agreements: int
    """The number of samples with the same ids."""
    alike: tuple[str, ...] = ()
    """Other pre-tokenizers or models that agree with as many samples."""


def find_hypothesis(evidence: Evidence) -> Hypothesis:
    """Return the tokenizer that agrees with most samples.

    Raises:
        UnsupportedError: If no family encodes like the reference.
    """
    best = max(_find_hypotheses(evidence), key=_agreements)
    if best.agreements < _LEAST_SHARE * len(evidence.samples):
        raise UnsupportedError(
            f"no family that can be learned encodes like the reference: the most similar, {best.spec.model}, gives the "
            f"same ids for {best.agreements:,} of {len(evidence.samples):,} texts"
        )
    return best


def _find_hypotheses(evidence: Evidence) -> Iterator[Hypothesis]:
    if evidence.tokens.unknown is not None:
        yield from _try_all(evidence, [_make_wordpiece(evidence), _make_unigram(evidence)])
    elif evidence.tokens.byte_ids:
        yield _find_escaped(evidence)
    else:
        yield _make_byte_level(evidence)


def _try_all(evidence: Evidence, specs: Sequence[TokenizerSpec]) -> Iterator[Hypothesis]:
    for spec in specs:
        try:
            encoder = Encoder(spec)
        except TokverifyError:
            continue
        yield Hypothesis(spec=spec, agreements=count_agreements(encoder, evidence.samples))


def _make_spec(evidence: Evidence, model: str, alphabet: Alphabet) -> TokenizerSpec:
    tokens = store_tokens(evidence.vocabulary, evidence.tokens.types, evidence.tokens.byte_ids, alphabet)
    unknown = {} if evidence.tokens.unknown is None else {"unk": evidence.tokens.unknown}
    return TokenizerSpec(model=model, tokens=tokens, types=evidence.tokens.types, special_ids=unknown)


def _make_wordpiece(evidence: Evidence) -> TokenizerSpec:
    cleanup = find_word_cleanup(evidence.queries)
    spec = _make_spec(evidence, "bert", Alphabet.ESCAPED)
    # Converters give the unknown token no type of its own.
    tokens = evidence.tokens
    types = [TokenType.CONTROL.value if id == tokens.unknown else type for id, type in enumerate(tokens.types)]
    return replace(spec, types=types, lowercase=cleanup.lowercase, strip_accents=cleanup.strip_accents)


def _make_unigram(evidence: Evidence) -> TokenizerSpec:
    spec = _make_spec(evidence, "t5", Alphabet.ESCAPED)
    charsmap = find_charsmap(evidence.queries)
    return replace(
        spec,
        scores=convention.falling_scores(len(spec.tokens), convention.normal_ids(spec)),
        charsmap=charsmap[1] if charsmap else None,
        remove_extra_whitespaces=merges_spaces(evidence.queries),
        add_space_prefix=prefixes_space(evidence.queries, evidence.vocabulary),
    )


def _find_escaped(evidence: Evidence) -> Hypothesis:
    """Find a tokenizer that falls back to bytes: one that merges by score or, if that fails, by rank."""
    spec = _make_spec(evidence, "llama", Alphabet.ESCAPED)
    spec = replace(spec, add_space_prefix=prefixes_space(evidence.queries, evidence.vocabulary))
    orders = list(convention.rankings(spec))
    scored = [replace(spec, scores=convention.ranked_scores(len(spec.tokens), order)) for order in orders]
    by_score = max(_try_all(evidence, scored), key=_agreements)
    if spec.add_space_prefix:
        return by_score
    order = orders[[hypothesis.scores for hypothesis in scored].index(by_score.spec.scores)]
    merged = replace(
        spec, model="gemma4", merges=convention.all_splits(spec, [id for id in order if id not in evidence.unreachable])
    )
    (by_rank,) = _try_all(evidence, [merged])
    if by_rank.agreements == by_score.agreements:
        # With the same order, both families merge alike, and only decoding tells them apart.
        first, second = (by_rank, by_score) if cleans_spaces(evidence.queries) else (by_score, by_rank)
        return replace(first, alike=(second.spec.model,))
    others = _try_all(evidence, [replace(merged, model="gpt2", pre=name) for name in ESCAPING_NAMES])
    return max(by_score, by_rank, *others, key=_agreements)


def _agreements(hypothesis: Hypothesis) -> int:
    return hypothesis.agreements


def _make_byte_level(evidence: Evidence) -> Hypothesis:
    spec = replace(_make_spec(evidence, "gpt2", Alphabet.BYTE_LEVEL), pre="gpt-2")
    reachable = [id for id in convention.normal_ids(spec) if id not in evidence.unreachable]
    spec = replace(spec, merges=convention.byte_level_merges(spec, reachable))
    around = evidence.tokens.around
    adds_bos = bool(around.before) if around else None
    cleans = cleans_spaces(evidence.queries)
    choice = choose_pre_tokenizer(spec, evidence.samples, adds_bos=adds_bos, cleans_spaces=cleans)
    return Hypothesis(spec=replace(spec, pre=choice.name), agreements=choice.agreements, alike=choice.alike)
