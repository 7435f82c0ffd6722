"""Fit the scores of a unigram tokenizer, so that it segments words as the reference does.

A wrong segmentation says that the expected pieces have a greater sum than ours. Each pass changes the scores of the
pieces in every wrong word by the least that turns the comparison around, averaged over the words with a piece. This is
the passive-aggressive update of Crammer et al., "Online Passive-Aggressive Algorithms" (2006), for structured outputs,
applied to all words at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from tokverify.engine.encoder import Encoder
from tokverify.engine.normalizer import unescape_spaces
from tokverify.repair.probe.convention import normal_ids
from tokverify.spec import TokenizerSpec
from tokverify.texts.batch import Queries
from tokverify.texts.frame import pack_texts

_PASSES = 8
_MARGIN = 0.02
"""By how much the expected sum must be greater afterwards."""
_JOINED = 60_000
"""The number of words made of several pieces, at most."""
_SHORT = 2
_MOST_PIECES = 6


@dataclass(frozen=True, slots=True)
class _Pack:
    """A text of many words, and the ids of each."""

    text: str
    words: Sequence[Sequence[int]]


def fit_scores(queries: Queries, spec: TokenizerSpec) -> TokenizerSpec:
    """Return a tokenizer with fitted scores.

    Args:
        queries: The reference. It encodes about 8 bytes for each token, in texts of `CHARACTERS` characters.
        spec: A unigram tokenizer whose scores have about the right order.
    """
    starts = frozenset(id for id, token in enumerate(spec.tokens) if token.startswith("▁"))
    packs = list(_ask(queries, pack_texts(_make_words(spec)), starts, len(spec.tokens)))
    encoder = Encoder(spec)
    scores, best, fewest = list(spec.scores or ()), spec, -1
    for _ in range(_PASSES):
        fitted = replace(spec, scores=list(scores))
        wrong = list(_find_wrong(Encoder(fitted, base=encoder), packs, starts))
        if fewest < 0 or len(wrong) < fewest:
            best, fewest = fitted, len(wrong)
        if not wrong:
            break
        _correct(scores, wrong)
    return best


def _make_words(spec: TokenizerSpec) -> list[str]:
    """Return the text of each piece, two pieces in a row, and a few short ones in a row."""
    pieces = [unescape_spaces(spec.tokens[id]) for id in normal_ids(spec)]
    inner = [piece for piece in pieces if piece.strip() == piece]
    beginning = [piece.strip() for piece in pieces if piece.strip()]
    short = [piece for piece in beginning if len(piece) <= _SHORT]
    random = Random(0)  # noqa: S311 - for the same words each time
    words = dict.fromkeys(beginning)
    for number in range(min(_JOINED, len(pieces)) if inner and short else 0):
        if number % 3:
            parts = [random.choice(beginning), random.choice(inner)]
        else:
            parts = random.choices(short, k=random.randint(2, _MOST_PIECES))
        words["".join(parts)] = None
    return [word for word in words if len(word.split()) == 1]


def _ask(queries: Queries, packs: Iterator[list[str]], starts: frozenset[int], known: int) -> Iterator[_Pack]:
    """Encode packs with the reference.

    Those with a word that is normalized to none or several, or with an id outside the vocabulary, are left out.
    """
    texts = {" ".join(pack): len(pack) for pack in packs}
    for (text, size), ids in zip(texts.items(), queries.encode_all(list(texts)), strict=True):
        words = _split(ids or (), starts)
        if len(words) == size and all(id < known for id in ids or ()):
            yield _Pack(text, words)


def _split(ids: Sequence[int], starts: frozenset[int]) -> list[Sequence[int]]:
    """Split ids before each piece that begins with ▁."""
    ends = [index for index, id in enumerate(ids) if index and id in starts]
    return [ids[start:end] for start, end in zip([0, *ends], [*ends, len(ids)], strict=True)]


def _find_wrong(
    encoder: Encoder, packs: Sequence[_Pack], starts: frozenset[int]
) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Yield the ids of each word that is segmented differently, and the expected ones."""
    batch = encoder.encode_batch([pack.text for pack in packs], parse_special=False)
    for pack, ids in zip(packs, batch, strict=True):
        words = _split(ids, starts)
        if len(words) == len(pack.words):
            pairs = zip(words, pack.words, strict=True)
            yield from ((actual, expected) for actual, expected in pairs if list(actual) != list(expected))


def _correct(scores: list[float], wrong: Sequence[tuple[Sequence[int], Sequence[int]]]) -> None:
    """Change scores in place, so that the expected pieces win."""
    changes: defaultdict[int, list[float]] = defaultdict(list)
    for actual, expected in wrong:
        counts = Counter(expected)
        counts.subtract(actual)
        lead = -sum(scores[id] * count for id, count in counts.items())
        norm = sum(count * count for count in counts.values())
        for id, count in counts.items():
            if count:
                changes[id].append(count * (lead + _MARGIN) / norm)
    for id, values in changes.items():
        scores[id] += sum(values) / len(values)
