"""Build tokenizers of each family that could encode like a reference, and choose the one that agrees with it best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Alphabet
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.probe import convention
from tokverify.probe.normalizer import find_charsmap, find_word_cleanup, merges_spaces, prefixes_space
from tokverify.probe.pre_name import ESCAPING_NAMES, choose_pre_tokenizer
from tokverify.probe.sample import count_agreements
from tokverify.probe.spelling import store_tokens
from tokverify.spec import TokenizerSpec, TokenType

if TYPE_CHECKING:
    from tokverify.probe.queries import Queries
    from tokverify.probe.sample import Sample
    from tokverify.probe.tokens import PlainTokens
    from tokverify.probe.vocabulary import Vocabulary

_LEAST_SHARE = 0.2
"""A hypothesis that agrees with fewer of the samples is not worth refining."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known about a reference before its family is."""

    queries: Queries
    vocabulary: Vocabulary
    samples: Sequence[Sample]
    tokens: PlainTokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """A tokenizer that could be the reference's."""

    spec: TokenizerSpec
    agreements: int
    """The number of samples with the same ids."""
    alike: tuple[str, ...] = ()
    """Other names of pre-tokenizers that agree with as many samples."""


def find_hypothesis(evidence: Evidence) -> Hypothesis:
    """Return the tokenizer that agrees with most samples.

    Raises:
        UnsupportedError: If no family encodes like the reference.
    """
    best = max(_find_hypotheses(evidence), key=lambda hypothesis: hypothesis.agreements)
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
        yield from _try_all(evidence, _make_escaped(evidence))
    else:
        yield _make_byte_level(evidence)


def _try_all(evidence: Evidence, specs: Sequence[TokenizerSpec] | Iterator[TokenizerSpec]) -> Iterator[Hypothesis]:
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


def _make_escaped(evidence: Evidence) -> Iterator[TokenizerSpec]:
    """Yield tokenizers that fall back to bytes: those that merge by score, then those that merge by rank."""
    spec = _make_spec(evidence, "llama", Alphabet.ESCAPED)
    prefixed = replace(spec, add_space_prefix=prefixes_space(evidence.queries, evidence.vocabulary))
    size = len(spec.tokens)
    for order in convention.rankings(spec):
        yield replace(prefixed, scores=convention.ranked_scores(size, order, -float(size)))
    if not prefixed.add_space_prefix:
        yield from _make_escaped_merges(replace(prefixed, model="gemma4"))


def _make_escaped_merges(spec: TokenizerSpec) -> Iterator[TokenizerSpec]:
    for order in convention.rankings(spec):
        merged = replace(spec, merges=convention.all_splits(spec, order))
        yield merged
        for name in ESCAPING_NAMES:
            yield replace(merged, model="gpt2", pre=name)


def _make_byte_level(evidence: Evidence) -> Hypothesis:
    spec = replace(_make_spec(evidence, "gpt2", Alphabet.BYTE_LEVEL), pre="gpt-2")
    spec = replace(spec, merges=convention.byte_level_merges(spec))
    around = evidence.tokens.around
    adds_bos = bool(around.before) if around else None
    choice = choose_pre_tokenizer(spec, evidence.samples, adds_bos=adds_bos)
    return Hypothesis(spec=replace(spec, pre=choice.name), agreements=choice.agreements, alike=choice.alike)
