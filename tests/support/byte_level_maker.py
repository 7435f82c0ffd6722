"""Small byte-level tokenizers, with any pre-tokenizer and the special tokens first."""

from tokenizers import Tokenizer, models
from tokenizers.pre_tokenizers import PreTokenizer

from support.paths import DATA
from tokverify.engine.byte_level import byte_pieces
from tokverify.train import TrainingPlan
from tokverify.train.bpe import learn_merges

CORPUS = DATA / "sample_text.txt"


def train_byte_level(pre_tokenizer: PreTokenizer, *special: str, merges: int = 70) -> Tokenizer:
    """Learn merges as `tokverify train bpe` does, and number the special tokens from 0."""
    learned = learn_merges(TrainingPlan(corpus=(CORPUS,)), pre_tokenizer, merges)
    pieces = [*special, *byte_pieces(), *map("".join, learned)]
    tokenizer = Tokenizer(models.BPE({piece: id for id, piece in enumerate(pieces)}, learned))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.add_special_tokens(list(special))
    return tokenizer
