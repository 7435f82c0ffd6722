"""Find the tokens that are matched in a text before the model runs, from ids alone.

A token that is absent from the ids of its own probe is not matched. This excludes most tokens with a few hundred texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace

from tokverify.engine.encoder import Encoder
from tokverify.engine.normalizer import escape_spaces
from tokverify.errors import TokverifyError
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.texts.batch import Queries, encode_one
from tokverify.texts.frame import FRAMES, Frame, make_packs

Texts = Sequence[str | None]

_LONGEST_RUN = 80
"""In characters; longer than most tokens that repeat one character, so that several are needed."""
_RUNS = 8
"""The number of runs of each character to encode."""


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
    before, after = frame.before, frame.after
    rivals = {}
    for id in ids:
        text = texts[id] or ""
        longer = (before + text, text + after, before + text + after)
        # Few tokens have any.
        if not known.keys().isdisjoint(longer):
            rivals[id] = tuple(known[one] for one in longer if one in known)
    return rivals


def find_user_defined_runs(
    queries: Queries, texts: Sequence[str | None], undecided: Set[int], known: Set[int], guess: TokenizerSpec
) -> set[int]:
    """Return those of the `undecided` tokens whose runs are encoded as if they were USER_DEFINED, unlike in `guess`.

    Runs of one character, such as newlines, stay whole between letters, so `find_matches` does not tell their type.
    An ordinary long run is merged from its beginning or its end, a user-defined one is matched longest first. Tokens of
    the same character have the same type, except that a single one may be ordinary.
    """
    found: set[int] = set()
    groups: dict[str, set[int]] = {}
    for id in undecided:
        text = texts[id] or ""
        if len(set(text)) == 1:
            groups.setdefault(text[0], set()).add(id)
    groups = {character: members for character, members in groups.items() if len(members) > 1}
    if not groups:
        return found
    every = set().union(*groups.values())
    several = {id for id in every if len(texts[id] or "") > 1}
    variants: list[tuple[set[int], Encoder]] = []
    for members in (set[int](), several, every):
        with suppress(TokverifyError):
            variants.append((members, Encoder(_define(guess, members, texts))))
    # Spaces first: a literal ▁ tells whether tokens for them are ordinary. Other white space is alike if nothing tells.
    for character in sorted(groups, key=lambda character: character != " "):
        has_spaces = any((texts[id] or "").startswith("  ") for id in known | found)
        order = variants[::-1] if has_spaces and character.isspace() else variants
        found |= groups[character] & _choose(queries, character, order)
    return found


def find_singles(texts: Sequence[str | None], undecided: Set[int], known: Set[int]) -> set[int]:
    """Return the `undecided` tokens of one character whose longer runs are `known` to be USER_DEFINED.

    Most of them are, too, but ids do not reveal it.
    """
    runs = [text for text in (texts[id] or "" for id in known) if len(text) > 1 and len(set(text)) == 1]
    characters = {text[0] for text in runs} - {" "}
    return {id for id in undecided if texts[id] in characters}


def _define(guess: TokenizerSpec, ids: Iterable[int], texts: Sequence[str | None]) -> TokenizerSpec:
    types, tokens = list(guess.types or ()), list(guess.tokens)
    for id in ids:
        types[id] = TokenType.USER_DEFINED.value
        # Tokens that are matched in texts are stored with spaces, not with ▁.
        tokens[id] = texts[id] or ""
    return replace(guess, types=types, tokens=tokens)


def _choose(queries: Queries, character: str, variants: Sequence[tuple[set[int], Encoder]]) -> set[int]:
    """Return the tokens of the first of those variants that encode most runs of a character like the reference."""
    runs = [character * length for length in range(2, _LONGEST_RUN)]
    # An ordinary token for spaces also matches a literal ▁.
    runs += [escape_spaces(run) for run in runs[:_RUNS] if character == " "]
    encodings = [[encode_one(encoder, run) or [] for run in runs] for _, encoder in variants]
    telling = [index for index in range(len(runs)) if len({tuple(ids[index]) for ids in encodings}) > 1][-_RUNS:]
    expected = queries.encode_all([runs[index] for index in telling])
    counts = [sum(ids[index] == other for index, other in zip(telling, expected, strict=True)) for ids in encodings]
    return variants[counts.index(max(counts))][0]
