"""A seventh table of new faults: kinds that the others lack, most of them in real vocabularies, and two at a time.

They follow vocabularies that were merged, extended and pruned, files that went through another character set, a
trimming editor or a machine of the other byte order, and keys that were dropped. The table was committed before any of
its faults was tried. None is in a vocabulary for which the intact file and its reference differ.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace

from support.fifth_faults import appended, if_free, one_score
from support.fourth_faults import all_of, byte_range, types
from support.made_vocabulary import CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from support.mutation import (
    JSON,
    MODEL,
    Mutate,
    Mutation,
    fields,
    has,
    merges,
    part,
    respelled,
    retype,
    retyped,
    scores,
    special,
    swapped,
)
from support.new_faults import MERGES, SCORES, TOKENS, TYPES, both, lost_roles
from tokverify.engine.byte_level import to_byte_level
from tokverify.repair.probe.convention import read_charsmaps
from tokverify.spec import TokenizerSpec

_LONGEST = 12


def reordered(order: Callable[[TokenizerSpec], Sequence[int]]) -> Mutate:
    """Move tokens together with their types and scores, but not the special ids."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        ids = order(spec)

        def moved(values: Sequence | None) -> list | None:
            return None if values is None else [values[id] for id in ids]

        return replace(spec, tokens=moved(spec.tokens), types=moved(spec.types), scores=moved(spec.scores))

    return mutate


def sentencepiece_order(spec: TokenizerSpec) -> list[int]:
    """Return the ids of XLM-RoBERTa in the order of its .model: `<unk>`, `<s>`, `</s>`; padding comes last."""
    start, padding, end, unknown = range(4)
    return [unknown, start, end, *range(4, len(spec.tokens)), padding]


def extra_ids_first(spec: TokenizerSpec) -> list[int]:
    """Return the ids with all user-defined ones after the special tokens, as Pegasus has them."""
    extra = [id for id, type in enumerate(spec.types) if type == USER_DEFINED]
    others = [id for id, type in enumerate(spec.types) if type != USER_DEFINED]
    return [*others[:3], *extra, *others[3:]]


def overwritten(start: int, source: int, count: int) -> Mutate:
    """Copy the tokens of one range over another one."""
    return lambda spec: replace(
        spec, tokens=[*spec.tokens[:start], *spec.tokens[source : source + count], *spec.tokens[start + count :]]
    )


