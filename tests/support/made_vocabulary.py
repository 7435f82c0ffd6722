"""Small vocabularies of every family, trained on the sample text or listed here, complete with roles and a template.

Unlike the bundled sample they have added tokens of both kinds, some of which are ordinary words, and their scores and
merges have no regular order, so that nothing about them can be guessed from conventions alone.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from support.paths import DATA
from support.spec_maker import BYTE_PIECES
from tokverify.engine.byte_level import byte_pieces
from tokverify.sources.huggingface.conversion import read_spec as read_huggingface
from tokverify.sources.sentencepiece.reader import read_spec as read_sentencepiece
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.train.bpe import learn_merges
from tokverify.train.corpus import read_lines
from tokverify.train.sentencepiece import train_sentencepiece
from tokverify.train.trainer import TrainingPlan
from tokverify.train.wordpiece import train as train_wordpiece

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = (type.value for type in list(TokenType)[1:])
CORPUS = DATA / "sample_text.txt"
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|turn|>{{ message.role }}\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
CONTROLS = ("<|turn|>", "<|end|>", "<|pad|>", "<|image|>")
USER_TOKENS = ("<tool>", "</tool>", "harbor▁bridge", "naïveté", "==>", "▁" * 2, "▁" * 4, "▁" * 8, "\t\t")


def _sentencepiece(name: str, **options: object) -> TokenizerSpec:
    model = train_sentencepiece(
        read_lines([CORPUS]),
        control_symbols=list(CONTROLS),
        user_defined_symbols=list(USER_TOKENS),
        character_coverage=1.0,
        hard_vocab_limit=False,
        **options,
    )
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"{name}.model"
        path.write_bytes(model)
        return read_sentencepiece(path)


def _with_roles(spec: TokenizerSpec, **texts: str) -> TokenizerSpec:
    ids = {text: id for id, text in enumerate(spec.tokens)}
    roles = {role: ids[text] for role, text in texts.items()}
    return replace(spec, special_ids={**spec.special_ids, **roles}, chat_template=TEMPLATE)


@cache
def spm() -> TokenizerSpec:
    """Pieces by score, a space prefix, byte fallback."""
    spec = _sentencepiece(
        "spm", model_type="bpe", vocab_size=1200, byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, allow_whitespace_only_pieces=True,
    )  # fmt: skip
    spec = _with_roles(spec, bos="<s>", eos="</s>", unk="<unk>", eot="<|end|>", pad="<|pad|>")
    return replace(spec, add_bos=True, add_eos=False, add_space_prefix=True)


@cache
def unigram() -> TokenizerSpec:
    """Pieces by the sum of scores, with a charsmap."""
    spec = _sentencepiece(
        "unigram", model_type="unigram", vocab_size=1000, normalization_rule_name="nmt_nfkc",
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
    )  # fmt: skip
    spec = _with_roles(spec, eos="</s>", unk="<unk>", pad="<pad>")
    return replace(spec, add_bos=False, add_eos=True, add_space_prefix=True, remove_extra_whitespaces=True)


@cache
def bpe() -> TokenizerSpec:
    """Byte-level merges after the pre-tokenizer of Qwen 2."""
    from tokenizers.pre_tokenizers import ByteLevel

    merges = learn_merges(TrainingPlan(corpus=(CORPUS,)), ByteLevel(add_prefix_space=False), 900)
    ordinary = [*byte_pieces(), *map("".join, merges)]
    added = ["<|endoftext|>", *CONTROLS, *(text.replace("▁", " ") for text in USER_TOKENS)]
    control = {"<|endoftext|>", *CONTROLS}
    types = [NORMAL] * len(ordinary) + [CONTROL if text in control else USER_DEFINED for text in added]
    spec = TokenizerSpec(
        model="gpt2", tokens=[*ordinary, *added], types=types, merges=[" ".join(merge) for merge in merges],
        pre="qwen2", add_bos=False,
    )  # fmt: skip
    return _with_roles(spec, bos="<|endoftext|>", eos="<|end|>", eot="<|end|>", pad="<|pad|>")


@cache
def gemma4() -> TokenizerSpec:
    """Merges of pieces with `▁`, and byte fallback."""
    source = spm()
    ids = {token: id for id, token in enumerate(source.tokens)}
    normal = [token for token, type in zip(source.tokens, source.types, strict=True) if type == NORMAL]
    composed = sorted((token for token in normal if len(token) > 1), key=lambda token: -source.scores[ids[token]])
    merges: list[str] = []
    for token in composed:
        halves = [(token[:end], token[end:]) for end in range(1, len(token))]
        merges += [f"{left} {right}" for left, right in halves if left in ids and right in ids]
    return replace(source, model="gemma4", pre="gemma4", scores=None, merges=merges, add_space_prefix=False)


@cache
def wordpiece() -> TokenizerSpec:
    """Words of which case and accents are kept."""
    with tempfile.TemporaryDirectory() as directory:
        trained = train_wordpiece(TrainingPlan(corpus=(CORPUS,), vocab_size=1000))
        path = Path(directory) / trained.name
        path.write_bytes(trained.data)
        spec = read_huggingface(path)
    spec = _with_roles(spec, bos="[CLS]", sep="[SEP]", unk="[UNK]", pad="[PAD]", mask="[MASK]")
    return replace(spec, chat_template=None)


def _words() -> list[str]:
    """Return the frequent words of the sample text, each with and without a space before it."""
    counts: dict[str, int] = {}
    for word in CORPUS.read_text(encoding="utf-8").split():
        counts[word] = counts.get(word, 0) + 1
    frequent = sorted((word for word in counts if word.isascii() and word.isalpha()), key=lambda word: -counts[word])
    return [text for word in frequent[:150] if len(word) > 1 for text in (word, f" {word}")]


@cache
def rwkv() -> TokenizerSpec:
    """The longest token, stored with escapes."""
    letters = [f"\\x{byte:02x}" for byte in range(0x100)]
    tokens = ["<s>", *letters, *dict.fromkeys([*_words(), "é", "été", "\\n\\n"])]
    return TokenizerSpec(model="rwkv", tokens=tokens, types=[CONTROL, *[NORMAL] * (len(tokens) - 1)])


@cache
def plamo() -> TokenizerSpec:
    """The least total cost; scores without any order."""
    words = dict.fromkeys([*map(chr, range(0x20, 0x7F)), *_words(), "été"])
    tokens = ["<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:pad|>", *BYTE_PIECES, *words, "<|plamo:op|>"]
    types = [UNKNOWN, CONTROL, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * len(words), CONTROL]
    scores = [-float(id * 31 % 127) / 8 - len(token) for id, token in enumerate(tokens)]
    return TokenizerSpec(
        model="plamo2", tokens=tokens, types=types, scores=scores, add_bos=True,
        special_ids={"unk": 0, "bos": 1, "eos": 2, "pad": 3},
    )  # fmt: skip


MADE: Mapping[str, Callable[[], TokenizerSpec]] = {
    "made-spm": spm,
    "made-unigram": unigram,
    "made-bpe": bpe,
    "made-gemma4": gemma4,
    "made-wordpiece": wordpiece,
    "made-rwkv": rwkv,
    "made-plamo": plamo,
}
"""The vocabularies by name."""
