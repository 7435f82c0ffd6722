"""An eighth table of new faults: accidents of kinds that the first seven tables lack, and up to three at a time.

They follow public reports: tokens that were double-encoded, decoded with replacement characters or normalized in part,
vocabularies and merges of two models mixed, scores stored in 16 bits, added tokens in another order or overlapping,
keys and templates of a sibling model. The table was committed before any of its faults was tried.
"""

import struct
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace

from support.fifth_faults import appended, if_free
from support.fourth_faults import all_of, misread, types
from support.made_vocabulary import BYTE, CONTROL, CORPUS, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from support.mutation import (
    JSON,
    MODEL,
    Mutate,
    Mutation,
    cut_tokens,
    fields,
    has,
    merges,
    part,
    respelled,
    retype,
    retyped,
    scores,
    shifted,
    special,
    swapped,
)
from support.mutation_trial import intact
from support.new_faults import MERGES, PRE, SCORES, TOKENS, TYPES, both, is_word
from support.seventh_faults import reordered
from tokverify.engine.byte_level import from_byte_level, to_byte_level
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenizerSpec
from tokverify.train.bpe import learn_merges
from tokverify.train.trainer import TrainingPlan


def in_range(start: int, end: int, change: Callable[[str], str]) -> Mutate:
    """Change the pieces of a range of ids, except where the new form is empty or taken."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        changed = if_free(change)(replace(spec, tokens=spec.tokens[start:end])).tokens
        others = {*spec.tokens[:start], *spec.tokens[end:]}
        pairs = zip(spec.tokens[start:end], changed, strict=True)
        kept = [old if new in others else new for old, new in pairs]
        return replace(spec, tokens=[*spec.tokens[:start], *kept, *spec.tokens[end:]])

    return mutate


def encoded_twice(token: str) -> str:
    """Take the bytes of a byte-level piece for Latin-1, and encode them once more."""
    return to_byte_level(from_byte_level(token).decode("latin-1"))


def with_replacement_characters(token: str) -> str:
    """Decode a byte-level piece as text, which destroys incomplete characters."""
    return to_byte_level(from_byte_level(token).decode("utf-8", "replace"))


def in_bfloat16(score: float) -> float:
    """Cut a number to the upper 16 of its 32 bits."""
    return struct.unpack("<f", b"\0\0" + struct.pack("<f", score)[2:])[0]


def merges_of(vocabulary: str, count: int) -> Mutate:
    """Use the first merges of another real vocabulary."""
    return merges(lambda old: list(read_spec(intact(vocabulary)).merges[:count]))


def tokens_of(vocabulary: str, start: int, end: int) -> Mutate:
    """Take a range of tokens from another vocabulary, except for those that occur elsewhere."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        other = read_spec(intact(vocabulary)).tokens
        taken = {*spec.tokens[:start], *spec.tokens[end:]}
        new = [token for token in other[start:] if token not in taken]
        return replace(spec, tokens=[*spec.tokens[:start], *new[: end - start], *spec.tokens[end:]])

    return mutate


def charsmap_of(vocabulary: str) -> Mutate:
    return lambda spec: replace(spec, charsmap=read_spec(intact(vocabulary)).charsmap)


def retrained(spec: TokenizerSpec) -> TokenizerSpec:
    """Learn the merges again with another pre-tokenizer, and keep the tokens."""
    from tokenizers.pre_tokenizers import ByteLevel

    pairs = learn_merges(TrainingPlan(corpus=(CORPUS,)), ByteLevel(add_prefix_space=True, use_regex=False), 900)
    return replace(spec, merges=[" ".join(pair) for pair in pairs])


def added_in_reverse(spec: TokenizerSpec) -> list[int]:
    added = [id for id, type in enumerate(spec.types) if type in (CONTROL, USER_DEFINED)]
    return [*range(added[0]), *added[::-1], *range(added[-1] + 1, len(spec.tokens))]


def other_types(others: Mapping[int, int]) -> Mutate:
    return types(lambda old: [others.get(type, type) for type in old])


