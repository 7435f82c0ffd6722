"""Find the tokens that are matched in a text before the model runs, from ids alone.

A token that is absent from the ids of its own probe is not matched. This excludes most tokens with a few hundred texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.texts.frame import FRAMES, make_packs

if TYPE_CHECKING:
    from tokverify.texts.batch import Queries
    from tokverify.texts.frame import Frame

    Texts = Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Matches:
    """The tokens that stay whole wherever they are."""

    always: frozenset[int]
    """Tokens that stay whole in all frames: those that are always matched, and ordinary ones that never merge."""
    seen: tuple[frozenset[int], ...]
    """For each frame, those of them that were certainly seen there; the others may have been hidden by longer ones."""
    special: frozenset[int]
    """Tokens that are matched only if special tokens are parsed."""


def find_matches(queries: Queries, texts: Texts) -> Matches:
    """Find the tokens that are matched in texts; a token without a text is never matched."""
    ids = [id for id, text in enumerate(texts) if text]
    remaining, seen = ids, []
    for frame in FRAMES:
        whole = find_whole(queries, frame, remaining, texts)
        seen.append(frozenset(whole.seen))
        remaining = [id for id in remaining if id in whole.seen or id in whole.hidden]
    always = frozenset(remaining)
    special = _find_special(queries, texts, ids, always) if queries.tokenizer.parses_special else ()
    return Matches(always, tuple(one & always for one in seen), frozenset(special))


@dataclass(frozen=True, slots=True)
class Whole:
    """The tokens that are whole in one frame."""

    seen: set[int]
    hidden: set[int]
    """Those for which that cannot be seen."""


def find_whole(queries: Queries, frame: Frame, ids: Sequence[int], texts: Texts) -> Whole:
    """Find those tokens among `ids` that are whole in one frame although special tokens are not parsed."""
    edges = frame.edges(queries) if ids else None
    if edges is None:
        return Whole(set(), set(ids))
    packs = list(make_packs(ids, texts))
    probes = [frame.surround(texts[id] or "" for id in pack) for pack in packs]
    rivals = _find_rivals(frame, ids, texts)
    whole = Whole(set(), set())
    for pack, encoding in zip(packs, queries.encode_all(probes), strict=True):
        if encoding is None:
            whole.hidden.update(pack)
            continue
        whole.seen.update(_find_triples(pack, encoding, edges))
        present = set(encoding)
        # subtle: a token is not excluded if a longer one, which may itself be matched, took its place.
        whole.hidden.update(id for id in pack if not present.isdisjoint(rivals.get(id, ())))
    return whole


def _find_special(queries: Queries, texts: Texts, ids: Sequence[int], always: frozenset[int]) -> Iterator[int]:
    """Yield the tokens that are whole only if special tokens are parsed."""
    frame = FRAMES[0]
    edges = frame.edges(queries)
    if edges is None:
        return
    rest = [id for id in ids if id not in always]
    rivals = _find_rivals(frame, rest, texts)
    packs = list(make_packs(rest, texts))
    probes = [frame.surround(texts[id] or "" for id in pack) for pack in packs]
    encodings = zip(queries.encode_all(probes), queries.encode_all(probes, parse_special=True), strict=True)
    for pack, (without, parsed) in zip(packs, encodings, strict=True):
        if parsed is None or parsed == without:
            continue
        present = set(parsed) - set(without or ())
        gained = _find_triples(pack, parsed, edges) - _find_triples(pack, without or (), edges)
        hidden = {id for id in pack if not present.isdisjoint(rivals.get(id, ()))}
        yield from (id for id in sorted(gained | hidden) if _is_matched(queries, texts[id] or "", id))


def _is_matched(queries: Queries, text: str, id: int) -> bool:
    """Check a token on its own, because tokens matched elsewhere in its pack may have changed the ids beside it."""
    for frame in FRAMES[:2]:
        edges, ids = frame.edges(queries), queries.encode(frame.surround([text]), parse_special=True)
        if edges and ids and _find_triples([id], ids, edges):
            return True
    return False


def _find_triples(pack: Sequence[int], encoding: Sequence[int], edges: tuple[int, int]) -> set[int]:
    """Return the tokens of a pack that occur between the ids at the edges of their frame."""
    before, after = edges
    triples = set(zip(encoding, encoding[1:], encoding[2:], strict=False))
    return {id for id in pack if (before, id, after) in triples}


def _find_rivals(frame: Frame, ids: Sequence[int], texts: Texts) -> Mapping[int, tuple[int, ...]]:
    """Map tokens to the longer ones that would take their place in this frame if those are matched."""
    known = {texts[id]: id for id in ids}
    rivals = {}
    for id in ids:
        text = texts[id] or ""
        longer = (frame.before + text, text + frame.after, frame.before + text + frame.after)
        found = tuple(known[one] for one in longer if one in known)
        if found:
            rivals[id] = found
    return rivals
