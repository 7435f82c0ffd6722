"""Changes to single settings: flags, special ids, the pre-tokenizer's name, and whole arrays of the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tokverify.audit.repair import key_of, set_flag, set_pre_tokenizer, set_special_id
from tokverify.diagnosis.change import TokenizerChange
from tokverify.engine.family import BYTE_PAIR_ALGORITHMS
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter
from tokverify.text.wording import quoted

if TYPE_CHECKING:
    from tokverify.diagnosis.evidence import Evidence
    from tokverify.engine.pre_tokenizer import PreTokenizer
    from tokverify.spec import TokenizerSpec

_AFFIX_FLAGS = ("add_bos", "add_eos")
_FLAGS = {
    "spm": ("add_space_prefix",),
    "unigram": ("add_space_prefix", "remove_extra_whitespaces"),
    "wordpiece": ("lowercase", "strip_accents"),
    "whitespace": ("lowercase",),
}
_KEYS = {
    "add_bos": "tokenizer.ggml.add_bos_token",
    "add_eos": "tokenizer.ggml.add_eos_token",
    "add_space_prefix": "tokenizer.ggml.add_space_prefix",
    "remove_extra_whitespaces": "tokenizer.ggml.remove_extra_whitespaces",
    "lowercase": "tokenizer.ggml.normalizer.lowercase",
    "strip_accents": "tokenizer.ggml.normalizer.strip_accents",
}
_NAMES_THAT_STRIP = ("phi-3", "phi3", "modern-bert")
_LIKELY = 0.5
"""What a change costs less if the reference tells so too."""


def flags(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Turn each flag that has an effect to the other side."""
    if evidence.encoder is None:
        return
    settings = evidence.encoder.settings
    names = _FLAGS.get(settings.algorithm, ())
    if evidence.adds_special and settings.algorithm not in {"wordpiece", "rwkv"}:
        names += _AFFIX_FLAGS
    for name in names:
        yield _flag(evidence, name, value=not getattr(settings, name))


def _flag(evidence: Evidence, name: str, *, value: bool) -> TokenizerChange:
    told = evidence.facts.spec is not None and getattr(evidence.facts.spec, name) is value
    declared = getattr(evidence.spec, name) is not None
    fields: dict[str, Any] = {name: value}
    return TokenizerChange(
        kind=name,
        sentence=f"turning {name} {'on' if value else 'off'}",
        cost=1 - _LIKELY * told,
        transform=lambda spec: replace(spec, **fields),
        gguf_command=set_flag(_KEYS[name], value=value, declared=declared) if declared else None,
    )


