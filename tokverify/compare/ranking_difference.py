"""Find tokens that rank in another order than in the reference, and a text that shows that it matters."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice
from typing import NamedTuple
from weakref import WeakKeyDictionary

from tokverify.compare.digest import make_difference
from tokverify.compare.reference_ranking import ranks_alike, read_ranking
from tokverify.engine.attribute import Attribute
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Ranking
from tokverify.report.finding import ERROR, INFO
from tokverify.report.tokenizer_difference import Aspect, TokenizerDifference
from tokverify.sources.gguf.keys import MERGES, SCORES
from tokverify.spec import TokenizerSpec, TokenType, pieces_made_by
from tokverify.text.sequence import find_moved, pack, thin_out
from tokverify.text.utf8 import from_utf8
from tokverify.text.wording import list_items, list_tokens, plural, quote
from tokverify.texts.batch import encode_all, encode_plain, ids_or_none
from tokverify.texts.competing_text import CompetingTexts
from tokverify.texts.lost_piece import make_losing_texts
from tokverify.texts.mode import Mode, Modes
from tokverify.tokenizer import Tokenizer

_MOST_AROUND = 10_000
"""At most this many tokens that contain a moved one are put into texts."""
_MOST_MOVED = 200
"""At most this many moved tokens are put into texts; of more, an even sample."""
_CHARACTERS = 1 << 18
"""Of the texts that are encoded at a time, and of the longest one."""
_MOST_GROUPS = 32
"""Of such texts; those of real vocabularies are far fewer."""
NO_PROOF = "no tested text shows a difference"
_MODE = Mode(add_special=False, parse_special=True)
_NORMAL = Attribute.NORMAL.value


class RankingDifference(NamedTuple):
    """How the ranking of a file differs from its reference's."""

    message: str
    """A clause that says which tokens or merges rank differently."""
    ids: Sequence[int]
    """The tokens that they make."""
    proof: str
    """The shortest text found that is encoded differently because of it, with the ids of both sides; "" for none."""


_LATEST: WeakKeyDictionary[Encoder, tuple[Tokenizer, RankingDifference | None]] = WeakKeyDictionary()
"""What was found last for an encoder: a failing `run` compares once for its report, and once to measure repairs."""


def find_ranking_differences(
    actual: Tokenizer, expected: Tokenizer, *, thorough: bool = False
) -> Iterator[TokenizerDifference]:
    """Yield that the tokens of a file rank differently: an error only if a text shows it.

    `thorough` is that of `ranks_alike`.
    """
    if not isinstance(actual, Encoder):
        # The ranking of another tokenizer is only compared with that of a file.
        if isinstance(expected, Encoder):
            for difference in find_ranking_differences(expected, actual, thorough=thorough):
                yield replace(difference, message=f"with the two sides exchanged, {difference.message}")
        return
    if not ranks_alike(actual, expected, thorough=thorough):
        known = _LATEST.get(actual)
        found = known[1] if known and known[0] is expected else compare_rankings(actual, expected)
        _LATEST[actual] = expected, found
        if found:
            severity = ERROR if found.proof else INFO
            key = MERGES if actual.settings.family.ranking is Ranking.MERGE_RANK else SCORES
            message = f"{found.message}; {found.proof or NO_PROOF}"
            yield make_difference(Aspect.RANKING, severity, message, found.ids, keys=(key,))


def compare_rankings(actual: Encoder, expected: Tokenizer) -> RankingDifference | None:
    """Compare the order in which both sides join pieces; None if it is the same, or the reference exposes none."""
    declared = read_ranking(expected)
    if declared is None:
        return None
    ranking = actual.settings.family.ranking
    if ranking is Ranking.MERGE_RANK:
        message, pieces = _compare_merges(actual.spec.merges or (), declared.merges or ())
        ids = [actual.settings.ids[piece] for piece in pieces if piece in actual.settings.ids]
    else:
        ids = moved_tokens(actual, declared)
        message = _describe_tokens(actual, ids, ranking)
    if not message:
        return None
    tried = thin_out(ids, _MOST_MOVED)
    moved = frozenset(actual.settings.pieces[id] for id in tried)
    own = [text for id in tried if (text := from_utf8(actual.token_bytes(id)))]
    if own and all(ids is None for ids in encode_plain(actual, own)):
        # As of a byte-level vocabulary that is declared as another model: no text can show it, and the search is long.
        return RankingDifference(message, ids, "")
    texts = _texts_of(own, moved, actual, CompetingTexts(declared))
    proofs = (_prove(group, actual, expected, declared) for group in texts)
    return RankingDifference(message, ids, next(filter(None, proofs), ""))


