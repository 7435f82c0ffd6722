"""Build tokenizers of each family that could encode like a reference, and choose the one that agrees with it best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tokverify.engine.byte_level import spell_bytes
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Alphabet
from tokverify.engine.models.bpe import Bpe
from tokverify.engine.normalizer import escape_spaces
from tokverify.engine.pre_search import choose_name
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.repair.probe import convention
from tokverify.repair.probe.normalizer import (
    cleans_spaces,
    find_charsmap,
    find_word_cleanup,
    merges_spaces,
    prefixes_space,
)
from tokverify.repair.probe.sample import Sample, count_agreements
from tokverify.repair.probe.tokens import PlainTokens
from tokverify.repair.probe.vocabulary import Vocabulary
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.utf8 import to_text
from tokverify.texts.batch import Queries

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


_WRITTEN_AS_TEXT = {TokenType.CONTROL.value, TokenType.USER_DEFINED.value, TokenType.UNKNOWN.value}


def store_tokens(
    vocabulary: Vocabulary, types: Sequence[int], byte_ids: Mapping[int, int], alphabet: Alphabet
) -> list[str]:
    """Return the stored string of each token: the reference's own if it reveals them, else as `alphabet` writes bytes.

    Two tokens cannot have the same string. Of several that represent the same bytes, the first one gets it.
    """
    tokens: list[str] = []
    taken: set[str] = set()
    for id, data in enumerate(vocabulary.token_bytes):
        own = vocabulary.pieces[id] if vocabulary.has_stored_strings else ""
        token = own or _store_token(data, types[id], byte_ids.get(id), alphabet)
        token = token if token and token not in taken else f"[HIDDEN{id}]"
        taken.add(token)
        tokens.append(token)
    return tokens


def _store_token(data: bytes, type: int, byte: int | None, alphabet: Alphabet) -> str:
    if byte is not None:
        return f"<0x{byte:02X}>"
    if type in _WRITTEN_AS_TEXT:
        return to_text(data)
    return spell_bytes(data) if alphabet is Alphabet.BYTE_LEVEL else escape_spaces(to_text(data))


BYTE_LEVEL_NAMES = tuple(name for name, pre_tokenizer in PRE_TOKENIZERS.items() if pre_tokenizer.byte_level)
ESCAPING_NAMES = tuple(name for name, pre_tokenizer in PRE_TOKENIZERS.items() if pre_tokenizer.escape_whitespaces)


@dataclass(frozen=True, slots=True)
class PreTokenizerChoice:
    """The name of a pre-tokenizer, and how well it agrees."""

    name: str
    agreements: int
    """The number of samples with the same ids."""
    alike: tuple[str, ...]
    """Other names that agree with as many samples, so that nothing tells them apart."""


def choose_pre_tokenizer(
    spec: TokenizerSpec, samples: Sequence[Sample], *, adds_bos: bool | None, cleans_spaces: bool | None
) -> PreTokenizerChoice:
    """Try every byte-level pre-tokenizer with the merges of `spec`.

    Whether BOS is added, and whether decoding removes spaces before punctuation, only decide among names with the same
    ids; None if that is unknown.
    """
    base = Encoder(spec)
    model = base.model
    if not isinstance(model, Bpe):
        raise TypeError(f"{spec.model} has no pre-tokenizer")
    agreements: dict[tuple[object, ...], int] = {}
    by_name: dict[str, int] = {}
    for name in BYTE_LEVEL_NAMES:
        pre_tokenizer = PRE_TOKENIZERS[name]
        key = _behavior(pre_tokenizer)
        if key not in agreements:
            other = model.with_pre_tokenizer(pre_tokenizer)
            agreements[key] = count_agreements(Encoder(spec, settings=base.settings, model=other), samples)
        by_name[name] = agreements[key]
    most = max(by_name.values())
    names = [name for name in BYTE_LEVEL_NAMES if by_name[name] == most]
    decoding_alike = [name for name in names if PRE_TOKENIZERS[name].clean_spaces == cleans_spaces]
    names = decoding_alike or names
    chosen = choose_name(names, adds_bos=adds_bos)
    return PreTokenizerChoice(chosen, most, tuple(name for name in names if name != chosen))


def _behavior(pre_tokenizer: PreTokenizer) -> tuple[object, ...]:
    """Return what determines the ids of a text without special tokens."""
    return pre_tokenizer.patterns, pre_tokenizer.ignore_merges, pre_tokenizer.newline_pieces
