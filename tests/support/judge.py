"""Judge a repaired file by llama.cpp itself, which loads the repaired file and the intact one."""

import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from support.paths import DATA
from tokverify.cases.loading import load_cases
from tokverify.engine.attribute import Attribute
from tokverify.errors import TokverifyError
from tokverify.references.llama_cpp import LlamaCppTokenizer
from tokverify.references.llama_cpp_library import find_library
from tokverify.sources.gguf.declaration import read_declaration, read_spec
from tokverify.spec import TokenizerSpec

_MODES = ((False, False), (False, True), (True, True))
_ALONE = 3_000
"""At most this many tokens are each put into texts."""
_TOGETHER = 500
"""All tokens are put into texts of this many."""
_MIXED = 300
_WINDOW = 20
_MOST = 5_000
_LAST = 1e12

Joins = Mapping[tuple[str, str], float]
"""Two pieces -> how late they are joined."""


@cache
def _open(path: Path) -> LlamaCppTokenizer:
    return LlamaCppTokenizer(path, find_library())


@cache
def _texts(intact: Path) -> Sequence[str]:
    """Return the shipped cases, all tokens in long texts and some in short ones, and random sequences."""
    chosen = random.Random(13)  # noqa: S311 - texts, not secrets
    pieces = [piece for piece in map(_open(intact).token_bytes, range(_open(intact).vocab_size)) if piece]
    readable = [piece.decode("utf-8", "ignore") for piece in pieces]
    some = readable if len(readable) <= _ALONE else chosen.sample(readable, _ALONE)
    words = (DATA / "sample_text.txt").read_text(encoding="utf-8").split()
    mixed = ["".join(chosen.choices([*readable, *words, " ", "\n"], k=20)) for _ in range(_MIXED)]
    sentences = [" ".join(chosen.choices(words, k=25)) for _ in range(_MIXED)]
    cases = [case.text for case in load_cases()]
    all_tokens = ["\n".join(readable[start : start + _TOGETHER]) for start in range(0, len(readable), _TOGETHER)]
    return [*cases, *all_tokens, *some, *(f"a{text} b" for text in some), *mixed, *sentences]


@cache
def _ids(path: Path, intact: Path) -> Sequence[object]:
    found: list[object] = []
    for add_special, parse_special in _MODES:
        found += _open(path).encode_many(_texts(intact), add_special=add_special, parse_special=parse_special)
    return [str(ids) if isinstance(ids, Exception) else ids for ids in found]


def _rival_pieces(intact: TokenizerSpec, other: TokenizerSpec) -> list[tuple[str, ...]]:
    """Return pieces `P`, `Q` and `R` of which `PQ` is joined before `QR` in one file only."""
    right, wrong = _joins(intact), _joins(other)
    if right == wrong:
        return []
    rivals = [*_rivals(right), *_rivals(wrong)]
    chosen = sorted({(*first, second[1]) for first, second in rivals if _flips(first, second, right, wrong)})
    return random.Random(3).sample(chosen, min(len(chosen), _MOST))  # noqa: S311 - texts, not secrets


def _joins(spec: TokenizerSpec) -> Joins:
    if spec.merges:
        merges = [tuple(merge.rsplit(" ", 1)) for merge in spec.merges if " " in merge]
        return {(left, right): float(rank) for rank, (left, right) in reversed(list(enumerate(merges)))}
    scores = dict(zip(spec.tokens, spec.scores or (), strict=False))
    is_sum = spec.model == "t5"
    return {
        (piece[:at], piece[at:]): -score + (is_sum and scores[piece[:at]] + scores[piece[at:]])
        for piece, score in scores.items()
        for at in range(1, len(piece))
        if piece[:at] in scores and piece[at:] in scores
    }


def _rivals(joins: Joins) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    ending, starting = defaultdict(list), defaultdict(list)
    for join, late in joins.items():
        ending[join[1]].append((late, join))
        starting[join[0]].append((late, join))
    for middle in set(ending) & set(starting):
        seconds = sorted(starting[middle])
        for late, first in ending[middle]:
            at = bisect_left(seconds, (late,))
            for _, second in seconds[max(at - _WINDOW, 0) : at + _WINDOW]:
                yield first, second


