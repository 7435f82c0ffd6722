"""Train WordPiece with HuggingFace tokenizers, on texts that are split into words as llama.cpp does for BERT."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from tokverify.engine.word_splitting import DROPPED, PUNCTUATION, SPACES, UNEQUAL
from tokverify.train.corpus import in_short_chunks, read_blocks
from tokverify.train.trainer import Trained, TrainingPlan, notes_on_size, require_size

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_ROLES = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_SPECIAL = list(_ROLES.values())
_MOST_CHARACTERS = 1_000
# llama.cpp has no limit, but the library takes quadratic time, which is seconds for a word of this length.
_LONGEST_WORD = 10_000


def train(plan: TrainingPlan) -> Trained:
    """Train; case and accents are kept, and each text is encoded between `[CLS]` and `[SEP]`."""
    alphabet = _alphabet(plan)
    added = len(UNEQUAL)
    fixed = len(_SPECIAL) + len(alphabet) + added
    require_size(plan, fixed, "the special tokens and the characters of the corpus")
    # subtle: equally frequent pairs are ordered by their ids, and the library numbers the continuing characters (`##a`)
    # in the order of a hash table that differs between processes. So all single characters get their ids here.
    tokenizer = _tokenizer(_learn(plan, plan.vocab_size - added, [*_SPECIAL, *alphabet], limit=0))
    config = {f"{role}_token": text for role, text in _ROLES.items()} | {"do_lower_case": False}
    return Trained(
        "tokenizer.json",
        tokenizer.to_str(pretty=True).encode(),
        notes_on_size(plan, tokenizer.get_vocab_size()),
        config | {"strip_accents": False},
    )


def _alphabet(plan: TrainingPlan) -> list[str]:
    """Return the single-character pieces of the most frequent characters.

    subtle: each character that continues a word (`##a`) also gets a piece that begins one; without it llama.cpp would
    begin such a word with the token `▁`.
    """
    normalize = _bare_tokenizer({}).normalizer.normalize_str
    counts = Counter(chain.from_iterable(map(normalize, _texts(plan))))
    # subtle: the library could select them as well, but its choice among equally frequent characters is random.
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    characters = set(ranked[:_MOST_CHARACTERS])
    pieces = set(_learn(plan, 0, _SPECIAL, limit=sys.maxunicode)) - set(_SPECIAL)
    return sorted(piece for piece in pieces if piece[-1] in characters)


def _learn(plan: TrainingPlan, vocab_size: int, given: Sequence[str], *, limit: int) -> dict[str, int]:
    """Learn pieces from the given ones and up to `limit` further characters; return their ids."""
    from tokenizers.trainers import WordPieceTrainer

    trainer = WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=plan.min_frequency,
        limit_alphabet=limit,
        special_tokens=list(given),
        show_progress=False,
    )
    tokenizer = _bare_tokenizer({})
    tokenizer.pre_tokenizer = in_short_chunks(tokenizer.pre_tokenizer)
    tokenizer.train_from_iterator(_texts(plan), trainer)
    return tokenizer.get_vocab()


def _texts(plan: TrainingPlan) -> Iterator[str]:
    """Read the corpus without the characters that are always separate tokens and so must not be part of a piece."""
    removed = dict.fromkeys(map(ord, UNEQUAL), " ")
    return (block.translate(removed) for block in read_blocks(plan.corpus))


def _tokenizer(pieces: dict[str, int]) -> Tokenizer:
    from tokenizers import AddedToken, decoders, processors

    tokenizer = _bare_tokenizer(pieces)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(_SPECIAL)
    tokenizer.add_tokens([AddedToken(character, normalized=False) for character in UNEQUAL])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(text, pieces[text]) for text in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def _bare_tokenizer(pieces: dict[str, int]) -> Tokenizer:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=_ROLES["unk"], max_input_chars_per_word=_LONGEST_WORD))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(SPACES), " "),
            normalizers.Replace(Regex(DROPPED), ""),
            normalizers.BertNormalizer(lowercase=False, strip_accents=False),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Split(Regex(PUNCTUATION), "isolated")]
    )
    return tokenizer