def pruned(start: int) -> Mutate:
    """Replace the ordinary tokens from some id by placeholders, but keep the merges."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        gone = {id for id, type in enumerate(spec.types) if id >= start and type == NORMAL}
        return replace(
            spec,
            tokens=[f"[PAD{id}]" if id in gone else token for id, token in enumerate(spec.tokens)],
            types=[UNUSED if id in gone else type for id, type in enumerate(spec.types)],
        )

    return mutate


def renamed_padding(*texts: str) -> Mutate:
    """Give the first placeholders other texts, as control tokens."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        padding = [id for id, token in enumerate(spec.tokens) if token.startswith("[PAD")]
        new = dict(zip(padding, texts, strict=False))
        return replace(
            spec,
            tokens=[new.get(id, token) for id, token in enumerate(spec.tokens)],
            types=[CONTROL if id in new else type for id, type in enumerate(spec.types)],
        )

    return mutate


def extended(*pairs: str) -> Mutate:
    """Learn further merges, each of which makes a new token."""
    joined = [pair.replace(" ", "") for pair in pairs]
    return both(appended(*joined, type=NORMAL), merges(lambda old: [*old, *pairs]))


def added_in_byte_alphabet(spec: TokenizerSpec) -> TokenizerSpec:
    pairs = zip(spec.tokens, spec.types, strict=True)
    return replace(spec, tokens=[to_byte_level(token) if type == USER_DEFINED else token for token, type in pairs])


def as_surrogate_pairs(token: str) -> str:
    """Write characters outside the Basic Multilingual Plane as two surrogates of three bytes each."""
    return "".join(_as_surrogates(char) if ord(char) > 0xFFFF else char for char in token)


def _as_surrogates(char: str) -> str:
    data = char.encode("utf-16-be")
    halves = (chr(half) for half in struct.unpack(">HH", data))
    return b"".join(half.encode("utf-8", "surrogatepass") for half in halves).decode("utf-8", "surrogateescape")


def as_list(merge: str) -> str:
    """Write a merge as Python shows a list of its halves."""
    return repr(merge.split(" ", 1))


def all_splits(spec: TokenizerSpec) -> TokenizerSpec:
    """Make the merges anew from the tokens: each split into two tokens, in the order of the ids."""
    known = set(spec.tokens)
    halves = ((token[:end], token[end:]) for token in spec.tokens for end in range(1, len(token)))
    return replace(spec, merges=[f"{left} {right}" for left, right in halves if left in known and right in known])


def other_charsmap(rule: str) -> Mutate:
    return lambda spec: replace(spec, charsmap=dict(read_charsmaps())[rule])


def in_other_byte_order(spec: TokenizerSpec) -> TokenizerSpec:
    """Turn the numbers of the charsmap around, as a machine of the other byte order writes them."""
    (size,) = struct.unpack_from("<I", spec.charsmap)
    numbers = struct.unpack_from(f"<{size // 4 + 1}I", spec.charsmap)
    return replace(spec, charsmap=struct.pack(f">{len(numbers)}I", *numbers) + spec.charsmap[size + 4 :])


def named_template(name: str) -> Mutate:
    """Store the chat template under a name instead of as the default one."""
    return lambda spec: replace(spec, chat_template=None, named_chat_templates={name: spec.chat_template})


def all_scores(step: float) -> Mutate:
    """Make each score that of the next lower multiple."""
    return scores(lambda old: [score // step * step for score in old])


def is_white_space(id: int, token: str) -> bool:
    return not token.strip()


SEVENTH: tuple[Mutation, ...] = (
    # Byte-level BPE.
    Mutation("rare tokens pruned", "gpt-2", pruned(45_000), TOKENS, JSON),
    Mutation("merges as lists", "gpt-2", merges(lambda old: list(map(as_list, old))), MERGES, JSON),
    Mutation("merges made anew from the tokens", "gpt-2", all_splits, MERGES, JSON),
    Mutation("a byte order mark before the first merge", "gpt-2", merges(
        lambda old: [f"\ufeff{old[0]}", *old[1:]]
    ), MERGES, JSON),
    Mutation("long tokens cut", "gpt-2", if_free(lambda token: token[:_LONGEST]), TOKENS, JSON),
    Mutation("words and their merges added", "gpt-2", extended("Ġtoken izer", "Ġquant ization"), (
        *TOKENS, "merges"
    ), JSON),
    Mutation("a token stored twice", "gpt-2", overwritten(1000, 1001, 1), TOKENS, JSON),
    Mutation("more types than tokens", "gpt-2", types(lambda old: [*old, *[NORMAL] * 47]), TYPES, JSON),
    Mutation("model llama", "gpt-2", fields(model="llama"), ("model", "pre", "scores"), JSON),
    Mutation("space prefix on", "gpt-2", fields(add_space_prefix=True), ("add_space_prefix",), JSON),
    Mutation("all special ids lost", "qwen2", lost_roles("bos", "eos", "pad"), ("bos_id", "eos_id", "pad_id")),
    Mutation("padding tokens typed NORMAL, and padding is the end of a turn", "qwen2", both(
        retyped(USER_DEFINED, NORMAL, where=has("[PAD")), special(pad=151_645)
    ), ("types", "pad_id")),
    Mutation("turn markers for placeholders, and BOS on", "mpt", both(
        renamed_padding("<|im_start|>", "<|im_end|>"), fields(add_bos=True)
    ), (*TOKENS, "add_bos")),
    Mutation("added tokens in the byte-level alphabet", "made-bpe", added_in_byte_alphabet, TOKENS),
    Mutation("the end of a turn typed NORMAL, and not in the template", "made-bpe", both(
        retype("<|end|>", NORMAL),
        lambda spec: replace(spec, chat_template=spec.chat_template.replace("<|end|>", "")),
    ), ("types", "chat_template")),
    Mutation("the template stored under a name", "made-bpe", named_template("tool_use"), ("chat_template",)),
    # SPM.
    Mutation("ordinary tokens typed UNDEFINED", "llama-spm", retyped(NORMAL, 0), TYPES, JSON),
    Mutation("fewer scores than tokens", "llama-spm", scores(lambda old: old[:-500]), SCORES, MODEL),
    Mutation("a score that is not a number", "llama-spm", one_score("▁the", float("nan")), SCORES, MODEL),
    Mutation("a range of tokens overwritten by another", "llama-spm", overwritten(20_000, 21_000, 64), TOKENS, JSON),
    Mutation("model t5", "llama-spm", fields(model="t5"), ("model",), JSON),
    Mutation("characters as surrogate pairs", "gemma-3", respelled(as_surrogate_pairs), TOKENS),
    Mutation("runs of white space trimmed", "gemma-3", respelled(
        lambda token: token.strip() if len(token) > 1 else token
    ), TOKENS),
    Mutation("EOS on, and CONTROL typed UNKNOWN", "gemma-3", both(
        fields(add_eos=True), retyped(CONTROL, UNKNOWN)
    ), ("types", "add_eos")),
    Mutation("two blocks of scores exchanged, and added white space typed CONTROL", "made-spm", both(
        scores(lambda old: [*old[:300], *old[600:800], *old[500:600], *old[300:500], *old[800:]]),
        retyped(USER_DEFINED, CONTROL, where=is_white_space),
    ), ("scores", "types")),
    # Gemma 4.
    Mutation("space prefix on, and EOS is BOS", "gemma-4", both(
        fields(add_space_prefix=True), special(eos=2)
    ), ("add_space_prefix", "eos_id"), JSON),
    Mutation("merges of words lost, and byte tokens in pairs exchanged", "made-gemma4", both(
        merges(lambda old: [merge for merge in old if not merge.startswith("▁ ")]),
        lambda spec: replace(spec, tokens=part(*byte_range(list(spec.tokens)), lambda some: [
            some[number ^ 1] for number in range(len(some))
        ])(list(spec.tokens))),
    ), (*TOKENS, "merges")),
    # WordPiece.
    Mutation("special tokens in lower case", "bert-bge", respelled(
        lambda token: token.lower() if token.startswith("[") else token
    ), TOKENS),
    Mutation("lowercase off, and [UNK] typed NORMAL", "bert-bge", both(
        fields(lowercase=False), retype("[UNK]", NORMAL)
    ), ("lowercase", "types")),
    # Unigram.
    Mutation("the charsmap of another normalizer", "t5", other_charsmap("nmt_nfkc_cf"), ("charsmap",)),
    Mutation("the charsmap in the other byte order", "t5", in_other_byte_order, ("charsmap",)),
    Mutation("extra ids before the pieces", "t5", reordered(extra_ids_first), TOKENS),
    Mutation("punctuation typed NORMAL, and no space prefix", "xlnet", both(
        retyped(USER_DEFINED, NORMAL), fields(add_space_prefix=False)
    ), ("types", "add_space_prefix")),
    Mutation("the order of the .model", "nomic-bert-moe", reordered(sentencepiece_order), TOKENS),
    Mutation("all flags lost, and BOS and the unknown token", "nomic-bert-moe", both(
        fields(add_bos=None, add_eos=None, add_space_prefix=None, remove_extra_whitespaces=None),
        lost_roles("bos", "unk"),
    ), ("add_bos", "add_eos", "add_space_prefix", "remove_extra_whitespaces", "bos_id", "unk_id")),
    # Others.
    Mutation("escapes escaped again", "made-rwkv", respelled(lambda token: token.replace("\\", "\\\\")), TOKENS),
    Mutation("an infinite score, and EOS on", "made-plamo", both(
        one_score("the", float("inf")), fields(add_eos=True)
    ), ("scores", "add_eos")),
    Mutation("scores rounded down, EOS off, and words swapped", "made-unigram", all_of(
        all_scores(0.5), fields(add_eos=False), swapped(("▁the", "▁and"))
    ), (*TOKENS, "add_eos")),
)  # fmt: skip
