"""Recover a tokenizer's specification from the ids that it returns.

Tokenizers of each family that could encode like the reference are built, and the one that agrees best is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tokverify.engine.byte_level import spell_bytes
from tokverify.engine.encoder import Encoder
from tokverify.engine.families import find_family
from tokverify.engine.family import Alphabet, Ranking
from tokverify.engine.normalizer import escape_spaces
from tokverify.engine.pre_search import choose_name
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.repair.probe import convention
from tokverify.repair.probe.convention import normal_ids
from tokverify.repair.probe.normalizer import (
    cleans_spaces,
    find_charsmap,
    find_composition,
    find_word_cleanup,
    merges_spaces,
    prefixes_space,
)
from tokverify.repair.probe.sample import Sample, count_agreements, take_samples
from tokverify.repair.probe.score_fitting import fit_scores
from tokverify.repair.probe.tokens import Observed, PlainTokens, ProbedTokens, probe_with
from tokverify.repair.probe.vocabulary import Vocabulary, read_vocabulary
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.utf8 import to_text
from tokverify.texts.batch import Queries
from tokverify.texts.frame import find_unreachable
from tokverify.tokenizer import Tokenizer

_LEAST_SHARE = 0.2
"""A hypothesis that agrees with fewer of the samples is not worth refining."""


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
    composes: bool
    """Whether the reference composes letters and accents (NFC), which no setting of the specification does."""
    encodings: int
    """The number of texts that the reference encoded."""


def learn(
    tokenizer: Tokenizer, stored: Sequence[str] | None = None, on_progress: Callable[[str], None] = lambda _: None
) -> LearnedTokenizer:
    """Reconstruct a tokenizer from ids, and from the bytes and pieces of its tokens.

    Args:
        tokenizer: The reference. It is asked for the types of its tokens if it lists them.
        stored: The stored strings of its tokens by id, if they are known from elsewhere.
        on_progress: Called with a short description of each step.

    Raises:
        UnsupportedError: If no family encodes like the reference.
        TokverifyError: If the number of stored strings is not that of the tokens.
    """
    queries = Queries(tokenizer)
    on_progress("reading the vocabulary")
    vocabulary = read_vocabulary(tokenizer, stored)
    on_progress("encoding texts that separate pre-tokenizers")
    samples = take_samples(queries, vocabulary.texts)

    def gather(plain: PlainTokens) -> Evidence:
        on_progress("comparing families and pre-tokenizers")
        return Evidence(queries=queries, vocabulary=vocabulary, samples=samples, tokens=plain)

    on_progress(f"probing {vocabulary.size:,} tokens")
    tokens = probe_with(Observed(queries, vocabulary), lambda plain: find_hypothesis(gather(plain)).spec)
    hypothesis = _refine(gather(_plain(tokens)))
    if _sums_scores(hypothesis.spec):
        on_progress("fitting scores")
        hypothesis = replace(hypothesis, spec=fit_scores(queries, hypothesis.spec))
    roles = find_roles(hypothesis.spec.model, tokens, tokenizer.special_ids, vocabulary.texts)
    return LearnedTokenizer(
        spec=_add_roles(hypothesis.spec, roles, tokens),
        tokens=tokens,
        roles=roles,
        alike=hypothesis.alike,
        composes=not (hypothesis.spec.charsmap or hypothesis.spec.strip_accents) and find_composition(queries),
        encodings=queries.count,
    )


def _plain(tokens: ProbedTokens) -> PlainTokens:
    return PlainTokens(types=tokens.types, byte_ids=tokens.byte_ids, unknown=tokens.unknown, around=tokens.around)


def _refine(evidence: Evidence) -> Hypothesis:
    """Find the final hypothesis, without merges that the reference does not have."""
    hypothesis = find_hypothesis(evidence)
    if not hypothesis.spec.merges:
        return hypothesis
    ids = normal_ids(hypothesis.spec)
    unreachable = find_unreachable(evidence.queries, Encoder(hypothesis.spec), evidence.vocabulary.texts, ids)
    return find_hypothesis(replace(evidence, unreachable=unreachable)) if unreachable else hypothesis


def _sums_scores(spec: TokenizerSpec) -> bool:
    family = find_family(spec.model)
    return family is not None and family.ranking is Ranking.SCORE_SUM


def _add_roles(spec: TokenizerSpec, roles: Roles, tokens: ProbedTokens) -> TokenizerSpec:
    spec = replace(spec, special_ids=roles.all)
    if tokens.around is None:
        return spec
    return replace(spec, add_bos=bool(tokens.around.before), add_eos=bool(tokens.around.after))


_TEXTS: Mapping[str, tuple[str, ...]] = {
    "bos": ("<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "[CLS]", "<cls>", "<|endoftext|>"),
    "eos": ("</s>", "<eos>", "<|end_of_text|>", "[EOS]", "<|endoftext|>"),
    "unk": ("<unk>", "[UNK]", "<UNK>"),
    "sep": ("[SEP]", "<sep>"),
    "pad": ("<pad>", "[PAD]", "<|pad|>", "<|padding|>", "<PAD>"),
    "mask": ("<mask>", "[MASK]", "<MASK>"),
}
"""Role -> the texts that usually have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The ids of special tokens by role."""

    revealed: Mapping[str, int]
    """By ids: the tokens that are added around a text, and the unknown token if a text can produce it."""
    assumed: Mapping[str, int]
    """By their texts alone."""
    declared: Mapping[str, int]
    """By the reference."""

    @property
    def all(self) -> dict[str, int]:
        """All roles; what ids reveal takes precedence."""
        return {**self.assumed, **self.declared, **self.revealed}


def find_roles(model: str, tokens: ProbedTokens, declared: Mapping[str, int], texts: Sequence[str | None]) -> Roles:
    """Find the roles of the special tokens of a tokenizer of the family `model`."""
    revealed = {} if tokens.unknown is None else {"unk": tokens.unknown}
    around = tokens.around
    if around and len(around.before) == 1:
        revealed["bos"] = around.before[0]
    if around and len(around.after) == 1:
        family = find_family(model)
        revealed[family.closing_role if family else "eos"] = around.after[0]
    special = sorted(id for id, token in tokens.added_tokens.items() if token.special)
    known = {role: id for role, id in declared.items() if role in _TEXTS}
    assumed: dict[str, int] = {}
    for role, usual in _TEXTS.items():
        # If there are several, the first one in the vocabulary has the role, and the others are ordinary markup.
        found = [id for id in special if texts[id] in usual]
        if found and role not in revealed and role not in known:
            assumed[role] = found[0]
    return Roles(revealed=revealed, assumed=assumed, declared=known)


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
    reachable = tuple(id for id in order if id not in evidence.unreachable)
    merged = replace(spec, model="gemma4", merges=list(convention.all_splits(tuple(spec.tokens), reachable)))
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
    spec = replace(spec, merges=list(convention.byte_level_merges(tuple(spec.tokens[id] for id in reachable))))
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
    from tokverify.engine.models.bpe import Bpe

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
    chosen = choose_name(names, adds_bos=adds_bos, cleans_spaces=cleans_spaces)
    cleans = {PRE_TOKENIZERS[chosen].clean_spaces} if cleans_spaces is not None else {True, False}
    alike = tuple(name for name in names if name != chosen and PRE_TOKENIZERS[name].clean_spaces in cleans)
    return PreTokenizerChoice(chosen, most, alike)


def _behavior(pre_tokenizer: PreTokenizer) -> tuple[object, ...]:
    """Return what determines the ids of a text without special tokens."""
    return pre_tokenizer.patterns, pre_tokenizer.ignore_merges, pre_tokenizer.newline_pieces
