"""A fifth table of new faults, made after the mistakes of converters, quantizers and fine-tuning scripts.

It was committed before any of them was tried. Most are in real vocabularies.
"""

import json
import struct
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from html import escape

from support.made_vocabulary import CONTROL, NORMAL, UNKNOWN, USER_DEFINED
from support.mutation import (
    JSON,
    MODEL,
    Mutate,
    Mutation,
    fields,
    has,
    merges,
    named,
    respelled,
    retype,
    retyped,
    scores,
    special,
    swapped,
    tokens,
)
from support.new_faults import MERGES, SCORES, TOKENS, TYPES, both, exchanged_roles, turned
from tokverify.spec import TokenizerSpec


def if_free(change: Callable[[str], str]) -> Mutate:
    """Change the pieces whose new form is not empty and not yet that of another one."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        taken = set(spec.tokens)
        changed = []
        for token in spec.tokens:
            new = change(token)
            is_free = bool(new) and new not in taken
            taken.add(new if is_free else token)
            changed.append(new if is_free else token)
        return replace(spec, tokens=changed)

    return mutate


def appended(*texts: str, type: int = CONTROL, **roles: str) -> Mutate:
    """Add tokens after the last one, as a fine-tuning script does, and give some of them a role."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        listed = [*spec.tokens, *texts]
        return replace(
            spec,
            tokens=listed,
            types=[*spec.types, *[type] * len(texts)],
            scores=None if spec.scores is None else [*spec.scores, *[0.0] * len(texts)],
            special_ids={**spec.special_ids, **{role: listed.index(text) for role, text in roles.items()}},
        )

    return mutate


def in_half_precision(score: float) -> float:
    """Round to 16 bits, of which the lowest number is -65,504."""
    return struct.unpack("<e", struct.pack("<e", max(score, -65_504.0)))[0]


