"""Describe what was learned about a tokenizer, how, and what remains unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokverify.engine.families import find_family
from tokverify.engine.family import Ranking
from tokverify.repair.probe.learning import LearnedTokenizer
from tokverify.report.learn import LearnedFact, LearnedToken, Origin
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.wording import plural, quote

_FLAGS = ("add_bos", "add_eos", "add_space_prefix", "remove_extra_whitespaces", "lowercase", "strip_accents")


def describe_declared(spec: TokenizerSpec) -> tuple[LearnedFact, ...]:
    """Describe a tokenizer that the reference declares."""
    origins = dict.fromkeys(spec.special_ids, Origin.DECLARED)
    return tuple(_describe(spec, origins, Origin.DECLARED, Origin.DECLARED))


def describe_learned(learned: LearnedTokenizer) -> tuple[LearnedFact, ...]:
    """Describe a tokenizer that was reconstructed from ids."""
    roles = learned.roles
    origins = (
        dict.fromkeys(roles.assumed, Origin.CONVENTION)
        | dict.fromkeys(roles.declared, Origin.DECLARED)
        | dict.fromkeys(roles.revealed, Origin.IDS)
    )
    return tuple(_describe(learned.spec, origins, Origin.IDS, Origin.CONVENTION))


def _describe(
    spec: TokenizerSpec, roles: Mapping[str, Origin], settings: Origin, arrays: Origin
) -> Iterator[LearnedFact]:
    yield LearnedFact("model", spec.model, settings)
    if spec.pre:
        yield LearnedFact("pre-tokenizer", spec.pre, settings)
    if spec.merges:
        yield LearnedFact("merges", f"{len(spec.merges):,}", arrays)
    if spec.scores:
        yield LearnedFact("scores", f"{len(spec.scores):,}", arrays)
    if spec.charsmap:
        yield LearnedFact("charsmap", f"{len(spec.charsmap):,} bytes", arrays)
    for role, id in spec.valid_special_ids.items():
        yield LearnedFact(role, f"{id} {quote(spec.tokens[id])}", roles[role])
    for flag in _FLAGS:
        value = getattr(spec, flag)
        if value is not None:
            yield LearnedFact(flag, "on" if value else "off", settings)


def list_added_tokens(learned: LearnedTokenizer) -> tuple[LearnedToken, ...]:
    """List the tokens that are matched in texts."""
    added = learned.tokens.added_tokens
    return tuple(
        LearnedToken(id, token.text, token.special, token.lstrip, token.rstrip) for id, token in sorted(added.items())
    )


def list_hidden(learned: LearnedTokenizer, *, parses_special: bool) -> Iterator[str]:
    """Yield what the reference did not reveal, and what the specification contains instead."""
    spec, tokens = learned.spec, learned.tokens
    if not parses_special:
        yield "control tokens: the reference never recognizes them in a text, so they are typed NORMAL"
    if tokens.around is None:
        yield "what is added around a text: the reference adds nothing, so llama.cpp's defaults apply"
    for type, other in ((TokenType.NORMAL, TokenType.USER_DEFINED), (TokenType.USER_DEFINED, TokenType.NORMAL)):
        count = sum(tokens.types[id] == type for id in tokens.undecided)
        if count:
            yield f"{plural(count, 'token')} would have had the same ids if typed {other.name}, typed {type.name}"
    if any(token.special for token in tokens.added_tokens.values()):
        yield "CONTROL or UNKNOWN: both are matched alike; a token is typed UNKNOWN if it replaces unknown characters"
    yield from _list_hidden_arrays(spec)
    if learned.roles.assumed:
        roles = ", ".join(learned.roles.assumed)
        yield f"the ids of {roles}: no text produces them, so they are assigned by the texts of the tokens"
    yield "chat template, end-of-generation tokens and names: not part of the ids of a text"
    strips = sum(token.lstrip or token.rstrip for token in tokens.added_tokens.values())
    if strips:
        yield f"GGUF cannot state that {plural(strips, 'token')} strip whitespace; llama.cpp decides by a model's name"
    if learned.composes:
        yield "GGUF cannot state that the reference composes accents (NFC)"


def _list_hidden_arrays(spec: TokenizerSpec) -> Iterator[str]:
    family = find_family(spec.model)
    if spec.merges:
        yield "ranks of merges that no probe needed: in the order of the ids"
    elif family and family.ranking is Ranking.SCORE_SUM:
        yield "the values of scores, of which only comparisons show: fitted to the ids of words"
    elif family and family.ranking.uses_scores:
        yield "the values of scores, of which only comparisons show: falling in the order of the ids"
    if spec.charsmap:
        yield "the charsmap as bytes: the sentencepiece rule that explains most of the probed characters"
