"""A fourth table of new faults, of kinds that the others lack; it was committed before any of them was tried."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

from support.made_vocabulary import BYTE, CONTROL, NORMAL, UNUSED, USER_DEFINED
from support.mutation import (
    JSON,
    MODEL,
    Mutate,
    Mutation,
    fields,
    merges,
    respelled,
    retyped,
    reverse_slice,
    scores,
    special,
    tokens,
)
from support.new_faults import MERGES, SCORES, TOKENS, TYPES, both, lost_roles
from tokverify.spec import TokenizerSpec


def all_of(*faults: Mutate) -> Mutate:
    return reduce(both, faults)


def types(change: Callable[[list[int]], Sequence[int]]) -> Mutate:
    return lambda spec: replace(spec, types=list(change(list(spec.types))))


def misread(token: str) -> str:
    """Read the UTF-8 of a piece as Latin-1, except for the mark of a space."""
    return "▁".join(part.encode().decode("latin-1") for part in token.split("▁"))


def template_end(spec: TokenizerSpec) -> TokenizerSpec:
    """End the turns of the chat template with another marker."""
    return replace(spec, chat_template=spec.chat_template.replace("<|end|>", "<|stop|>"))


def moved_roles(by: int) -> Mutate:
    return lambda spec: replace(spec, special_ids={role: id + by for role, id in spec.special_ids.items()})


def without_brackets(token: str) -> str:
    return token.replace("<|", "<").replace("|>", ">")


def cut_charsmap(spec: TokenizerSpec) -> TokenizerSpec:
    return replace(spec, charsmap=spec.charsmap[: len(spec.charsmap) // 2])


def doubled(items: list) -> list:
    """Repeat a list after its own second half."""
    return [*items[len(items) // 2 :], *items]


def byte_range(listed: list[str]) -> tuple[int, int]:
    """Return the first of 256 byte tokens, and the id after the last."""
    start = listed.index("<0x00>")
    return start, start + 256


def every(step: int) -> Callable[[list], list]:
    """Drop every item whose number is a multiple of `step`."""
    return lambda items: [item for number, item in enumerate(items, start=1) if number % step]


FOURTH: tuple[Mutation, ...] = (
    Mutation("types moved by one", "made-spm", types(lambda old: [old[-1], *old[:-1]]), TYPES),
    Mutation("scores moved by one", "made-spm", scores(lambda old: [old[-1], *old[:-1]]), SCORES),
    Mutation("turns end with another marker", "made-spm", template_end, ("chat_template",)),
    Mutation("all special ids off by one", "made-spm", moved_roles(1), (
        "bos_id", "eos_id", "unk_id", "eot_id", "pad_id"
    )),
    Mutation("everything typed USER_DEFINED", "made-spm", types(lambda old: [USER_DEFINED] * len(old)), TYPES),
    Mutation("byte tokens in reverse", "made-spm", tokens(
        lambda old: reverse_slice(*byte_range(old))(old)
    ), TOKENS),
    Mutation("accents decomposed", "made-unigram", respelled(lambda t: unicodedata.normalize("NFD", t)), TOKENS),
    Mutation("charsmap cut", "made-unigram", cut_charsmap, ("charsmap",)),
    Mutation("scores squared", "made-unigram", scores(lambda old: [-score * score for score in old]), SCORES),
    Mutation("no space prefix, and EOS off", "made-unigram", both(
        fields(add_space_prefix=False), fields(add_eos=False)
    ), ("add_space_prefix", "add_eos")),
    Mutation("every tenth merge missing", "made-bpe", merges(every(10)), MERGES),
    Mutation("merges twice, the second half first", "made-bpe", merges(doubled), MERGES),
    Mutation("markers without bars", "made-bpe", respelled(without_brackets), TOKENS),
    Mutation("CONTROL and USER_DEFINED exchanged", "made-bpe", types(
        lambda old: [{CONTROL: USER_DEFINED, USER_DEFINED: CONTROL}.get(type, type) for type in old]
    ), TYPES),
    Mutation("pre, types and template", "made-bpe", all_of(
        fields(pre="gpt-2"), retyped(USER_DEFINED, NORMAL), fields(chat_template=None)
    ), ("pre", "types", "chat_template")),
    Mutation("added tokens typed UNUSED", "made-bpe", retyped(USER_DEFINED, UNUSED), TYPES),
    Mutation("continuations lost", "made-wordpiece", respelled(
        lambda t: t if t.startswith(("▁", "[", "<")) else f"▁{t}"
    ), TOKENS),
    Mutation("everything typed NORMAL", "made-wordpiece", types(lambda old: [NORMAL] * len(old)), TYPES),
    Mutation("scores zero", "made-plamo", scores(lambda old: [0.0] * len(old)), SCORES),
    Mutation("tokens in upper case", "made-rwkv", respelled(str.upper), TOKENS),
    Mutation("pieces read as Latin-1", "llama-spm", respelled(misread), TOKENS, MODEL),
    Mutation("unknown, BOS and EOS off by one", "llama-spm", moved_roles(1), ("bos_id", "eos_id", "unk_id"), JSON),
    Mutation("pieces in upper case", "t5", respelled(lambda t: t.upper() if "▁" in t else t), TOKENS),
    Mutation("line breaks typed NORMAL", "gemma-3", retyped(
        USER_DEFINED, NORMAL, where=lambda id, token: set(token) == {"\n"}
    ), TYPES, JSON),
    Mutation("BOS is padding", "gemma-3", special(bos=0), ("bos_id",), JSON),
    Mutation("rare merges missing", "gpt-2", merges(lambda old: old[:-500]), MERGES, JSON),
    Mutation("pre qwen2, and BOS on", "gpt-2", both(fields(pre="qwen2"), fields(add_bos=True)), (
        "pre", "add_bos"
    ), JSON),
    Mutation("two ranges of merges reversed", "mpt", merges(
        lambda old: reverse_slice(20_000, 21_000)(reverse_slice(500, 600)(old))
    ), MERGES),
    Mutation("EOS lost, and accents kept", "bert-bge", both(lost_roles("eos"), fields(strip_accents=False)), (
        "eos_id", "strip_accents"
    )),
    Mutation("byte tokens typed UNUSED", "llama-spm", retyped(BYTE, UNUSED), TYPES, JSON),
)  # fmt: skip
