"""Recover a tokenizer's specification from the ids that it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tokverify.engine.encoder import Encoder
from tokverify.engine.families import find_family
from tokverify.engine.family import Ranking
from tokverify.repair.probe.convention import normal_ids
from tokverify.repair.probe.hypothesis import Evidence, Hypothesis, find_hypothesis
from tokverify.repair.probe.normalizer import find_composition
from tokverify.repair.probe.sample import take_samples
from tokverify.repair.probe.score_fitting import fit_scores
from tokverify.repair.probe.tokens import PlainTokens, ProbedTokens, probe_with
from tokverify.repair.probe.vocabulary import read_vocabulary
from tokverify.spec import TokenizerSpec
from tokverify.texts.batch import Queries
from tokverify.texts.frame import find_unreachable
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
    tokens = probe_with(queries, vocabulary, lambda plain: find_hypothesis(gather(plain)).spec)
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
        composes=not _normalizes(hypothesis.spec) and find_composition(queries),
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


def _normalizes(spec: TokenizerSpec) -> bool:
    return bool(spec.charsmap or spec.strip_accents)


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
