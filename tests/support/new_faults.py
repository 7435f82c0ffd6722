"""New faults, kept apart from those that the diagnosis was developed with.

The first table was written before anybody saw what the diagnosis makes of any fault in it.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from support.made_vocabulary import BYTE, CONTROL, NORMAL, USER_DEFINED
from support.mutation import (
    JSON,
    Mutate,
    Mutation,
    cut_tokens,
    fields,
    has,
    in_lower_case,
    merges,
    padded,
    respelled,
    retype,
    retyped,
    reverse_slice,
    scores,
    special,
    swapped,
    with_spaces,
)
from tokverify.spec import TokenizerSpec

TYPES, PRE, MERGES, SCORES = ("types",), ("pre",), ("merges",), ("scores",)
TOKENS = ("tokens", "added", "types", "scores", "shift")
"""The kinds of changes to tokens: some faults can be described as several of them."""


def lost_roles(*roles: str) -> Mutate:
    """Remove the keys of special ids."""
    return lambda spec: replace(
        spec, special_ids={role: id for role, id in spec.special_ids.items() if role not in roles}
    )


def exchanged_roles(first: str, second: str) -> Mutate:
    return lambda spec: replace(
        spec, special_ids={**spec.special_ids, first: spec.special_ids[second], second: spec.special_ids[first]}
    )


def inserted(at: int, text: str) -> Mutate:
    """Insert a token, so that those after it move, together with their types and scores."""

    def insert(values: Sequence | None, value: object) -> list | None:
        return None if values is None else [*values[:at], value, *values[at:]]

    return lambda spec: replace(
        spec,
        tokens=insert(spec.tokens, text),
        types=insert(spec.types, NORMAL),
        scores=insert(spec.scores, -1.0),
        special_ids={role: id + (id >= at) for role, id in spec.special_ids.items()},
    )


def deleted(at: int) -> Mutate:
    """Delete a token, so that those after it move."""

    def delete(values: Sequence | None) -> list | None:
        return None if values is None else [*values[:at], *values[at + 1 :]]

    return lambda spec: replace(
        spec,
        tokens=delete(spec.tokens),
        types=delete(spec.types),
        scores=delete(spec.scores),
        special_ids={role: id - (id > at) for role, id in spec.special_ids.items()},
    )


def turned(merge: str) -> str:
    left, _, right = merge.partition(" ")
    return f"{right} {left}"


def both(first: Mutate, second: Mutate) -> Mutate:
    return lambda spec: second(first(spec))


def rounded(step: float) -> Mutate:
    return scores(lambda old: [round(score / step) * step for score in old])


def without_bytes(spec: TokenizerSpec) -> TokenizerSpec:
    """Replace the upper half of the byte tokens by placeholders."""
    lost = {id for id, token in enumerate(spec.tokens) if token.startswith("<0x") and int(token[3:5], 16) >= 0x80}
    return replace(
        spec,
        tokens=[f"[PAD{id}]" if id in lost else token for id, token in enumerate(spec.tokens)],
        types=[5 if id in lost else type for id, type in enumerate(spec.types)],
    )


def is_word(id: int, token: str) -> bool:
    return token.strip(" ▁Ġ").isalpha()


FIRST: tuple[Mutation, ...] = (
    # SPM.
    Mutation("two markers swapped", "made-spm", swapped(("<|turn|>", "<|end|>")), TOKENS),
    Mutation("BOS and EOS exchanged", "made-spm", exchanged_roles("bos", "eos"), ("bos_id", "eos_id")),
    Mutation("a token inserted", "made-spm", inserted(300, "<new>"), TOKENS),
    Mutation("a token deleted", "made-spm", deleted(500), TOKENS),
    Mutation("scores negated", "made-spm", scores(lambda old: [-score for score in old]), SCORES),
    Mutation("scores rounded", "made-spm", rounded(50.0), SCORES),
    Mutation("all USER_DEFINED typed NORMAL", "made-spm", retyped(USER_DEFINED, NORMAL), TYPES),
    Mutation("one added word typed NORMAL", "made-spm", retype("harbor bridge", NORMAL), TYPES),
    Mutation("EOS is the padding token", "made-spm", special(eos=5), ("eos_id",)),
    Mutation("EOT lost", "made-spm", lost_roles("eot"), ("eot_id",)),
    Mutation("chat template lost", "made-spm", fields(chat_template=None), ("chat_template",)),
    Mutation(
        "no space prefix, and USER_DEFINED typed NORMAL", "made-spm",
        both(fields(add_space_prefix=False), retyped(USER_DEFINED, NORMAL)), ("add_space_prefix", "types"),
    ),
    Mutation("byte tokens typed USER_DEFINED", "made-spm", retyped(BYTE, USER_DEFINED), TYPES),
    Mutation("byte tokens lost", "made-spm", without_bytes, TOKENS),
    # Byte-level BPE.
    Mutation("halves of merges swapped", "made-bpe", merges(lambda old: list(map(turned, old))), MERGES),
    Mutation("merges without separators", "made-bpe", merges(lambda old: [m.replace(" ", "") for m in old]), MERGES),
    Mutation("merges cut in half", "made-bpe", merges(lambda old: old[: len(old) // 2]), MERGES),
    Mutation("merges sorted", "made-bpe", merges(sorted), MERGES),
    Mutation("every second merge lost", "made-bpe", merges(lambda old: old[::2]), MERGES),
    Mutation("name of the pre-tokenizer lost", "made-bpe", fields(pre=None), PRE),
    Mutation("two markers swapped", "made-bpe", swapped(("<|turn|>", "<|end|>")), TOKENS),
    Mutation("CONTROL typed NORMAL", "made-bpe", retyped(CONTROL, NORMAL), TYPES),
    Mutation("CONTROL typed USER_DEFINED", "made-bpe", retyped(CONTROL, USER_DEFINED), TYPES),
    Mutation("EOS is the end of the text", "made-bpe", special(eos=1156), ("eos_id",)),
    Mutation("a token inserted", "made-bpe", inserted(600, "<new>"), TOKENS),
    Mutation(
        "default pre-tokenizer, and BOS on", "made-bpe", both(fields(pre="default"), fields(add_bos=True)),
        ("pre", "add_bos"),
    ),
    Mutation("added words typed NORMAL", "made-bpe", retyped(USER_DEFINED, NORMAL, where=is_word), TYPES),
    # Gemma 4.
    Mutation("halves of merges swapped", "made-gemma4", merges(lambda old: list(map(turned, old))), MERGES),
    Mutation("byte tokens typed NORMAL", "made-gemma4", retyped(BYTE, NORMAL), TYPES),
    Mutation("words typed USER_DEFINED", "made-gemma4", retyped(NORMAL, USER_DEFINED, where=has("th")), TYPES),
    # WordPiece.
    Mutation("lowercase lost", "made-wordpiece", fields(lowercase=None, strip_accents=None), ("lowercase",)),
    Mutation("SEP lost", "made-wordpiece", lost_roles("sep"), ("sep_id",)),
    Mutation("two special ids exchanged", "made-wordpiece", exchanged_roles("bos", "sep"), ("bos_id", "sep_id")),
    Mutation("markers of word starts lost", "made-wordpiece", lambda spec: replace(
        spec, tokens=[t[1:] if t.startswith("▁") and t[1:] not in spec.tokens and t[1:] else t for t in spec.tokens]
    ), TOKENS),
    # Unigram.
    Mutation("scores negated", "made-unigram", scores(lambda old: [-score for score in old]), SCORES),
    Mutation("charsmap lost", "made-unigram", fields(charsmap=None), ("charsmap",)),
    Mutation("unknown id is the padding", "made-unigram", special(unk=0), ("unk_id",)),
    Mutation("extra spaces kept", "made-unigram", fields(remove_extra_whitespaces=None), ("remove_extra_whitespaces",)),
    Mutation("model llama", "made-unigram", fields(model="llama"), ("model",)),
    Mutation("USER_DEFINED typed CONTROL", "made-unigram", retyped(USER_DEFINED, CONTROL), TYPES),
    # RWKV and PLaMo.
    Mutation("a token deleted", "made-rwkv", deleted(400), TOKENS),
    Mutation("scores negated", "made-plamo", scores(lambda old: [-score for score in old]), SCORES),
    Mutation("markers typed NORMAL", "made-plamo", retyped(CONTROL, NORMAL), TYPES),
    # Real vocabularies.
    Mutation("halves of merges swapped", "gpt-2", merges(lambda old: list(map(turned, old))), MERGES, JSON),
    Mutation("a token inserted", "llama-spm", inserted(1000, "<new>"), TOKENS, JSON),
    Mutation("byte tokens typed NORMAL", "llama-spm", retyped(BYTE, NORMAL), TYPES, JSON),
    Mutation("lowercase off", "bert-bge", fields(lowercase=False, strip_accents=False), ("lowercase", "strip_accents")),
    Mutation("scores negated", "t5", scores(lambda old: [-score for score in old]), SCORES),
    Mutation("chat markers swapped", "qwen2", swapped(("<|im_start|>", "<|im_end|>")), TOKENS),
    Mutation("pre gpt-2", "mpt", fields(pre="gpt-2"), PRE),
    Mutation("padding for two markers", "made-bpe", padded("<|turn|>", "<|end|>"), TOKENS),
)  # fmt: skip
"""Written before any output was seen."""


def decomposed(spec: TokenizerSpec) -> TokenizerSpec:
    """Store tokens in Unicode's form NFD, as a careless script might."""
    return replace(spec, tokens=[unicodedata.normalize("NFD", token) for token in spec.tokens])


