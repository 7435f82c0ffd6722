"""Distill a corpus: choose few short texts that contain every token and every feature of its documents.

The excerpts of a corpus are chosen greedily: the next one is that with the most uncovered items for its length. Each is
then cut as long as it still contains what it was chosen for, and short ones are joined, because tens of thousands of
rare tokens would otherwise become as many cases. All of it depends only on the excerpts and the tokenizer.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tokverify.case import Case
from tokverify.corpus.coverage import pre_tokenizer_of
from tokverify.corpus.witness import Witness, find_features
from tokverify.engine.encoder import Encoder
from tokverify.report.corpus import CorpusReport
from tokverify.text.wording import list_items, plural, quote
from tokverify.texts.mode import Mode

Items: TypeAlias = "frozenset[int | str]"
"""Ids of tokens, and features."""

MAX_CASES = 2000

_MIN_JOINED = 120
_OVERHEAD = 8
_SEPARATORS = ("\n", "\n ", " ")
_MAX_NAMED = 6


@dataclass(frozen=True, slots=True)
class Distilled:
    """The cases that represent a corpus."""

    cases: tuple[Case, ...]
    covered: int
    """How many tokens and features they contain."""
    missing: tuple[int | str, ...]
    """Those that occur in the corpus, but in none of the excerpts when these are encoded alone."""


@dataclass(frozen=True, slots=True)
class _Text:
    content: str
    items: Items
    """What it is chosen for."""


def distill(witnesses: Sequence[Witness], report: CorpusReport, encoder: Encoder, mode: Mode) -> Distilled:
    """Return at most about `MAX_CASES` cases: the examples of each cause, then texts that cover the rest."""
    find = _Finder(encoder, mode)
    wanted = _items_of(witnesses)
    found = find.items([witness.text for witness in witnesses])
    available = {witness.text: items & wanted for witness, items in zip(witnesses, found, strict=True)}
    chosen = [_cut(text, find) for text in choose(available)]
    causes = list(_cause_cases(report))
    joined = list(_join(chosen, find, MAX_CASES - len(causes)))
    covered = frozenset[int | str]().union(*(text.items for text in joined))
    cases = [_case(text, encoder, mode) for text in joined]
    return Distilled((*causes, *cases), len(covered), tuple(sorted(wanted - covered, key=str)))


def choose(available: dict[str, Items]) -> list[_Text]:
    """Choose texts until everything that is available is covered, each with what no text before it covers."""
    covered: set[int | str] = set()
    heap = [(-_worth(text, len(items)), text) for text, items in available.items() if items]
    heapq.heapify(heap)
    chosen: list[_Text] = []
    while heap:
        worth, text = heapq.heappop(heap)
        new = available[text] - covered
        # The worth of a text only decreases, so one that is still as good as it was is the best.
        if new and -_worth(text, len(new)) == worth:
            chosen.append(_Text(text, new))
            covered |= new
        elif new:
            heapq.heappush(heap, (-_worth(text, len(new)), text))
    return chosen


def _worth(text: str, gain: int) -> float:
    return gain / (len(text) + _OVERHEAD)


class _Finder:
    """Finds the items of texts, and not those that are added around every text."""

    def __init__(self, encoder: Encoder, mode: Mode) -> None:
        self._encoder = encoder
        self._mode = mode._replace(add_special=False)
        self._pre_tokenizer = pre_tokenizer_of(encoder)

    def items(self, texts: Sequence[str]) -> Iterator[Items]:
        """Yield the tokens and features of each text."""
        batch = self._encoder.encode_batch(texts, **self._mode._asdict())
        for text, ids in zip(texts, batch, strict=True):
            yield frozenset(ids) | find_features(self._pre_tokenizer, text)

    def contains(self, text: str, items: Items) -> bool:
        """Check whether a text contains items."""
        ids = self._encoder.encode(text, **self._mode._asdict())
        rest = items.difference(ids)
        return not rest or rest <= find_features(self._pre_tokenizer, text)


def _items_of(witnesses: Iterable[Witness]) -> Items:
    wanted: set[int | str] = set()
    for witness in witnesses:
        wanted.update(witness.tokens, witness.features)
    return frozenset(wanted)


def _cut(text: _Text, find: _Finder) -> _Text:
    """Cut off both ends as far as the text still contains what it was chosen for."""
    content = text.content
    size = len(content) // 2
    while size:
        for part in (content[:-size], content[size:]):
            if find.contains(part, text.items):
                content = part
                break
        else:
            size //= 2
        size = min(size, len(content) // 2)
    return replace(text, content=content)


def _join(texts: Sequence[_Text], find: _Finder, count: int) -> Iterator[_Text]:
    """Join texts, so that about `count` are left, where they still contain the same items next to each other."""
    length = max(_MIN_JOINED, sum(len(text.content) for text in texts) * 5 // 4 // max(1, count))
    current: _Text | None = None
    for text in sorted(texts, key=lambda text: text.content):
        if current is None:
            current = text
            continue
        joined = _join_two(current, text, find) if len(current.content) < length else None
        if joined is None:
            yield current
        current = joined or text
    if current:
        yield current


def _join_two(left: _Text, right: _Text, find: _Finder) -> _Text | None:
    items = left.items | right.items
    joined = (_Text(f"{left.content}{separator}{right.content}", items) for separator in _SEPARATORS)
    return next((text for text in joined if find.contains(text.content, items)), None)


def _cause_cases(report: CorpusReport) -> Iterator[Case]:
    """Yield the examples of each cause."""
    for result in report.report.results:
        causes = [cause for cause in report.causes if result.case.id in cause.cases]
        if result.case.text and causes:
            yield replace(result.case, note="; ".join(f"{cause.cause}: {cause.meaning}" for cause in causes))


def _case(text: _Text, encoder: Encoder, mode: Mode) -> Case:
    digest = hashlib.sha256(text.content.encode()).hexdigest()[:8]
    return Case(
        id=f"text-{digest}",
        suite="corpus",
        text=text.content,
        note=_describe_items(text.items, encoder),
        **mode._asdict(),
    )


def _describe_items(items: Items, encoder: Encoder) -> str:
    """Say what a text is chosen for, such as `covers 7 tokens: "a", "b" and 5 more; the scripts Latin Han`."""
    ids = sorted(item for item in items if isinstance(item, int))
    features = sorted(item for item in items if isinstance(item, str))
    pieces = list_items((quote(encoder.piece(id)) for id in ids), _MAX_NAMED)
    return "covers " + "; ".join([*([f"{plural(len(ids), 'token')}: {pieces}"] if ids else []), *features])