def columns_off_by_one(old: list[str]) -> list[str]:
    """Join the left half of each merge with the right half of the next one."""
    lefts = [merge.split(" ")[0] for merge in old]
    rights = [merge.split(" ")[1] for merge in old]
    return [f"{left} {right}" for left, right in zip(lefts, [*rights[1:], rights[0]], strict=True)]


def in_template(old: str, new: str) -> Mutate:
    return lambda spec: replace(spec, chat_template=spec.chat_template.replace(old, new))


def decomposed(token: str) -> str:
    return unicodedata.normalize("NFD", token)


def without_invisible(token: str) -> str:
    return "".join(char for char in token if unicodedata.category(char) != "Cf")


def bytes_as_characters(token: str) -> str:
    r"""Turn `\xe9` into the character with this number, which has two bytes."""
    is_byte = token.startswith("\\x") and len(token) == 4 and int(token[2:], 16) >= 0xA0
    return chr(int(token[2:], 16)) if is_byte else token


def in_order_of_ids(spec: TokenizerSpec) -> TokenizerSpec:
    """Sort the merges by the ids of their halves, as a script might that reads them from a table of pairs."""
    ids = {token: id for id, token in enumerate(spec.tokens)}
    return replace(spec, merges=sorted(spec.merges, key=lambda merge: [ids[half] for half in merge.split(" ")]))


def padding(count: int) -> tuple[str, ...]:
    return tuple(f"<dummy{number:05}>" for number in range(count))