SECOND: tuple[Mutation, ...] = (
    # SPM.
    Mutation("EOS and EOT exchanged", "made-spm", exchanged_roles("eos", "eot"), ("eos_id", "eot_id")),
    Mutation("types missing", "made-spm", fields(types=None), TYPES),
    Mutation("BOS off", "made-spm", fields(add_bos=False), ("add_bos",)),
    Mutation("scores of a range reversed", "made-spm", scores(reverse_slice(400, 900)), SCORES),
    Mutation("CONTROL typed USER_DEFINED", "made-spm", retyped(CONTROL, USER_DEFINED), TYPES),
    Mutation(
        "scores negated, and one marker typed NORMAL", "made-spm",
        both(scores(lambda old: [-score for score in old]), retype("<tool>", NORMAL)), ("scores", "types"),
    ),
    Mutation(
        "two pieces swapped, and EOS on", "made-spm",
        both(swapped(("▁the", "▁and")), fields(add_eos=True)), ("tokens", "add_eos"),
    ),
    Mutation("pieces with spaces", "made-spm", respelled(with_spaces), TOKENS),
    Mutation("accents decomposed", "made-spm", decomposed, TOKENS),
    # Byte-level BPE.
    Mutation("the first ten merges last", "made-bpe", merges(lambda old: [*old[10:], *old[:10]]), MERGES),
    Mutation("the last added tokens missing", "made-bpe", cut_tokens(3), ("added",)),
    Mutation("pre llama-bpe", "made-bpe", fields(pre="llama-bpe"), PRE),
    Mutation("EOS on", "made-bpe", fields(add_eos=True), ("add_eos",)),
    Mutation(
        "merges cut, and CONTROL typed NORMAL", "made-bpe",
        both(merges(lambda old: old[:600]), retyped(CONTROL, NORMAL)), ("merges", "types"),
    ),
    Mutation("chat template cut", "made-bpe", lambda spec: replace(
        spec, chat_template=spec.chat_template[: len(spec.chat_template) // 2]
    ), ("chat_template",)),
    Mutation("Ġ written as a space", "made-bpe", respelled(lambda token: token.replace("Ġ", " ")), TOKENS),
    Mutation("a token deleted", "made-bpe", deleted(700), TOKENS),
    # Gemma 4.
    Mutation("model llama", "made-gemma4", fields(model="llama"), ("model",)),
    Mutation("every third merge lost", "made-gemma4", merges(lambda old: [
        merge for rank, merge in enumerate(old) if rank % 3
    ]), MERGES),
    Mutation("a token inserted", "made-gemma4", inserted(600, "<new>"), TOKENS),
    Mutation("USER_DEFINED typed NORMAL", "made-gemma4", retyped(USER_DEFINED, NORMAL), TYPES),
    Mutation("byte tokens in lower case", "made-gemma4", respelled(in_lower_case), TOKENS),
    # WordPiece.
    Mutation("lowercase on", "made-wordpiece", fields(lowercase=True), ("lowercase",)),
    Mutation("unknown id wrong", "made-wordpiece", special(unk=0), ("unk_id",)),
    Mutation("a token deleted", "made-wordpiece", deleted(300), TOKENS),
    Mutation("words swapped", "made-wordpiece", swapped(("▁the", "▁and"), ("▁a", "▁of")), TOKENS),
    # Unigram.
    Mutation("scores rounded", "made-unigram", rounded(2.0), SCORES),
    Mutation("EOS off, and no space prefix", "made-unigram", both(
        fields(add_eos=False), fields(add_space_prefix=False, remove_extra_whitespaces=False)
    ), ("add_eos", "add_space_prefix", "remove_extra_whitespaces")),
    Mutation("words typed UNUSED", "made-unigram", retyped(NORMAL, 5, where=has("th")), TYPES),
    Mutation("BOS on", "made-unigram", both(special(bos=1), fields(add_bos=True)), ("add_bos",)),
    # RWKV and PLaMo.
    Mutation("a token inserted", "made-rwkv", inserted(300, "zz"), TOKENS),
    Mutation("two pieces swapped", "made-rwkv", swapped(("the", "and")), TOKENS),
    Mutation("byte tokens typed NORMAL", "made-plamo", retyped(BYTE, NORMAL), TYPES),
    Mutation("BOS off", "made-plamo", fields(add_bos=False), ("add_bos",)),
    Mutation("scores rounded", "made-plamo", rounded(4.0), SCORES),
    # Real vocabularies.
    Mutation("merges cut, and BOS on", "gpt-2", both(
        merges(lambda old: old[:20_000]), fields(add_bos=True)
    ), ("merges", "add_bos"), JSON),
    Mutation("a token deleted", "bert-bge", deleted(2000), TOKENS),
    Mutation("a token deleted", "llama-spm", deleted(15_000), TOKENS, JSON),
    Mutation("scores negated", "xlnet", scores(lambda old: [-score for score in old]), SCORES),
    Mutation("EOS on", "mpt", fields(add_eos=True), ("add_eos",)),
)  # fmt: skip
"""Written while the diagnosis was improved, without trying them."""