def special_ids(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Take another token for BOS, EOS, SEP or the unknown one: what the reference calls so, or really adds."""
    current = evidence.encoder.settings.special_ids if evidence.encoder else evidence.spec.special_ids
    told = evidence.facts.special_ids
    added = [target.expected for target in evidence.targets if target.add_special and target.expected]
    seen = {
        "bos": {ids[0] for ids in added},
        "eos": {ids[-1] for ids in added},
        "sep": {ids[-1] for ids in added},
        "unk": set(evidence.missing),
    }
    for role, shown in seen.items():
        wanted = [told[role]] if role in told else [id for id, _ in evidence.missing.most_common(3) if id in shown]
        for id in wanted:
            if id != current.get(role) and 0 <= id < len(evidence.spec.tokens):
                yield _special_id(evidence.spec, role, id, likely=role in told)


def _special_id(spec: TokenizerSpec, role: str, id: int, *, likely: bool) -> TokenizerChange:
    return TokenizerChange(
        kind=f"{role}_id",
        sentence=f"making token {id} {quoted(spec.tokens[id])} the {role} token ({key_of(role)})",
        cost=1.2 - _LIKELY * likely,
        transform=lambda spec: replace(spec, special_ids={**spec.special_ids, role: id}),
        gguf_command=set_special_id(role, id),
    )


def pre_tokenizers(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Name each other pre-tokenizer, those alike only once, unless none of the failing texts is cut otherwise."""
    spec, facts = evidence.spec, evidence.facts
    current = evidence.encoder.settings if evidence.encoder else None
    if spec.model == "gemma4" or (current and current.algorithm not in BYTE_PAIR_ALGORITHMS):
        return
    told = facts.spec.pre if facts.spec else None
    old = PRE_TOKENIZERS[current.pre] if current else None
    texts = [target.text for target in evidence.targets]
    cut = [splitter(old)(text) for text in texts] if old else None
    seen = {_behavior(old)} if old else set()
    for name in sorted(PRE_TOKENIZERS, key=lambda name: name != told):
        pre_tokenizer = PRE_TOKENIZERS[name]
        behavior = _behavior(pre_tokenizer)
        if behavior in seen:
            continue
        seen.add(behavior)
        implied = (pre_tokenizer.ignore_merges, pre_tokenizer.add_bos, pre_tokenizer.always_bos)
        same = old and implied == (old.ignore_merges, old.add_bos, old.always_bos)
        if same and cut == list(map(splitter(pre_tokenizer), texts)):
            continue
        yield TokenizerChange(
            kind="pre",
            sentence=f"naming the pre-tokenizer {name} (tokenizer.ggml.pre)",
            cost=2 - _LIKELY * (name == told),
            transform=partial(replace, pre=name),
            gguf_command=set_pre_tokenizer(name),
        )


def _behavior(pre_tokenizer: PreTokenizer) -> PreTokenizer:
    """Return what decides ids; how decoded text is cleaned up does not."""
    return replace(pre_tokenizer, clean_spaces=True, keeps_case=False)


def names(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Take away the model's name where llama.cpp strips whitespace around added tokens because of it."""
    name = evidence.spec.general.get("name", "")
    found = [part for part in _NAMES_THAT_STRIP if part in name.lower()]
    added = evidence.encoder.settings.added_tokens if evidence.encoder else ()
    if not found or (evidence.encoder and not any(token.lstrip or token.rstrip for token in added)):
        return
    new = name
    for part in found:
        at = new.lower().find(part)
        matched = new[at : at + len(part)]
        apart = matched.replace("-", " ") if "-" in matched else f"{matched[:-1]} {matched[-1]}"
        new = f"{new[:at]}{apart}{new[at + len(part) :]}"
    yield TokenizerChange(
        kind="name",
        sentence=f"renaming the model {quoted(new)}, as by general.name llama.cpp strips spaces around added tokens,",
        cost=2.5,
        transform=lambda spec: replace(spec, general={**spec.general, "name": new}),
        gguf_command=None,
    )


def charsmaps(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Take the charsmap of the reference, or none."""
    told = evidence.facts.spec
    if told is not None and told.charsmap != evidence.spec.charsmap:
        charsmap = told.charsmap
        yield TokenizerChange(
            kind="charsmap",
            sentence=f"taking the reference's charsmap of {len(charsmap):,} bytes" if charsmap else _NO_CHARSMAP,
            cost=4 - _LIKELY,
            transform=lambda spec: replace(spec, charsmap=charsmap),
        )
    elif told is None and evidence.spec.charsmap:
        yield TokenizerChange(
            kind="charsmap", sentence=_NO_CHARSMAP, cost=4, transform=lambda spec: replace(spec, charsmap=None)
        )


_NO_CHARSMAP = "leaving the charsmap (tokenizer.ggml.precompiled_charsmap) out"


def merges(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Take the merges of the reference."""
    told = evidence.facts.spec.merges if evidence.facts.spec else None
    current = evidence.spec.merges
    if not told or list(told) == list(current or ()):
        return
    yield TokenizerChange(
        kind="merges",
        sentence=f"taking the reference's {len(told):,} merges ({difference_of_merges(current or (), told)})",
        cost=4.5 - _LIKELY,
        transform=lambda spec: replace(spec, merges=told),
    )


def difference_of_merges(current: Sequence[str], told: Sequence[str]) -> str:
    """Say what one list of merges has that another has not, or from where on their order differs."""
    lacking, extra = len(set(told) - set(current)), len(set(current) - set(told))
    if lacking or extra:
        return f"{lacking:,} are missing here, {extra:,} here are not among them"
    first = next(rank for rank, (left, right) in enumerate(zip(current, told, strict=False)) if left != right)
    return f"the same in another order from rank {first:,} on"


def scores(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Take the scores of the reference, or scores that rank pieces as its merges do."""
    told, spec = evidence.facts.spec, evidence.spec
    if told is None or spec.merges or len(told.tokens) != len(spec.tokens):
        return
    if told.scores is not None and list(told.scores) != list(spec.scores or ()):
        wanted, origin = list(told.scores), "the reference's scores"
    elif told.scores is None and told.merges:
        wanted, origin = _scores_by_rank(told), "scores by the ranks of the reference's merges"
    else:
        return
    count = sum(left != right for left, right in zip(spec.scores or [0.0] * len(wanted), wanted, strict=False))
    yield TokenizerChange(
        kind="scores",
        sentence=f"taking {origin} ({count:,} are others here)",
        cost=4.5 - _LIKELY,
        transform=lambda spec: replace(spec, scores=wanted),
    )


def _scores_by_rank(told: TokenizerSpec) -> list[float]:
    ranks: dict[str, int] = {}
    for rank, merge in enumerate(told.merges or ()):
        ranks.setdefault(merge.replace(" ", ""), rank)
    return [-float(ranks.get(token, 0)) for token in told.tokens]


def models(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Take the model of the reference, with the pre-tokenizer and flags that go with it."""
    told, spec = evidence.facts.spec, evidence.spec
    if told is None or told.model == spec.model:
        return
    parts = {
        name: getattr(told, name)
        for name in ("model", "pre", "scores", "merges")
        if name == "model" or getattr(spec, name) is None
    }
    yield TokenizerChange(
        kind="model",
        sentence=f"calling the model {told.model} instead of {spec.model} (tokenizer.ggml.model)",
        cost=5 - _LIKELY,
        transform=lambda spec: replace(spec, **parts),
    )
