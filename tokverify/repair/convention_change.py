"""Generate changes to what trainers and converters usually write, for references that provide only ids and bytes.

Trainers number tokens as they find them: in byte-pair encoding each new token is the result of the next merge, and a
sentencepiece token scores no higher than the one before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import log

from tokverify.engine.families import FAMILIES, find_family
from tokverify.engine.family import Alphabet, Ranking
from tokverify.repair import cost
from tokverify.repair.array_change import set_merges
from tokverify.repair.change import TokenizerChange, set_field
from tokverify.repair.evidence import Evidence
from tokverify.repair.probe.convention import all_splits, byte_level_merges, read_charsmaps
from tokverify.repair.token_patch import kind_of, types_of
from tokverify.spec import TokenizerSpec, TokenType, pieces_made_by
from tokverify.text.sequence import thin_out
from tokverify.text.utf8 import from_utf8
from tokverify.text.wording import plural
from tokverify.texts.batch import Queries
from tokverify.texts.token_text import is_filler
from tokverify.texts.unmade_token import lost_merges

_SAMPLE = 1_000
"""So many tokens show whether merges make them."""
_MOST_WORK = 20_000_000
"""The limit for the sum of the squared lengths of all tokens, which determines the time; twice that of Gemma 4."""


def merges(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Use the merges that the order of the tokens implies, or append those of them that are missing."""
    spec, current = evidence.spec, list(evidence.spec.merges or ())
    family = find_family(spec.model)
    if evidence.facts.spec is not None or family is None or not family.is_bpe or _follow_ids(spec, current):
        return
    if sum(len(piece) ** 2 for _, piece in _normal_tokens(spec)) > _MOST_WORK:
        return
    normal = dict(_normal_tokens(spec))
    # Converters of tiktoken files list every split, too, and so more merges than tokens, unless most were lost.
    lists_one = family.alphabet is Alphabet.BYTE_LEVEL and len(current) <= len(normal)
    found = byte_level_merges(tuple(normal.values())) if lists_one else all_splits(tuple(spec.tokens), tuple(normal))
    implied, known = list(found), set(current)
    # If what is left is in the implied order, that restores the rest better than appending it.
    is_subsequence = [merge for merge in implied if merge in known] == current
    if not is_subsequence and (restored := _restore_merges(_lost_pieces(evidence), current)):
        sentence = f"adding {plural(len(restored), 'merge')} for tokens that have none, but are used by the reference"
        yield set_field("merges", current + restored, sentence, cost.CONVENTIONAL_ARRAY)
    if implied and implied != current:
        what = f"the {len(implied):,} merges implied by the order of the tokens"
        yield set_merges(spec, implied, what, cost.CONVENTIONAL_ARRAY)
    missing = [merge for merge in implied if merge not in known]
    if current and missing and current + missing != implied:
        sentence = f"adding {plural(len(missing), 'merge')} implied by the order of the tokens"
        yield set_field("merges", current + missing, sentence, cost.CONVENTIONAL_ARRAY)


def _lost_pieces(evidence: Evidence) -> list[str]:
    """Return the tokens without a merge, among those that have one, to which the reference encodes their own texts."""
    encoder, expected = evidence.encoder, evidence.facts.tokenizer
    if encoder is None or expected is None:
        return []
    texts = {id: text for id in sorted(lost_merges(evidence.spec)) if (text := from_utf8(encoder.token_bytes(id)))}
    answers = zip(texts, Queries(expected).encode_all(list(texts.values())), strict=True)
    return [evidence.spec.tokens[id] for id, ids in answers if ids == [id]]


