"""Changes that copy whole arrays, or the model, from a reference that declares them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import Any

from tokverify.compare.contradiction import SPACE_PREFIX
from tokverify.compare.ranking_difference import moved_tokens
from tokverify.compare.reference_ranking import descends
from tokverify.engine.encoder import Encoder
from tokverify.engine.families import find_family
from tokverify.engine.family import Affixes, Ranking, Settings
from tokverify.engine.piece_index import index_pieces
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange, set_field
from tokverify.repair.evidence import Evidence
from tokverify.repair.setting_change import AFFIX_FLAGS, is_in_doubt
from tokverify.report.vocabulary_difference import NEARLY_ALL
from tokverify.spec import TokenizerSpec, pieces_made_by
from tokverify.text.sequence import common_length, thin_out
from tokverify.text.wording import list_items, plural

_SAMPLE = 20_000
"""So many merges show in which order all of them are."""


def surplus_values(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Remove types and scores after the last token, because of which the file is refused."""
    spec, size = evidence.spec, len(evidence.spec.tokens)
    surplus: dict[str, Any] = {
        name: values[:size] for name in ("types", "scores") if (values := getattr(spec, name)) and len(values) > size
    }
    if surplus:
        yield TokenizerChange(
            kind="+".join(surplus),
            sentence=f"removing the {' and '.join(surplus)} after the last token",
            cost=cost.SURPLUS_VALUES,
            transform=lambda spec: replace(spec, **surplus),
        )


