"""Train byte-level BPE with HuggingFace tokenizers. The ids are the bytes, then the merges, then the special tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.engine.byte_level import byte_pieces
from tokverify.errors import TokverifyError
from tokverify.train.corpus import in_short_chunks, read_blocks
from tokverify.train.merge_learner import MergeLearner, Step, Ties
from tokverify.train.trainer import Trained, TrainingPlan, notes_on_size, require_size

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.pre_tokenizers import PreTokenizer

Merge = tuple[str, str]
Layout = tuple[Mapping[str, str], "PreTokenizer"]
"""The text of each special token by role, and the pre-tokenizer."""

_BYTES = 256


def train(plan: TrainingPlan) -> Trained:
    """Train; the id of a byte is its value, and special tokens have the last ids."""
    roles, pre_tokenizer = _LAYOUTS[plan.preset]()
    special = list(dict.fromkeys(roles.values()))
    # GGUF cannot express that there are no merges.
    require_size(plan, _BYTES + len(special) + 1, "256 bytes, the special tokens and one merge")
    merges, steps = _learn(plan, pre_tokenizer, plan.vocab_size - _BYTES - len(special))
    if not merges:
        raise TokverifyError(
            f"nothing to learn: no pair of bytes occurs {plan.min_frequency:,} times; use more text or a lower minimum "
            "frequency"
        )
    tokenizer = _tokenizer(merges, special, pre_tokenizer)
    config = {f"{role}_token": text for role, text in roles.items()} | {"add_bos_token": False}
    return Trained(
        "tokenizer.json",
        tokenizer.to_str(pretty=True).encode(),
        notes_on_size(plan, tokenizer.get_vocab_size()),
        config | {"add_eos_token": False},
        steps,
    )


def _learn(plan: TrainingPlan, pre_tokenizer: PreTokenizer, count: int) -> tuple[list[Merge], tuple[Step, ...]]:
    """Learn up to `count` merges, and trace as many as the plan asks for."""
    steps: list[Step] = []
    if plan.ties is Ties.IDS:
        merges = learn_merges(plan, pre_tokenizer, count)
        if not plan.trace:
            return merges, ()
        learned = _learn_step_by_step(plan, pre_tokenizer, min(count, plan.trace), steps)
        if merges[: len(learned)] != learned:
            # A wrong trace would be worse than none.
            raise RuntimeError("the traced merges are not those of the trainer")
        return merges, tuple(steps)
    return _learn_step_by_step(plan, pre_tokenizer, count, steps), tuple(steps)


def _learn_step_by_step(plan: TrainingPlan, pre_tokenizer: PreTokenizer, count: int, steps: list[Step]) -> list[Merge]:
    split = in_short_chunks(pre_tokenizer).pre_tokenize_str
    chunks = (chunk for block in read_blocks(plan.corpus) for chunk, _ in split(block))
    learner = MergeLearner(chunks, plan.ties)
    return _drop_repeats(learner.learn(count, plan.min_frequency, steps.append, plan.trace))


def learn_merges(plan: TrainingPlan, pre_tokenizer: PreTokenizer, count: int) -> list[Merge]:
    """Learn up to `count` merges, the most frequent pair first.

    Equally frequent pairs are ordered by their ids, in which the bytes come first, by value.
    """
    from tokenizers import Tokenizer, models
    from tokenizers.trainers import BpeTrainer

    trainer = BpeTrainer(
        vocab_size=_BYTES + count,
        min_frequency=plan.min_frequency,
        # subtle: special only for the trainer, which would otherwise number the bytes in the order of their characters.
        special_tokens=byte_pieces(),
        show_progress=False,
    )
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = in_short_chunks(pre_tokenizer)
    learner.train_from_iterator(read_blocks(plan.corpus), trainer)
    return _drop_repeats(json.loads(learner.to_str())["model"]["merges"])


def _drop_repeats(merges: Iterable[Sequence[str]]) -> list[Merge]:
    """Drop each merge whose piece an earlier one already makes, so that every merge has its own id."""
    by_piece: dict[str, Merge] = {}
    for left, right in merges:
        by_piece.setdefault(left + right, (left, right))
    return list(by_piece.values())


def _tokenizer(merges: Sequence[Merge], special: list[str], pre_tokenizer: PreTokenizer) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models

    pieces = [*byte_pieces(), *map("".join, merges)]
    tokenizer = Tokenizer(models.BPE({piece: id for id, piece in enumerate(pieces)}, list(merges)))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(special)
    return tokenizer


def _gpt2_layout() -> Layout:
    from tokenizers.pre_tokenizers import ByteLevel

    return dict.fromkeys(("bos", "eos"), "<|endoftext|>"), ByteLevel(add_prefix_space=False)


def _sheepop_layout() -> Layout:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

    from tokverify.train.presets.sheepop import PATTERN, SPECIAL_TOKENS

    split = Split(Regex(PATTERN), "isolated")
    return SPECIAL_TOKENS, Sequence([split, ByteLevel(add_prefix_space=False, use_regex=False)])


_LAYOUTS: Mapping[str | None, Callable[[], Layout]] = {None: _gpt2_layout, "sheepop": _sheepop_layout}
"""Preset -> its special tokens and its pre-tokenizer."""