EIGHTH: tuple[Mutation, ...] = (
    # Byte-level BPE.
    Mutation("merges learned again", "made-bpe", retrained, MERGES),
    Mutation("added tokens in reverse order", "made-bpe", reordered(added_in_reverse), (*TOKENS, "bos_id", "eos_id")),
    Mutation("every third merge with a tab", "made-bpe", merges(lambda old: [
        merge if rank % 3 else merge.replace(" ", "\t") for rank, merge in enumerate(old)
    ]), MERGES),
    Mutation("an added token that contains another", "made-bpe", appended(
        "<|turn|>assistant", "<tool", type=USER_DEFINED
    ), TOKENS),
    Mutation("chat template of a sibling", "made-bpe", in_template("assistant", "model"), ("chat_template",)),
    Mutation("pre of a sibling", "made-bpe", fields(pre="qwen35"), PRE),
    Mutation("EOS off by one, turn markers typed USER_DEFINED, and the template escaped", "made-bpe", all_of(
        special(eos=1159), retyped(CONTROL, USER_DEFINED, where=has("<|t")), in_template("<|turn|>", "&lt;|turn|&gt;")
    ), ("eos_id", "types", "chat_template")),
    Mutation("merges of another vocabulary", "gpt-2", merges_of("qwen2", 50_000), MERGES, JSON),
    Mutation("columns of merges off by one from some rank", "gpt-2", merges(
        part(30_000, 50_000, columns_off_by_one)
    ), MERGES, JSON),
    Mutation("pieces decoded with replacement characters", "gpt-2", if_free(with_replacement_characters), TOKENS, JSON),
    Mutation("pre falcon, merges with </w> in part, and EOS on", "gpt-2", all_of(
        fields(pre="falcon"), merges(part(100, 200, lambda some: [f"{merge}</w>" for merge in some])),
        fields(add_eos=True),
    ), ("pre", "merges", "add_eos"), JSON),
    Mutation("pieces encoded twice in part", "qwen2", in_range(100_000, 120_000, encoded_twice), TOKENS),
    Mutation("markers off by one", "qwen2", shifted(151_643, 151_647), TOKENS),
    Mutation("words capitalized in part", "mpt", in_range(20_000, 30_000, str.title), TOKENS),
    # SPM.
    Mutation("byte tokens once more", "made-spm", lambda spec: appended(
        *(token for token in spec.tokens if token.startswith("<0x")), type=BYTE
    )(spec), TOKENS),
    Mutation("flags turned, and BOS is the padding", "made-spm", both(
        fields(add_bos=False, add_eos=True), special(bos=5)
    ), ("add_bos", "add_eos", "bos_id")),
    Mutation("the image marker ends turns", "made-spm", respelled(
        lambda token: token.replace("<|image|>", "<|eot_id|>")
    ), TOKENS),
    Mutation("the template begins with BOS twice", "made-spm", in_template(
        "{{ bos_token }}", "{{ bos_token }}{{ bos_token }}"
    ), ("chat_template",)),
    Mutation("padding to a multiple, typed NORMAL", "made-spm", appended(*padding(16), type=NORMAL), TOKENS),
    Mutation("scores in bfloat16", "llama-spm", scores(lambda old: list(map(in_bfloat16, old))), SCORES, MODEL),
    Mutation("tokens of another vocabulary in part", "llama-spm", tokens_of("t5", 20_000, 22_000), TOKENS, JSON),
    Mutation("pieces read as Latin-1 in part", "llama-spm", in_range(29_000, 32_000, misread), TOKENS, MODEL),
    Mutation("types rotated", "gemma-3", other_types({
        CONTROL: USER_DEFINED, USER_DEFINED: UNUSED, BYTE: NORMAL, UNKNOWN: CONTROL
    }), TYPES, JSON),
    Mutation("Hangul decomposed in part", "gemma-3", in_range(200_000, 262_144, decomposed), TOKENS, JSON),
    Mutation("invisible characters lost, and runs of spaces off by one", "gemma-3", both(
        if_free(without_invisible), shifted(138, 168)
    ), TOKENS, JSON),
    # Gemma 4.
    Mutation("merges in the order of ids, words typed UNUSED, and BOS off", "made-gemma4", all_of(
        in_order_of_ids, retyped(NORMAL, UNUSED, where=has("er")), fields(add_bos=False)
    ), ("merges", "types", "add_bos")),
    # WordPiece.
    Mutation("lowercase on, words swapped, and [SEP] typed NORMAL", "made-wordpiece", all_of(
        fields(lowercase=True), swapped(("▁the", "▁and")), retype("[SEP]", NORMAL)
    ), (*TOKENS, "lowercase")),
    Mutation("pieces with ## in part", "bert-bge", respelled(
        lambda token: f"##{token}" if len(token) > 3 and token.isalpha() and token.isascii() else token
    ), TOKENS),
    # Unigram.
    Mutation("the end of the charsmap lost", "made-unigram", lambda spec: replace(
        spec, charsmap=spec.charsmap[:-2000]
    ), ("charsmap",)),
    Mutation("scores lowered by one, and EOS is the padding", "made-unigram", both(
        scores(lambda old: [score - 1 for score in old]), special(eos=0)
    ), ("scores", "eos_id")),
    Mutation("scores of words lowered", "t5", lambda spec: replace(spec, scores=[
        score - (0.25 if is_word(id, token) else 0.0)
        for id, (token, score) in enumerate(zip(spec.tokens, spec.scores, strict=True))
    ]), SCORES),
    Mutation("the charsmap of a sibling, and words in lower case", "xlnet", both(
        charsmap_of("made-unigram"), in_range(20_000, 32_000, str.lower)
    ), (*TOKENS, "charsmap")),
    Mutation("scores in bfloat16, and the last tokens lost", "nomic-bert-moe", both(
        scores(lambda old: list(map(in_bfloat16, old))), cut_tokens(46)
    ), (*SCORES, "added")),
    # Others.
    Mutation("bytes as characters", "made-rwkv", respelled(bytes_as_characters), TOKENS),
    Mutation("spaces of words as ▁", "made-rwkv", respelled(lambda token: token.replace(" ", "▁")), TOKENS),
    Mutation("types rotated, and every second score lost", "made-plamo", both(
        other_types({CONTROL: NORMAL, BYTE: CONTROL}),
        scores(lambda old: [0.0 if number % 2 else score for number, score in enumerate(old)]),
    ), ("types", "scores")),
    Mutation("model llama", "made-plamo", fields(model="llama"), ("model",)),
    Mutation("words typed BYTE", "made-plamo", retyped(NORMAL, BYTE, where=has("th")), TYPES),
)  # fmt: skip