def _flips(first: tuple[str, str], second: tuple[str, str], right: Joins, wrong: Joins) -> bool:
    return (right.get(first, _LAST) <= right.get(second, _LAST)) != (
        wrong.get(first, _LAST) <= wrong.get(second, _LAST)
    )


def _rival_texts(repaired: Path, intact: Path) -> Sequence[str]:
    """Return texts that show in which order pieces are joined, written as the intact file stores them or as bytes."""
    spec = read_spec(intact)
    ids = {piece: id for id, piece in enumerate(spec.tokens)}
    return [
        b"".join(_open(intact).token_bytes(ids[part]) for part in parts).decode("utf-8", "ignore")
        for parts in _rival_pieces(spec, read_declaration(repaired).spec)
        if all(part in ids for part in parts)
    ]


def _count_flipped(ours: LlamaCppTokenizer, right: LlamaCppTokenizer, texts: Sequence[str]) -> int:
    sides = (side.encode_many(texts, add_special=False, parse_special=False) for side in (ours, right))
    return sum(our != their for our, their in zip(*sides, strict=True))


def judge(repaired: Path, intact: Path) -> list[str]:
    """Return in what the repaired file differs from the intact one; nothing means that the repair is complete."""
    right = _open(intact)
    try:
        ours = LlamaCppTokenizer(repaired, find_library())
    except TokverifyError as error:
        return [f"refused: {str(error).removeprefix(f'{repaired}: ')}"]
    try:
        return list(_differences(ours, right, repaired, intact))
    finally:
        ours.close()


def _matched_as(tokenizer: LlamaCppTokenizer) -> list[int]:
    """The attributes of all tokens, with those of the unknown token as a control token's: llama.cpp treats both alike.

    Nothing in llama-vocab.cpp asks for one without the other: not where special tokens are found in a text, and not
    where ids become a text.
    """
    control, unknown = Attribute.CONTROL.value, Attribute.UNKNOWN.value
    return [(kind & ~unknown) | control if kind & unknown else kind for kind in tokenizer.attributes]


def _differences(ours: LlamaCppTokenizer, right: LlamaCppTokenizer, repaired: Path, intact: Path):
    if ours.vocab_size != right.vocab_size:
        yield "size"
    yield from _encoding_differences(ours, right, repaired, intact)
    expected = _ids(intact, intact)
    lists = [ids for ids in expected[: len(_texts(intact))] if isinstance(ids, list)]
    lists = [[id for id in ids if id < ours.vocab_size] for ids in lists]
    if ours.decode_many(lists) != right.decode_many(lists):
        yield "decoding"
    types = list(zip(_matched_as(ours), _matched_as(right), strict=False))
    if any(our != their for our, their in types):
        yield f"types ({sum(our != their for our, their in types)})"
    if [ours.token_bytes(id) for id in range(right.vocab_size)] != [
        right.token_bytes(id) for id in range(right.vocab_size)
    ]:
        yield "bytes"
    for name in ("special_ids", "flags", "eog_ids"):
        if getattr(ours, name) != getattr(right, name):
            yield name
    if read_declaration(repaired).spec.chat_template != read_spec(intact).chat_template:
        yield "chat template"


def _encoding_differences(ours: LlamaCppTokenizer, right: LlamaCppTokenizer, repaired: Path, intact: Path):
    texts = _texts(intact)
    expected = _ids(intact, intact)
    actual: list[object] = []
    for add_special, parse_special in _MODES:
        actual += ours.encode_many(texts, add_special=add_special, parse_special=parse_special)
    wrong = sum(our != their for our, their in zip(actual, expected, strict=True))
    if wrong:
        yield f"encoding ({wrong} of {len(expected)})"
    if flipped := _count_flipped(ours, right, _rival_texts(repaired, intact)):
        yield f"encoding of competing tokens ({flipped})"