def _restore_merges(lost: Sequence[str], merges: Sequence[str]) -> list[str]:
    """Return merges for tokens that have lost theirs: of the two parts that the other merges make of each.

    A merges.txt has a comment in its first line, and who takes all lines that begin with `#` for comments loses merges.
    Trainers find doubled pieces, as `####` in lines of them, before the others.
    """
    ranks = {merge: rank for rank, merge in enumerate(merges)}
    restored: list[str] = []
    for piece in sorted(lost, key=lambda piece: (not _is_doubled(piece), len(piece), piece)):
        parts = _apply_merges(piece, ranks)
        if len(parts) == 2:  # noqa: PLR2004 - a merge has two parts
            restored.append(" ".join(parts))
            ranks[restored[-1]] = len(ranks)
    return restored


def _is_doubled(piece: str) -> bool:
    middle = len(piece) // 2
    return piece[:middle] == piece[middle:]


def _apply_merges(piece: str, ranks: Mapping[str, int]) -> list[str]:
    parts = list(piece)
    while pairs := [(ranks[pair], at) for at, pair in enumerate(map(" ".join, pairwise(parts))) if pair in ranks]:
        _, at = min(pairs)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def _follow_ids(spec: TokenizerSpec, merges: Sequence[str]) -> bool:
    """Whether merges produce each token once, in the order of the ids, so that they are those that the ids imply.

    If another of its merges was kept, a token is not made of its own text.
    """
    if not all(" " in merge for merge in merges):
        return False
    pieces = [piece for _, piece in _normal_tokens(spec) if len(piece) > 1]
    if pieces_made_by(merges) != pieces:
        return False
    ranks = {merge: rank for rank, merge in enumerate(merges)}
    return all(_apply_merges(piece, ranks) == [piece] for piece in thin_out(pieces, _SAMPLE))


def _normal_tokens(spec: TokenizerSpec) -> Iterator[tuple[int, str]]:
    """Yield the tokens that a trainer made, even if they are UNUSED here, unless they are placeholders."""
    for id, (piece, type) in enumerate(zip(spec.tokens, types_of(spec), strict=False)):
        if type == TokenType.NORMAL or (type == TokenType.UNUSED and not is_filler(piece)):
            yield id, piece


