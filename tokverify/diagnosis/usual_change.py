"""Changes to what trainers and converters usually write, for references that tell nothing but ids and bytes.

Trainers number tokens as they find them: in byte-pair encoding each new token is what the next merge makes, and a
token of sentencepiece scores no more than the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tokverify.diagnosis.change import TokenizerChange
from tokverify.diagnosis.entry import kind_of, tokens_named, types_of
from tokverify.diagnosis.setting_change import difference_of_merges
from tokverify.engine.normalizer import escape_spaces
from tokverify.engine.pre_tokenizer import byte_alphabet, from_byte_level
from tokverify.files.gguf.declaration import MODELS_WITH_MERGES
from tokverify.spec import TokenType
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.diagnosis.evidence import Evidence
    from tokverify.spec import TokenizerSpec

_BY_SCORE = frozenset({"llama", "t5", "plamo2", "plamo3"})

_MOST_WORK = 20_000_000
"""The squares of the lengths of all tokens, which the time goes by; twice what Gemma 4's come to."""

_CHARSMAPS = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf")
"""sentencepiece's own rules; the first is its default."""


def merges(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Take the merges that the order of the tokens implies, or of these the missing ones, as the last."""
    spec, current = evidence.spec, list(evidence.spec.merges or ())
    if evidence.facts.spec is not None or spec.model not in {"gpt2", "gemma4"} or _follow_ids(spec, current):
        return
    if sum(len(piece) ** 2 for _, piece in _normal(spec)) > _MOST_WORK:
        return
    implied = _recovered(spec) if spec.model == "gpt2" else _splits(spec)
    known = set(current)
    missing = [merge for merge in implied if merge not in known]
    if implied and implied != current:
        told = f"taking the {len(implied):,} merges that the order of the tokens implies"
        yield _merges(implied, f"{told} ({difference_of_merges(current, implied)})")
    if current and missing and current + missing != implied:
        yield _merges(current + missing, f"adding {plural(len(missing), 'merge')} that the order of the tokens implies")


def _merges(merges: Sequence[str], sentence: str) -> TokenizerChange:
    return TokenizerChange(
        kind="merges", sentence=sentence, cost=4.7, transform=lambda spec: replace(spec, merges=merges)
    )


def _follow_ids(spec: TokenizerSpec, merges: Sequence[str]) -> bool:
    """Whether merges make the tokens in the order of their ids, each once: then they are what the ids imply."""
    made = [merge.replace(" ", "", 1) for merge in merges]
    composed = [piece for _, piece in _normal(spec) if len(piece) > 1]
    return made == composed


def _normal(spec: TokenizerSpec) -> Iterator[tuple[int, str]]:
    types = types_of(spec)
    return ((id, piece) for id, piece in enumerate(spec.tokens) if types[id] == TokenType.NORMAL)


def _recovered(spec: TokenizerSpec) -> list[str]:
    """Return the merges by which the lower ids make each token of the byte-level alphabet, as of a tiktoken file."""
    from tokverify.files.tiktoken.reader import recover_merges
    from tokverify.references.tiktoken import spell

    ranks = {from_byte_level(piece): id for id, piece in _normal(spec)}
    return [f"{spell(left)} {spell(right)}" for left, right in recover_merges(ranks)]


def _splits(spec: TokenizerSpec) -> list[str]:
    """Return every way to make each token of two, as HuggingFace's converter lists them for sentencepiece's models."""
    ids = dict(zip(spec.tokens, range(len(spec.tokens)), strict=True))
    implied: list[str] = []
    for _, piece in _normal(spec):
        pairs = [(piece[:cut], piece[cut:]) for cut in range(1, len(piece))]
        known = [(left, right) for left, right in pairs if left in ids and right in ids]
        known.sort(key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        implied += map(" ".join, known)
    return implied


def scores(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Score tokens in the order of their ids: where it is the rank that counts, anew, else with the scores there are.

    Runs of spaces, which Llama's vocabulary was given afterwards, may come last.
    """
    spec = evidence.spec
    if evidence.facts.spec is not None or spec.model not in _BY_SCORE:
        return
    ids = [id for id, _ in _normal(spec)]
    ordered = "in the order of their ids, as trainers number them"
    if spec.model == "llama":
        runs = [id for id in ids if kind_of(spec.tokens[id]) == "runs of spaces"]
        yield from _scores(spec, ids, f"scoring tokens {ordered}")
        if runs:
            last = sorted(ids, key=set(runs).__contains__)
            yield from _scores(spec, last, f"scoring tokens {ordered}, but {plural(len(runs), 'run')} of spaces last")
    elif spec.scores is not None:
        falling = sorted((spec.scores[id] for id in ids), reverse=True)
        yield from _scores(spec, ids, f"putting the scores of tokens {ordered}", falling)


def _scores(
    spec: TokenizerSpec, ids: Sequence[int], sentence: str, falling: Sequence[float] | None = None
) -> Iterator[TokenizerChange]:
    """Give tokens falling scores: minus their rank if no others are given."""
    old = list(spec.scores) if spec.scores is not None else [0.0] * len(spec.tokens)
    ranked = [old[id] for id in ids]
    new = list(old)
    for rank, id in enumerate(ids):
        new[id] = falling[rank] if falling else -float(rank)
    if ranked != sorted(set(ranked), reverse=True) and new != old:
        yield TokenizerChange(
            kind="scores", sentence=sentence, cost=4.7, transform=lambda spec: replace(spec, scores=new)
        )


def charsmaps(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Take the charsmaps that sentencepiece comes with, where there is none."""
    spec = evidence.spec
    if evidence.facts.spec is not None or spec.model != "t5" or spec.charsmap:
        return
    import sentencepiece

    from tokverify.files.sentencepiece.message import parse

    for rule in _CHARSMAPS:
        message = parse(sentencepiece.SentencePieceNormalizer(rule_name=rule).serialized_model_proto())
        charsmap = message.normalizer_spec.precompiled_charsmap
        yield TokenizerChange(
            kind="charsmap",
            sentence=f"taking the charsmap {rule} of sentencepiece {sentencepiece.__version__}",
            cost=4.7,
            transform=partial(replace, charsmap=charsmap),
        )


def models(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Take a model that uses the merges, where the file holds some for nothing."""
    spec = evidence.spec
    if evidence.facts.spec is not None or not spec.merges or spec.model in MODELS_WITH_MERGES:
        return
    for model in ("gemma4", "gpt2"):
        yield TokenizerChange(
            kind="model",
            sentence=f"calling the model {model} instead of {spec.model} (tokenizer.ggml.model), which ignores merges,",
            cost=5,
            transform=partial(replace, model=model),
        )


def added(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Add the tokens that the reference has beyond the last one here; what looks like a tag is cut out of texts."""
    spec, shown = evidence.spec, evidence.facts.token_bytes
    start = len(spec.tokens)
    if evidence.facts.spec is not None or len(shown) <= start:
        return
    further = [_entry(id, shown[id], evidence) for id in range(start, len(shown))]
    yield TokenizerChange(
        kind="added",
        sentence=f"adding {tokens_named(range(start, len(shown)), spec)} that the reference has",
        cost=3.6,
        transform=lambda spec: _extended(spec, further),
    )


def _entry(id: int, data: bytes, evidence: Evidence) -> tuple[str, TokenType]:
    """Return the text and type of a token that stands for some bytes."""
    text = data.decode("utf-8", "surrogateescape")
    if not data or text == f"[PAD{id}]":
        return f"[PAD{id}]", TokenType.UNUSED
    if kind_of(text) == "tags":
        return text, TokenType.USER_DEFINED if id in evidence.missing_unparsed else TokenType.CONTROL
    byte_level = evidence.spec.model == "gpt2"
    return "".join(map(byte_alphabet().__getitem__, data)) if byte_level else escape_spaces(text), TokenType.NORMAL


def _extended(spec: TokenizerSpec, further: Sequence[tuple[str, TokenType]]) -> TokenizerSpec:
    return replace(
        spec,
        tokens=[*spec.tokens, *(text for text, _ in further)],
        types=[*types_of(spec), *(type.value for _, type in further)],
        scores=None if spec.scores is None else [*spec.scores, *[0.0] * len(further)],
    )
