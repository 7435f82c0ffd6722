"""Train byte-level BPE with HuggingFace tokenizers, laid out as bytes, then merges, then special tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.errors import TokverifyError
from tokverify.train.chunk import in_short_chunks
from tokverify.train.corpus import read_blocks
from tokverify.train.note import require_size, too_few
from tokverify.train.presets import sheepop
from tokverify.train.presets.sheepop import byte_pieces
from tokverify.train.trainer import Trained

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.pre_tokenizers import PreTokenizer

    from tokverify.train.trainer import TrainingPlan

Merge = tuple[str, str]

_BYTES = 256


def train(plan: TrainingPlan) -> Trained:
    """Train; each byte has its own value as id, and special tokens have the last ids."""
    roles, pre_tokenizer = _PRESETS[plan.preset]
    special = list(dict.fromkeys(roles.values()))
    # GGUF has no way to say that there are no merges.
    require_size(plan, _BYTES + len(special) + 1, "256 bytes, the special tokens and one merge")
    merges = learn_merges(plan, pre_tokenizer(), plan.vocab_size - _BYTES - len(special))
    if not merges:
        raise TokverifyError(
            f"nothing to learn: no pair of bytes occurs {plan.min_frequency:,} times; take more text, or a lower "
            "frequency"
        )
    tokenizer = _tokenizer(merges, special, pre_tokenizer())
    config = {f"{role}_token": text for role, text in roles.items()} | {"add_bos_token": False}
    return Trained(
        "tokenizer.json",
        tokenizer.to_str(pretty=True).encode(),
        too_few(plan, tokenizer.get_vocab_size()),
        config | {"add_eos_token": False},
    )


def learn_merges(plan: TrainingPlan, pre_tokenizer: PreTokenizer, count: int) -> list[Merge]:
    """Learn up to `count` merges, in order, the most frequent pair first.

    Pairs that are equally frequent are taken in order of their ids, where bytes come first, by value.
    """
    from tokenizers import Tokenizer, models
    from tokenizers.trainers import BpeTrainer

    trainer = BpeTrainer(
        vocab_size=_BYTES + count,
        min_frequency=plan.min_frequency,
        # subtle: special to the trainer alone, which would otherwise number the bytes in order of their characters.
        special_tokens=byte_pieces(),
        show_progress=False,
    )
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = in_short_chunks(pre_tokenizer)
    learner.train_from_iterator(read_blocks(plan.corpus), trainer)
    return _without_repeats(json.loads(learner.to_str())["model"]["merges"])


def _without_repeats(merges: Iterable[Sequence[str]]) -> list[Merge]:
    """Leave out a merge that makes a piece which an earlier one makes, so that each merge has an id of its own."""
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


def _gpt2() -> PreTokenizer:
    from tokenizers.pre_tokenizers import ByteLevel

    return ByteLevel(add_prefix_space=False)


def _sheepop() -> PreTokenizer:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

    split = Split(Regex(sheepop.PATTERN), "isolated")
    return Sequence([split, ByteLevel(add_prefix_space=False, use_regex=False)])


_PRESETS: Mapping[str | None, tuple[Mapping[str, str], Callable[[], PreTokenizer]]] = {
    None: (dict.fromkeys(("bos", "eos"), "<|endoftext|>"), _gpt2),
    "sheepop": (sheepop.SPECIAL_TOKENS, _sheepop),
}
"""Preset -> role of each special token, and what cuts texts."""
