"""A sixth table of new faults: slips of scripts that edit, merge, prune and quantize vocabularies.

It was committed before any of them was tried. None is in a vocabulary for which the intact file and its reference
differ.
"""

from collections.abc import Callable
from dataclasses import replace

from support.fourth_faults import types
from support.made_vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED
from support.mutation import (
    JSON,
    MODEL,
    Mutate,
    Mutation,
    fields,
    merges,
    named,
    part,
    respelled,
    retype,
    retyped,
    reverse_slice,
    scores,
    special,
    swapped,
    tokens,
)
from support.new_faults import MERGES, SCORES, TOKENS, TYPES, both, exchanged_roles, lost_roles
from tokverify.spec import TokenizerSpec


def one_lost(text: str, replacement: str = "<lost>") -> Mutate:
    """Replace the text of one token."""
    return respelled(lambda token: replacement if token == text else token)


def without(part: str) -> Callable[[list[str]], list[str]]:
    return lambda listed: [merge for merge in listed if part not in merge]


def scaled(factor: float, starts: str) -> Mutate:
    """Multiply the scores of the pieces that begin in some way."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        pairs = zip(spec.tokens, spec.scores, strict=True)
        return replace(spec, scores=[score * factor if token.startswith(starts) else score for token, score in pairs])

    return mutate


def exchanged_scores(left: str, right: str) -> Mutate:
    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        first, second = spec.tokens.index(left), spec.tokens.index(right)
        changed = list(spec.scores)
        changed[first], changed[second] = changed[second], changed[first]
        return replace(spec, scores=changed)

    return mutate


def sorted_part(start: int, end: int) -> Mutate:
    return tokens(part(start, end, sorted))


def exchanged_types(first: int, second: int) -> Mutate:
    """Exchange two types for all tokens."""
    other = {first: second, second: first}
    return types(lambda old: [other.get(type, type) for type in old])


SIXTH: tuple[Mutation, ...] = (
    # Byte-level BPE.
    Mutation("the last merge and the name of the pre-tokenizer lost", "gpt-2", both(
        merges(lambda old: old[:-1]), fields(pre=None)
    ), ("pre", "merges"), JSON),
    Mutation("line break and tab swapped", "gpt-2", swapped(("Ċ", "ĉ")), TOKENS, JSON),
    Mutation("merges sorted by length", "gpt-2", merges(lambda old: sorted(old, key=len)), MERGES, JSON),
    Mutation("merges of a word pruned", "gpt-2", merges(without("ation")), MERGES, JSON),
    Mutation("merges with Ġ as a space", "gpt-2", merges(
        lambda old: [merge.replace("Ġ", " ") for merge in old]
    ), MERGES, JSON),
    Mutation("a block of merges moved to the front", "gpt-2", merges(
        lambda old: [*old[20_000:20_500], *old[:20_000], *old[20_500:]]
    ), MERGES, JSON),
    Mutation("the end of the text typed NORMAL, and EOS lost", "gpt-2", both(
        retype("<|endoftext|>", NORMAL), lost_roles("eos")
    ), ("types", "eos_id"), JSON),
    Mutation("a range of ids sorted", "qwen2", sorted_part(30_000, 31_000), TOKENS),
    Mutation("pre deepseek-v3", "qwen2", fields(pre="deepseek-v3"), ("pre",)),
    Mutation("EOS begins a turn, and BOS on", "qwen2", both(
        special(eos=151_644, bos=151_643), fields(add_bos=True)
    ), ("eos_id", "bos_id", "add_bos")),
    Mutation("one marker lost, another typed NORMAL", "qwen2", both(
        one_lost("<|im_end|>"), retype("<|im_start|>", NORMAL)
    ), (*TOKENS, "types")),
    # SPM.
    Mutation("scores of words doubled", "llama-spm", scaled(2.0, "▁"), SCORES, MODEL),
    Mutation("scores without their signs in a range", "llama-spm", scores(
        part(1000, 1500, lambda some: list(map(abs, some)))
    ), SCORES, JSON),
    Mutation("two scores exchanged", "llama-spm", exchanged_scores("▁the", "▁statement"), SCORES, MODEL),
    Mutation("normal and byte types exchanged", "llama-spm", exchanged_types(NORMAL, BYTE), TYPES, JSON),
    Mutation("the unknown token typed CONTROL, and <s> lost", "llama-spm", both(
        retype("<unk>", CONTROL), one_lost("<s>")
    ), (*TOKENS, "types"), JSON),
    Mutation("BOS off, EOS on, and no space prefix", "llama-spm", fields(
        add_bos=False, add_eos=True, add_space_prefix=False
    ), ("add_bos", "add_eos", "add_space_prefix"), JSON),
    Mutation("long runs of line breaks as carriage returns", "gemma-3", respelled(
        lambda token: token.replace("\n", "\r") if len(token) >= 20 else token
    ), TOKENS, JSON),
    Mutation("tabs typed CONTROL, and turn markers swapped", "gemma-3", both(
        retyped(USER_DEFINED, CONTROL, where=lambda id, token: set(token) == {"\t"}),
        swapped(("<start_of_turn>", "<end_of_turn>")),
    ), (*TOKENS, "types"), JSON),
    # Gemma 4.
    Mutation("merges of spaces lost", "gemma-4", merges(without("▁▁")), MERGES, JSON),
    Mutation("a part of the merges in reverse", "gemma-4", merges(
        reverse_slice(1000, 3000)
    ), MERGES, JSON),
    # WordPiece.
    Mutation("Greek pieces lost", "bert-bge", respelled(
        lambda token: f"[{token}]" if "α" in token else token
    ), TOKENS),
    Mutation("[CLS] and [SEP] exchanged as texts", "bert-bge", swapped(("[CLS]", "[SEP]")), (*TOKENS, "bos_id")),
    Mutation("word starts swapped with continuations", "bert-bge", swapped(
        ("▁a", "a"), ("▁is", "is"), ("▁on", "on")
    ), TOKENS),
    # Unigram.
    Mutation("scores of words scaled", "t5", scaled(1.5, "▁"), SCORES),
    Mutation("extra ids typed NORMAL, and extra spaces kept", "t5", both(
        retyped(USER_DEFINED, NORMAL), fields(remove_extra_whitespaces=False)
    ), ("types", "remove_extra_whitespaces")),
    Mutation("<mask> typed NORMAL, and two words swapped", "nomic-bert-moe", both(
        retype("<mask>", NORMAL), swapped(("▁the", "▁and"))
    ), (*TOKENS, "types")),
    Mutation("BOS and EOS exchanged, and a name that strips spaces", "nomic-bert-moe", both(
        exchanged_roles("bos", "eos"), named("phi3")
    ), ("bos_id", "eos_id", "name")),
    # Others.
    Mutation("one byte lost", "made-rwkv", one_lost(r"\x41"), TOKENS),
    Mutation("two scores exchanged, and the unknown token typed NORMAL", "made-unigram", both(
        scores(reverse_slice(40, 60)), retyped(UNKNOWN, NORMAL)
    ), (*SCORES, "types")),
)  # fmt: skip