def mistyped_values(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Leave out the keys whose values have the wrong types, because of which the file is refused."""
    mistyped = evidence.spec.mistyped_keys
    if mistyped:
        named = list_items([f"{key}, which is {type_name}" for key, type_name in mistyped.items()])
        yield TokenizerChange(
            kind="mistyped",
            sentence=f"leaving out {named}",
            cost=cost.SURPLUS_VALUES,
            transform=lambda spec: replace(spec, mistyped_keys={}),
        )


def charsmaps(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Copy the reference's charsmap, or remove ours."""
    reference, current = evidence.facts.spec, evidence.spec.charsmap
    charsmap = reference.charsmap if reference else None
    if charsmap != current and (reference or current):
        sentence = "removing the charsmap (tokenizer.ggml.precompiled_charsmap)"
        if charsmap:
            sentence = f"using the reference's charsmap of {len(charsmap):,} bytes"
        yield set_field("charsmap", charsmap, sentence, cost.discount(cost.CHARSMAP, confirmed=reference is not None))


def merges(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Copy the reference's merges."""
    reference = evidence.facts.spec or evidence.facts.ranking
    expected = reference.merges if reference else None
    current = evidence.spec.merges
    if not expected or list(expected) == list(current or ()):
        return
    if reference is not None and _ranks_as_merges(evidence.spec, reference):
        return
    what = f"the reference's {len(expected):,} merges"
    yield set_merges(evidence.spec, expected, what, cost.discount(cost.MERGES, confirmed=True))


def set_merges(spec: TokenizerSpec, merges: Sequence[str], what: str, at_cost: float) -> TokenizerChange:
    """Return the change that replaces all merges, and says how they differ from those that it replaces."""

    def describe(replaced: TokenizerSpec) -> str:
        return f"using {what} ({_compare_merges(replaced.merges or (), merges)})"

    return replace(set_field("merges", merges, describe(spec), at_cost), describe=describe)


def _compare_merges(current: Sequence[str], expected: Sequence[str]) -> str:
    """Count the merges that are missing and extra; if there are none, name the rank where the order first differs.

    Some programs separate the two pieces with a tab.
    """
    missing, extra = len(set(expected) - set(current)), len(set(current) - set(expected))
    if missing and [merge.replace("\t", " ") for merge in current] == list(expected):
        return "the same merges, with tabs instead of spaces"
    if missing or extra:
        return f"{missing:,} missing, {extra:,} extra"
    return f"the same merges, in another order from rank {common_length(current, expected):,}"


def scores(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Copy the reference's scores; if it has merges instead, use scores that rank pieces as the merges do.

    Tokens after the reference's last one, such as padding, keep their own.
    """
    reference, spec = evidence.facts.spec, evidence.spec
    if reference is None or spec.merges or len(reference.tokens) > len(spec.tokens):
        return
    rest = (spec.scores or [0.0] * len(spec.tokens))[len(reference.tokens) :]
    if _ranks_as_merges(spec, reference):
        return
    if reference.scores is not None and [*reference.scores, *rest] != list(spec.scores or ()):
        if evidence.encoder and _ranks_alike(evidence.encoder, reference):
            return
        expected, description = list(reference.scores), "the reference's scores"
    elif reference.scores is None and reference.merges:
        expected, description = _scores_by_rank(reference), "scores that follow the ranks of the reference's merges"
    else:
        return
    expected += rest
    sentence = f"using {description} ({_compare_scores(evidence, expected)})"
    yield set_field("scores", expected, sentence, cost.discount(cost.SCORES, confirmed=True))


def _ranks_alike(actual: Encoder, reference: TokenizerSpec) -> bool:
    """Whether only the order of scores matters, and they descend with the ids on both sides, with the same ties."""
    ours, theirs = actual.spec.scores, reference.scores
    if actual.settings.family.ranking is not Ranking.SCORE or ours is None or theirs is None:
        return False
    return _tied(ours) == _tied(theirs) and descends(actual, ours) and descends(actual, theirs)


def _tied(scores: Sequence[float]) -> Sequence[bool]:
    counts = Counter(scores)
    return [counts[score] > 1 for score in scores]


def _compare_scores(evidence: Evidence, expected: Sequence[float]) -> str:
    """Count the scores that matter: if only their order does, the tokens that rank in another one."""
    encoder, reference = evidence.encoder, evidence.facts.ranking
    if encoder and reference and encoder.settings.family.ranking is Ranking.SCORE and encoder.spec.scores is not None:
        moved = len(moved_tokens(encoder, reference))
        return f"{plural(moved, 'token')} {'ranks' if moved == 1 else 'rank'} in another order"
    current = evidence.spec.scores or [0.0] * len(expected)
    count = sum(old != new for old, new in zip_longest(current, expected))
    return f"{count:,} {'differs' if count == 1 else 'differ'}"


def _scores_by_rank(reference: TokenizerSpec) -> list[float]:
    ranks: dict[str, int] = {}
    for rank, piece in enumerate(pieces_made_by(reference.merges or ())):
        ranks.setdefault(piece, rank)
    return [-float(ranks.get(token, 0)) for token in reference.tokens]


def _ranks_as_merges(spec: TokenizerSpec, reference: TokenizerSpec) -> bool:
    """Whether a file without merges has scores that rank its pieces in the order of the reference's merges.

    Then its model is right, and the reference is read as another only because merges may say more than scores, as in
    a tokenizer.json of Gemma 3.
    """
    scores = spec.scores or ()
    if spec.merges or reference.scores is not None or not reference.merges or len(scores) < len(spec.tokens):
        return False
    ids = index_pieces(spec.tokens)
    made = dict.fromkeys(pieces_made_by(thin_out(reference.merges, _SAMPLE)))
    ranked = [scores[id] for id in map(ids.get, made) if id is not None]
    descending = sum(before > after for before, after in pairwise(ranked))
    return len(ranked) > 1 and descending >= NEARLY_ALL * (len(ranked) - 1)


def _kept_flags(evidence: Evidence, settings: Settings, special_ids: Mapping[str, int]) -> dict[str, bool]:
    """Return the flags that must stay what they are although the model changes, since the reference says nothing."""
    kept: dict[str, bool] = {}
    if evidence.spec.add_space_prefix is None and evidence.facts.is_contradicted(SPACE_PREFIX):
        kept["add_space_prefix"] = settings.add_space_prefix
    expected = evidence.facts.tokenizer
    if settings.add_eos and evidence.spec.add_eos is None:
        # Only the wrong model adds it by default.
        return kept
    added = {role for role in ("bos", "eos") if getattr(settings, f"add_{role}")}
    # A model without BOS must not add it: llama.cpp would abort.
    if (expected is None or not expected.adds_special) and added <= special_ids.keys():
        kept |= {"add_bos": "bos" in added, "add_eos": "eos" in added}
    return kept


def models(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Set the reference's model, and declare what the file leaves out, which has another default for each model."""
    reference, spec = evidence.facts.spec, evidence.spec
    if reference is None or reference.model == spec.model or _ranks_as_merges(spec, reference):
        return
    family = find_family(reference.model)
    names = ["pre", "scores", "merges", "charsmap", *(family.flags if family else ())]
    if family and family.affixes is Affixes.BY_FLAG:
        names += [name for name in AFFIX_FLAGS if not is_in_doubt(evidence, name)]
    undeclared = [name for name in names if getattr(spec, name) is None]
    parts: dict[str, Any] = {name: getattr(reference, name) for name in ("model", *undeclared)}
    roles = reference.special_ids
    kept: dict[str, bool] = {}
    if evidence.encoder:
        kept = _kept_flags(evidence, evidence.encoder.settings, {**roles, **spec.valid_special_ids})
    merges = parts.get("merges") or ()
    filled = {
        f"{len(merges):,} merges": bool(merges),
        "charsmap": parts.get("charsmap") is not None,
        "flags": any(isinstance(value, bool) for name, value in parts.items() if name not in kept),
        "special tokens": not roles.keys() <= spec.valid_special_ids.keys(),
    }
    added = list_items([what for what, is_filled in filled.items() if is_filled])
    rest = f", with the reference's {added}" if added else ""
    rest += f", keeping {list_items(sorted(kept))} as before" if kept else ""
    parts |= kept
    yield TokenizerChange(
        kind="model",
        sentence=f"setting the model to {reference.model} instead of {spec.model} (tokenizer.ggml.model){rest}",
        cost=cost.discount(cost.MODEL, confirmed=True),
        transform=lambda spec: replace(spec, **parts, special_ids={**roles, **spec.valid_special_ids}),
    )