def scores(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Rank tokens in the order of their ids: with new scores if only the rank matters, else with the existing ones.

    Runs of spaces, which were added to Llama's vocabulary afterwards, may come last.
    """
    spec = evidence.spec
    family = find_family(spec.model)
    if evidence.facts.spec is not None or family is None or not family.ranking.uses_scores:
        return
    is_complete = spec.scores is not None and len(spec.scores) == len(spec.tokens)
    ids = [id for id, _ in _normal_tokens(spec)]
    if is_complete:
        yield from _logarithms(spec, ids)
        yield from _negated_scores(spec, ids)
    if family.ranking is Ranking.SCORE:
        ranking = "ranking the scores in the order of the ids, as trainers do"
        runs = [id for id in ids if kind_of(spec.tokens[id]) == "runs of spaces"]
        yield from _set_scores(spec, ids, ranking)
        if runs:
            last = sorted(ids, key=set(runs).__contains__)
            yield from _set_scores(spec, last, f"{ranking}, with {plural(len(runs), 'run')} of spaces last")
        if is_complete:
            yield from _fill_gaps(spec, ids)
    elif spec.scores is not None and is_complete:
        falling = sorted((spec.scores[id] for id in ids), reverse=True)
        yield from _set_scores(spec, ids, "sorting the scores in the order of the ids, as trainers do", falling)


def _logarithms(spec: TokenizerSpec, ids: Sequence[int]) -> Iterator[TokenizerChange]:
    """Take the logarithms of the scores if all can be probabilities; other tokens may have any score."""
    scores = [float(score) for score in spec.scores or ()]
    if ids and all(0 < scores[id] <= 1 for id in ids):
        new = [log(score) if score > 0 else score for score in scores]
        sentence = "using the logarithms of the scores, which are probabilities"
        yield set_field("scores", new, sentence, cost.REWRITTEN_SCORES)


def _negated_scores(spec: TokenizerSpec, ids: Sequence[int]) -> Iterator[TokenizerChange]:
    """Negate the scores if most are positive: they are logarithms of probabilities, or negated ranks."""
    scores = [float(score) for score in spec.scores or ()]
    positive = sum(scores[id] > 0 for id in ids)
    if positive > len(ids) // 2:
        sentence = "negating the scores, most of which are positive"
        yield set_field("scores", [-score for score in scores], sentence, cost.REWRITTEN_SCORES)


def _set_scores(
    spec: TokenizerSpec, ids: Sequence[int], sentence: str, falling: Sequence[float] | None = None
) -> Iterator[TokenizerChange]:
    """Assign descending scores to tokens: those in `falling`, or minus their rank."""
    size = len(spec.tokens)
    old = [*(spec.scores or ())[:size], *[0.0] * (size - len(spec.scores or ()))]
    ranked = [old[id] for id in ids]
    new = list(old)
    for rank, id in enumerate(ids):
        new[id] = falling[rank] if falling else -float(rank)
    if ranked != sorted(set(ranked), reverse=True) and new != old:
        yield set_field("scores", new, sentence, cost.CONVENTIONAL_ARRAY)


def _fill_gaps(spec: TokenizerSpec, ids: Sequence[int]) -> Iterator[TokenizerChange]:
    """Put the scores of tokens that are out of order between those of the tokens before and after them.

    Those after the last one that is in order keep their scores, as they were added later. If most would be moved, it is
    not clear which are in order.
    """
    scores = [float(score) for score in spec.scores or ()]
    moved: dict[int, float] = {}
    for before, after in pairwise(_longest_falling([scores[id] for id in ids])):
        first, last = scores[ids[before]], scores[ids[after]]
        for at in range(before + 1, after if last < first else before):
            moved[ids[at]] = first + (last - first) * (at - before) / (after - before)
    if 0 < len(moved) < len(ids) / 2:
        changed = [moved.get(id, score) for id, score in enumerate(scores)]
        count = plural(len(moved), "token")
        sentence = f"putting the scores of {count} between those of the tokens before and after them"
        yield set_field("scores", changed, sentence, cost.REWRITTEN_SCORES)


def _longest_falling(numbers: Sequence[float]) -> list[int]:
    """Return the indexes of a longest subsequence of which no number is greater than the one before it."""
    least: list[float] = []
    ends: list[int] = []
    previous: list[int] = []
    for index, number in enumerate(numbers):
        length = bisect_right(least, -number)
        previous.append(ends[length - 1] if length else -1)
        least[length : length + 1], ends[length : length + 1] = [-number], [index]
    chain: list[int] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(index)
        index = previous[index]
    return chain[::-1]


def charsmaps(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Use the other charsmaps that sentencepiece provides."""
    spec = evidence.spec
    family = find_family(spec.model)
    if evidence.facts.spec is not None or family is None or not family.uses_charsmap:
        return
    import sentencepiece

    for rule, charsmap in read_charsmaps():
        if charsmap != spec.charsmap:
            sentence = f"using the charsmap {rule} of sentencepiece {sentencepiece.__version__}"
            yield set_field("charsmap", charsmap, sentence, cost.CONVENTIONAL_ARRAY)


def models(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Set a model that uses what the file has: merges, or scores without merges."""
    spec = evidence.spec
    family = find_family(spec.model)
    if evidence.facts.spec is not None:
        return
    if spec.merges and not (family and family.is_bpe):
        for model in sorted(name for name, load in FAMILIES.items() if load().is_bpe):
            yield _set_model(spec, model, ", which ignores merges", cost.UNUSED_MERGES)
    elif spec.scores and not spec.merges:
        for model in (name for name, load in FAMILIES.items() if load().ranking.uses_scores):
            if model != spec.model:
                yield _set_model(spec, model, "", cost.MODEL)


def _set_model(spec: TokenizerSpec, model: str, reason: str, cost: float) -> TokenizerChange:
    sentence = f"setting the model to {model} instead of {spec.model}{reason} (tokenizer.ggml.model)"
    return set_field("model", model, sentence, cost)