def _texts_of(
    own: Iterable[str], moved: Collection[str], actual: Encoder, competing: CompetingTexts
) -> Iterator[Iterable[str]]:
    """Yield groups of texts that may show that moved tokens rank differently, those that take longer to make later.

    `own` are the texts of the moved tokens themselves.
    """
    yield chain(make_losing_texts(actual), own)
    yield competing.make_around(actual, moved)
    yield competing.make_delayed(actual, moved)
    # `tokverify fix` tries these as well, and must not find a text that nothing else does.
    yield chain(_texts_with(moved, actual), competing.make(actual))


def _texts_with(moved: Collection[str], actual: Encoder) -> Iterator[str]:
    """Yield the texts of the tokens that contain a moved one, alone and between others."""
    if not moved:
        return
    # A text may begin with the space of a piece although it does not contain it.
    contains = re.compile("|".join([*map(re.escape, moved), *(f"^{re.escape(piece.lstrip('▁Ġ'))}" for piece in moved)]))
    ids = [id for id, piece in enumerate(actual.settings.pieces) if contains.search(piece)]
    for text in filter(None, (from_utf8(actual.token_bytes(id)) for id in thin_out(ids, _MOST_AROUND))):
        yield text
        yield f"a{text}b {text} {text}{text}"


def moved_tokens(actual: Encoder, declared: TokenizerSpec) -> list[int]:
    """Return the ordinary tokens whose scores differ in a way that can matter: in value if sums decide, else in order.

    Of an order, these are the fewest tokens without which it is the same on both sides.
    """
    scores = actual.spec.scores
    if scores is None or not actual.settings.family.ranking.uses_scores:
        return []
    ordinary = _find_ordinary(actual, declared)
    if _has_scores(actual, declared, ordinary):
        return []
    if actual.settings.family.ranking is Ranking.SCORE_SUM:
        pairs = enumerate(zip(scores, declared.scores or (), strict=False))
        return [id for id, (ours, theirs) in pairs if ours != theirs and id in ordinary]
    id_of = actual.settings.id_by_piece.get
    if declared.scores is None:
        # As below, but half a million merges one by one would take long.
        made = dict.fromkeys(map(id_of, pieces_made_by(declared.merges or ())))
        ranked = [id for id in made if id in ordinary]
        if len(ranked) > 1 and len({scores[id] for id in ranked}) == 1:
            return sorted(ranked)
        return sorted(ranked[index] for index in find_moved([(-scores[id],) for id in ranked]))
    ranked, keys = [], []
    for group in _rank(declared):
        normal = [id for piece in group if (id := id_of(piece)) in ordinary]
        normal.sort(key=lambda id: -scores[id])
        keys += [(-scores[id], place) for place, id in enumerate(normal)]
        ranked += normal
    return sorted(ranked[index] for index in find_moved(keys))


def _has_scores(actual: Encoder, declared: TokenizerSpec, ids: Iterable[int]) -> bool:
    """Whether the tokens with these ids have the texts and scores that the reference declares."""
    if declared.scores is None:
        return False
    ours = list(zip(actual.settings.pieces, actual.spec.scores or (), strict=False))
    theirs = list(zip(declared.tokens, declared.scores, strict=False))
    return ours == theirs or all(id < len(theirs) and ours[id] == theirs[id] for id in ids)


def _find_ordinary(actual: Encoder, declared: TokenizerSpec) -> set[int]:
    """Return the ids of tokens that are NORMAL on both sides, as far as the reference declares types."""
    ordinary = {id for id, attribute in enumerate(actual.settings.attributes) if attribute == _NORMAL}
    others = {id for id, type in enumerate(declared.types or ()) if type != TokenType.NORMAL}
    return ordinary - others


def _rank(declared: TokenizerSpec) -> Iterator[Iterable[str]]:
    """Yield the pieces that can be made of others, the first to be made first; those with equal scores together."""
    if declared.scores is None:
        yield from zip(dict.fromkeys(pieces_made_by(declared.merges or ())))
        return
    scored = sorted(zip(declared.scores, declared.tokens, strict=False), key=lambda pair: -pair[0])
    for _, group in groupby(scored, key=lambda pair: pair[0]):
        yield [piece for _, piece in group]


