"""Train the C++ hybrid tokenizer: fixed tokens with fixed ids, and byte-pair encoding for all other words.

The library's trainer learns the merges from the words that are not fixed tokens. It has no option against
merges that create a fixed token (`int` on the way to `integer`), so such merges are replaced afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from tokverify.cases.loading import load_cases
from tokverify.compare.expectation import agrees
from tokverify.engine.byte_level import byte_alphabet
from tokverify.engine.models.cpp.pattern import words
from tokverify.engine.models.cpp.vocabulary import CONTINUATION, FIXED, ROLES, SPECIAL, reserved_piece
from tokverify.report.train import ChecklistPoint
from tokverify.sources.huggingface.cpp_hybrid import add_fixed_tokens, build
from tokverify.tokenizer import tokens_of
from tokverify.train.corpus import in_short_chunks, read_blocks
from tokverify.train.trainer import Trained, TrainingPlan, notes_on_size, require_size

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder

_BETWEEN_LINES = re.compile("\n|" + "|".join(map(re.escape, SPECIAL)))
_SPACES = frozenset(b" \t\n\v\f\r")
_FIRST = [byte for byte in (*range(0x80), *range(0xC2, 0xF5)) if byte not in _SPACES]
"""The bytes that can begin a word in UTF-8."""
_FOLLOWING = [*_FIRST, *range(0x80, 0xC0)]
_UNSUPPORTED = "llama.cpp has no model `cpp-hybrid`: tokverify can use the GGUF file, but llama.cpp refuses it"


def train(plan: TrainingPlan) -> Trained:
    """Train; ids that the corpus yields no pieces for are reserved, so that the size is always the requested one."""
    pieces = [*dict.fromkeys([*FIXED, *_bytes()])]
    require_size(plan, len(pieces), f"{len(FIXED):,} fixed tokens and {len(pieces) - len(FIXED)} bytes of words")
    merges, learned = avoid_fixed(_learn(plan), plan.vocab_size - len(pieces))
    pieces += learned
    notes = (_UNSUPPORTED, *(f"{note}; the other ids are reserved" for note in notes_on_size(plan, len(pieces))))
    pieces += map(reserved_piece, range(len(pieces), plan.vocab_size))
    tokenizer = build({piece: id for id, piece in enumerate(pieces)}, merges)
    add_fixed_tokens(tokenizer)
    config = {f"{role}_token": ROLES[role] for role in ("bos", "eos", "unk", "pad")}
    return Trained(
        "tokenizer.json",
        tokenizer.to_str(pretty=True).encode(),
        notes,
        config | {"add_bos_token": False, "add_eos_token": False},
    )


def _bytes() -> Iterator[str]:
    alphabet = byte_alphabet()
    yield from (alphabet[byte] for byte in _FIRST)
    yield from (CONTINUATION + alphabet[byte] for byte in _FOLLOWING)


def _learn(plan: TrainingPlan) -> list[Merge]:
    """Learn more merges than will fit, the most frequent pair first."""
    from tokenizers import Tokenizer, models
    from tokenizers.pre_tokenizers import ByteLevel, Sequence, WhitespaceSplit
    from tokenizers.trainers import BpeTrainer

    learner = Tokenizer(models.BPE())
    pre_tokenizer = Sequence([WhitespaceSplit(), ByteLevel(add_prefix_space=False, use_regex=False)])
    learner.pre_tokenizer = in_short_chunks(pre_tokenizer)
    trainer = BpeTrainer(
        vocab_size=plan.vocab_size,
        min_frequency=plan.min_frequency,
        continuing_subword_prefix=CONTINUATION,
        # subtle: special only for the trainer, which would otherwise number the bytes in an order that varies, and
        # order equally frequent pairs by these numbers.
        special_tokens=list(_bytes()),
        show_progress=False,
    )
    learner.train_from_iterator(_learned_words(plan), trainer)
    merges = json.loads(learner.to_str())["model"]["merges"]
    return [(left, right) for left, right in merges]


def _learned_words(plan: TrainingPlan) -> Iterator[str]:
    """Yield the words that are not fixed tokens, about a megabyte of text at a time."""
    fixed = frozenset(FIXED)
    for block in read_blocks(plan.corpus):
        found = chain.from_iterable(map(words, _BETWEEN_LINES.split(block)))
        yield " ".join(word for word in found if word not in fixed)


Merge = tuple[str, str]

_FIXED = frozenset(FIXED)


# `int` always represents the integer type, so `integer` must not be built from `int` and the rest of the word.
def avoid_fixed(merges: Iterable[Merge], room: int) -> tuple[list[Merge], list[str]]:
    """Return merges that produce up to `room` new pieces, none of them fixed, and these pieces in order.

    A merge that makes a fixed piece is dropped. A piece that would have been built from it is built in another way:
    from the pieces that all earlier merges produce for it.
    """
    kept = _Kept(room)
    for left, right in merges:
        piece = join(left, right)
        if piece in _FIXED or piece in kept.pieces:
            continue
        if kept.has(left):
            kept.add(left, right)
        else:
            kept.add_detour(piece)
    return list(kept.ranks), list(kept.pieces)


def join(left: str, right: str) -> str:
    """Return the piece that two pieces make."""
    return left + right.removeprefix(CONTINUATION)


class _Kept:
    """The merges that are kept, by rank, and the pieces they make, as long as there is room."""

    def __init__(self, room: int) -> None:
        self._room = room
        self.ranks: dict[Merge, int] = {}
        self.pieces: dict[str, None] = {}

    def has(self, left: str) -> bool:
        """Whether the first piece of a merge can occur; the second one always can."""
        return len(left) == 1 or left.startswith(CONTINUATION) or left in self.pieces

    def add(self, left: str, right: str) -> None:
        """Add a merge, unless there is no room for its piece."""
        piece = join(left, right)
        if piece in self.pieces or len(self.pieces) < self._room:
            self.pieces[piece] = None
            self.ranks.setdefault((left, right), len(self.ranks))

    def add_detour(self, piece: str) -> None:
        """Add merges that build a piece from the left, except where that would make a fixed piece."""
        symbols = self._apply([piece[0], *(CONTINUATION + character for character in piece[1:])])
        while len(symbols) > 1:
            at = int(join(*symbols[:2]) in _FIXED)
            self.add(*symbols[at : at + 2])
            symbols[at : at + 2] = [join(*symbols[at : at + 2])]

    def _apply(self, symbols: list[str]) -> list[str]:
        while True:
            known = [(self.ranks[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in self.ranks]
            if not known:
                return symbols
            _, at = min(known)
            symbols[at : at + 2] = [join(*symbols[at : at + 2])]


SUITE = "cpp-hybrid"
_LEARNED = "learned"
"""The tag of the points that also depend on the words of the corpus."""


def check_points(encoder: Encoder) -> Iterator[ChecklistPoint]:
    """Yield the twelve points, which are the numbered cases of the suite, with their results."""
    for case in load_cases():
        if case.suite != SUITE or not case.id[:2].isdecimal():
            continue
        ids = encoder.encode(case.text)
        expected = next(iter(case.expect.values()))
        yield ChecklistPoint(
            name=case.id,
            text=case.text,
            tokens=tuple(tokens_of(encoder, ids)),
            expected=expected,
            holds=agrees(expected, encoder, ids),
            is_learned=_LEARNED in case.tags,
        )