def without_accents(token: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", token) if not unicodedata.combining(char))


def one_score(piece: str, value: float) -> Mutate:
    return lambda spec: replace(
        spec,
        scores=[
            value if token == piece else score for token, score in zip(spec.tokens, spec.scores, strict=True)
        ],
    )  # fmt: skip


def as_escapes(token: str) -> str:
    """Write a piece as it looks in a JSON file that contains only ASCII."""
    return json.dumps(token, ensure_ascii=True)[1:-1]


def without_comments(listed: list[str]) -> list[str]:
    """Skip the lines that look like comments, some of which are merges of `#`."""
    return [merge for merge in listed if not merge.startswith("#")]


def ascending_extra_ids(listed: list[str]) -> list[str]:
    """Number T5's extra ids upwards; they descend."""
    extra = [id for id, token in enumerate(listed) if token.startswith("<extra_id_")]
    return [f"<extra_id_{id - extra[0]}>" if id in extra else token for id, token in enumerate(listed)]


def bytes_moved_by_one(listed: list[str]) -> list[str]:
    """Give each byte token the text of the next one."""
    start = listed.index("<0x00>")
    return [*listed[:start], *listed[start + 1 : start + 256], listed[start], *listed[start + 256 :]]


def in_other_byte_alphabet(token: str) -> str:
    """Write the bytes 7F to A0 as the characters with these numbers."""
    return "".join(chr(ord(char) - 0x121 + 0x7F) if 0x121 <= ord(char) <= 0x142 else char for char in token)


def moved_to(rank: int, merge: str) -> Mutate:
    """Move a merge to another rank."""

    def move(old: list[str]) -> list[str]:
        others = [other for other in old if other != merge]
        return [*others[:rank], merge, *others[rank:]]

    return merges(move)


FIFTH: tuple[Mutation, ...] = (
    # Merges, as scripts read and write them.
    Mutation("merges that look like comments skipped", "gpt-2", merges(without_comments), MERGES, JSON),
    Mutation("merges with carriage returns", "gpt-2", merges(
        lambda old: [f"{merge}\r" for merge in old]
    ), MERGES, JSON),
    Mutation("the version as a merge, the last merge lost", "gpt-2", merges(
        lambda old: ["#version: 0.2", *old[:-1]]
    ), MERGES, JSON),
    Mutation("one frequent merge last", "mpt", moved_to(50_008, "Ġt he"), MERGES, JSON),
    # SPM and unigram.
    Mutation("scores in half precision", "llama-spm", scores(
        lambda old: list(map(in_half_precision, old))
    ), SCORES, MODEL),
    Mutation("one score wrong", "llama-spm", one_score("▁development", -31_000.0), SCORES, MODEL),
    Mutation("extra ids ascending", "t5", tokens(ascending_extra_ids), TOKENS),
    Mutation("scores in half precision", "t5", scores(lambda old: list(map(in_half_precision, old))), SCORES),
    Mutation("compatibility forms of pieces", "llama-spm", if_free(
        lambda token: unicodedata.normalize("NFKC", token)
    ), TOKENS, MODEL),
    Mutation("byte tokens off by one", "llama-spm", tokens(bytes_moved_by_one), TOKENS, JSON),
    Mutation("the byte of line breaks as text", "llama-spm", both(
        retype("<0x0A>", NORMAL), respelled(lambda token: token.replace("<0x0A>", "\n"))
    ), TOKENS, JSON),
    Mutation("accents of pieces lost", "llama-spm", if_free(without_accents), TOKENS, JSON),
    # Tokens that fine-tuning adds.
    Mutation("a padding token added", "gpt-2", appended("<|pad|>", pad="<|pad|>"), (*TOKENS, "pad_id")),
    Mutation("words added", "llama-spm", appended("tokenizer", "▁quantized", type=USER_DEFINED), TOKENS),
    Mutation("turn markers added, and EOS changed", "mpt", appended(
        "<|im_start|>", "<|im_end|>", eos="<|im_end|>"
    ), (*TOKENS, "eos_id")),
    # Byte-level BPE.
    Mutation("pieces as escapes", "gpt-2", respelled(as_escapes), TOKENS, JSON),
    Mutation("half of the byte alphabet as such", "mpt", respelled(in_other_byte_alphabet), TOKENS, JSON),
    Mutation("pieces escaped for HTML", "gpt-2", respelled(lambda token: escape(token, quote=False)), TOKENS, JSON),
    Mutation("runs of spaces typed CONTROL", "mpt", retyped(USER_DEFINED, CONTROL, where=has("  ")), TYPES, JSON),
    Mutation("pre starcoder, and halves of rare merges swapped", "gpt-2", both(
        fields(pre="starcoder"), merges(lambda old: [*old[:45_000], *map(turned, old[45_000:])])
    ), ("pre", "merges"), JSON),
    Mutation("BOS and EOS after the last token", "gpt-2", special(bos=50_257, eos=50_257), ("bos_id", "eos_id"), JSON),
    # WordPiece.
    Mutation("pieces with carriage returns", "bert-bge", respelled(
        lambda token: token if token.startswith("[") else f"{token}\r"
    ), TOKENS),
    Mutation("[CLS] typed USER_DEFINED, and words swapped", "bert-bge", both(
        retype("[CLS]", USER_DEFINED), swapped(("▁small", "▁large"))
    ), (*TOKENS, "types")),
    # Keys.
    Mutation("a name that strips spaces, and BOS off", "llama-spm", both(
        named("phi-3-tuned"), fields(add_bos=False)
    ), ("name", "add_bos"), JSON),
    Mutation("unknown token typed NORMAL, and BOS on", "t5", both(
        retyped(UNKNOWN, NORMAL), fields(add_bos=True)
    ), ("types", "add_bos", "bos_id")),
    Mutation("EOT is a word", "llama-spm", special(eot=306), ("eot_id",)),
    Mutation("line breaks of the template lost", "made-spm", lambda spec: replace(
        spec, chat_template=spec.chat_template.replace("\\n", " ").replace("\n", "")
    ), ("chat_template",)),
    Mutation("BOS and EOT exchanged, and chat template lost", "made-bpe", both(
        exchanged_roles("bos", "eos"), fields(chat_template=None)
    ), ("bos_id", "eos_id", "chat_template")),
    # Large vocabularies.
    Mutation("merges of line breaks lost", "gemma-4", merges(
        lambda old: [merge for merge in old if len(merge.splitlines()) == 1]
    ), MERGES, JSON),
    Mutation("spaces of added tokens as ▁", "gemma-3", respelled(
        lambda token: token.replace(" ", "▁")
    ), TOKENS, JSON),
)  # fmt: skip