def _describe_tokens(actual: Encoder, ids: Sequence[int], ranking: Ranking) -> str:
    count, listed = plural(len(ids), "token"), list_tokens(ids, actual.settings.pieces)
    scores = actual.spec.scores or ()
    if ranking is Ranking.SCORE_SUM:
        verb, what = "has" if len(ids) == 1 else "have", "another score than in the reference"
    elif len(ids) > 1 and len(tied := {scores[id] for id in ids}) == 1:
        verb, what = "all have", f"the same score, {tied.pop():g}, so that nothing ranks them"
    else:
        verb, what = "ranks" if len(ids) == 1 else "rank", "in another order than in the reference"
    return f"{count} {verb} {what}: {listed}" if ids else ""


def _compare_merges(ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, list[str]]:
    """Describe how merges differ; return that, "" if they do not, and what the differing ones make."""
    rank_of = {merge: rank for rank, merge in enumerate(theirs)}
    listed = dict.fromkeys(ours)
    common = [merge for merge in listed if merge in rank_of]
    groups = {
        "missing": [merge for merge in rank_of if merge not in listed],
        "extra": [merge for merge in listed if merge not in rank_of],
        "in another place": [common[index] for index in find_moved([(rank_of[merge],) for merge in common])],
    }
    parts = [f"{len(merges):,} {name} ({list_items(merges, show=quote)})" for name, merges in groups.items() if merges]
    made = pieces_made_by(chain.from_iterable(groups.values()))
    return f"the merges differ from the reference's: {', '.join(parts)}" if parts else "", list(dict.fromkeys(made))


def _prove(texts: Iterable[str], actual: Encoder, expected: Tokenizer, declared: TokenizerSpec) -> str:
    """Encode texts on both sides; describe the shortest one that differs, and would not with the declared ranking."""
    ranked: Encoder | None = None
    # The pieces of a small file can make texts whose ids would fill the memory.
    short = sorted({text for text in texts if len(text) <= _CHARACTERS}, key=lambda text: (len(text), text))
    for group in islice(pack(short, len, _CHARACTERS), _MOST_GROUPS):
        differing = find_differing_texts(group, actual, expected)
        if differing and ranked is None:
            ranked = Encoder(_adopt(declared, actual), base=actual)
        shown = find_differing_texts([text for text, _, _ in differing], actual, ranked) if ranked else ()
        texts_shown = {text for text, _, _ in shown}
        if proof := describe_shortest([found for found in differing if found[0] in texts_shown]):
            return proof
    return ""


def _adopt(declared: TokenizerSpec, actual: Encoder) -> TokenizerSpec:
    """Return what our side declares, with the ranking of the reference."""
    spec, ranking = actual.spec, actual.settings.family.ranking
    if ranking is Ranking.MERGE_RANK:
        return replace(spec, merges=declared.merges)
    scores = list(spec.scores or ())
    if ranking is Ranking.SCORE_SUM:
        scores = [*(declared.scores or ())[: len(scores)], *scores[len(declared.scores or ()) :]]
    else:
        ids = actual.settings.ids
        for rank, group in enumerate(_rank(declared)):
            for piece in group:
                if piece in ids:
                    scores[ids[piece]] = -float(rank)
    return replace(spec, scores=scores)


def find_differing_texts(
    texts: Iterable[str], actual: Tokenizer, expected: Tokenizer
) -> list[tuple[str, Sequence[int], Sequence[int]]]:
    """Return the texts that both sides can encode, and encode differently, with the ids of both sides."""
    tried = list(dict.fromkeys(texts))
    choose = Modes(actual, expected).choose
    modes = [choose(text, _MODE) for text in tried]
    encoded = (map(ids_or_none, encode_all(side, tried, modes)) for side in (actual, expected))
    rows = zip(tried, *encoded, strict=True)
    return [(text, ours, theirs) for text, ours, theirs in rows if None not in {ours, theirs} and ours != theirs]


def describe_shortest(differing: Sequence[tuple[str, Sequence[int], Sequence[int]]]) -> str:
    """Describe the shortest of the texts that both sides encode differently; "" if there is none."""
    if not differing:
        return ""
    text, ours, theirs = min(differing, key=lambda found: (len(found[0]), found[0]))
    return f"{quote(text)} is encoded as {list(ours)}, not {list(theirs)}"
