"""A ninth table of new faults: what fine-tuning, merging, quantizing and editing by hand do to a tokenizer.

They follow what people report after such work: tokens saved twice, markers with other bars, padding in front, arrays
that a script has sorted or cut, and keys copied from a base model. The table was committed before any of its faults was
tried.
"""

import math

from support.eighth_faults import in_range, in_template
from support.fifth_faults import appended, if_free
from support.fourth_faults import all_of, types
from support.made_vocabulary import CONTROL, NORMAL, UNUSED, USER_DEFINED
from support.mutation import (
    JSON,
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
from support.new_faults import MERGES, PRE, SCORES, TOKENS, TYPES, both, deleted, inserted, lost_roles
from support.seventh_faults import other_charsmap, reordered
from support.sixth_faults import one_lost
from tokverify.spec import TokenizerSpec

CHATML = ("<|im_start|>", "<|im_end|>")


def is_marker(token: str) -> bool:
    return token.startswith("<|")


def in_markers(old: str, new: str) -> Mutate:
    """Write all markers in another way."""
    return respelled(lambda token: token.replace(old, new) if is_marker(token) else token)


def saved_again(spec: TokenizerSpec) -> TokenizerSpec:
    """Add the control tokens once more after the last token, as saving an already extended tokenizer does."""
    return appended(*filter(is_marker, spec.tokens))(spec)


def markers_first(spec: TokenizerSpec) -> list[int]:
    """Number the control tokens first, as trainers do."""
    return sorted(range(len(spec.tokens)), key=lambda id: spec.types[id] != CONTROL)


def by_length(spec: TokenizerSpec) -> list[int]:
    return sorted(range(len(spec.tokens)), key=lambda id: len(spec.tokens[id]))


NINTH: tuple[Mutation, ...] = (
    # SPM.
    Mutation("ChatML added as ordinary tokens, and EOS changed", "made-spm", appended(
        *CHATML, type=NORMAL, eos="<|im_end|>"
    ), (*TOKENS, "eos_id")),
    Mutation("control tokens saved again", "made-spm", saved_again, TOKENS),
    Mutation("padding in front", "made-spm", inserted(0, "<filler>"), TOKENS),
    Mutation("added words named unused", "made-spm", respelled(
        lambda token: f"<unused_{len(token)}>" if token in {"harbor bridge", "naïveté"} else token
    ), TOKENS),
    Mutation("tabs as spaces", "made-spm", respelled(lambda token: token.replace("\t", "▁▁▁▁▁▁▁▁")), TOKENS),
    Mutation("scores are the ids", "made-spm", scores(lambda old: list(map(float, range(len(old))))), SCORES),
    Mutation("scores in steps of eight", "made-spm", scores(
        lambda old: [math.floor(score / 8) * 8.0 for score in old]
    ), SCORES),
    Mutation("no space prefix, and BOS in the template twice", "made-spm", both(
        fields(add_space_prefix=False), in_template("{{ bos_token }}", "{{ bos_token }}{{ bos_token }}")
    ), ("add_space_prefix", "chat_template")),
    Mutation("EOS and EOT are the padding", "made-spm", special(eos=5, eot=5), ("eos_id", "eot_id")),
    Mutation("control tokens first", "made-spm", reordered(markers_first), TOKENS),
    Mutation("types of a range one too far", "made-spm", types(
        part(3, 40, lambda some: [some[-1], *some[:-1]])
    ), TYPES),
    Mutation("the end of a turn typed UNUSED, and a word CONTROL", "made-spm", both(
        retype("<|end|>", UNUSED), retype("▁the", CONTROL)
    ), TYPES),
    # Byte-level BPE.
    Mutation("pieces without the mark of a space", "made-bpe", if_free(lambda token: token.lstrip("Ġ")), TOKENS),
    Mutation("merges with two spaces", "made-bpe", merges(
        lambda old: [each.replace(" ", "  ") for each in old]
    ), MERGES),
    Mutation("merges in upper case", "made-bpe", merges(lambda old: [each.upper() for each in old]), MERGES),
    Mutation("merges of e lost", "made-bpe", merges(lambda old: [each for each in old if "e" not in each]), MERGES),
    Mutation("pre deepseek-coder", "made-bpe", fields(pre="deepseek-coder"), PRE),
    Mutation("pre default, and EOS off by one", "made-bpe", both(fields(pre="default"), special(eos=1159)), (
        "pre", "eos_id"
    )),
    Mutation("two of the added words typed NORMAL", "made-bpe", both(
        retype("harbor bridge", NORMAL), retype("==>", NORMAL)
    ), TYPES),
    Mutation("markers with a space after them", "made-bpe", in_markers("|>", "|> "), TOKENS),
    Mutation("markers with full-width bars", "made-bpe", in_markers("|", "｜"), TOKENS),
    Mutation("the base model's end and template", "made-bpe", all_of(
        special(eos=1156), lost_roles("eot"), fields(chat_template=None)
    ), ("eos_id", "eot_id", "chat_template")),
    Mutation("merges of a range with their halves swapped", "made-bpe", merges(
        part(300, 500, lambda some: [" ".join(each.split(" ")[::-1]) for each in some])
    ), MERGES),
    Mutation("BOS is the end of a turn, and on", "made-bpe", both(special(bos=1158), fields(add_bos=True)), (
        "bos_id", "add_bos"
    )),
    Mutation("a marker deleted, and padding instead at the end", "made-bpe", both(
        deleted(1159), appended("[PAD]", type=UNUSED)
    ), TOKENS),
    # Gemma 4.
    Mutation("merges with spaces for ▁", "made-gemma4", merges(
        lambda old: [each.replace("▁", "Ġ") for each in old]
    ), MERGES),
    Mutation("byte tokens with a capital X", "made-gemma4", respelled(
        lambda token: token.replace("<0x", "<0X") if len(token) == 6 else token
    ), TOKENS),
    Mutation("model gpt2", "made-gemma4", fields(model="gpt2"), ("model", "pre")),
    # WordPiece.
    Mutation("[PAD] and [UNK] exchanged as texts", "made-wordpiece", swapped(("[PAD]", "[UNK]")), TOKENS),
    Mutation("word starts marked as in GPT-2", "made-wordpiece", respelled(
        lambda token: token.replace("▁", "Ġ")
    ), TOKENS),
    Mutation("the separator is the beginning", "made-wordpiece", lambda spec: special(
        sep=spec.special_ids["bos"]
    )(spec), ("sep_id",)),
    Mutation("words capitalized in part", "bert-bge", in_range(5_000, 9_000, str.title), TOKENS),
    # Unigram.
    Mutation("scores are probabilities", "made-unigram", scores(lambda old: list(map(math.exp, old))), SCORES),
    Mutation("the charsmap folds case", "made-unigram", other_charsmap("nmt_nfkc_cf"), ("charsmap",)),
    Mutation("the mark of a space lost", "made-unigram", one_lost("▁"), TOKENS),
    Mutation("a token inserted before the pieces", "made-unigram", inserted(3, "<extra>"), TOKENS),
    # Others.
    Mutation("tokens sorted by length", "made-rwkv", reordered(by_length), TOKENS),
    Mutation("costs instead of scores, and BOS off", "made-plamo", both(
        scores(lambda old: [-score for score in old]), fields(add_bos=False)
    ), ("scores", "add_bos")),
    Mutation("EOS is an exclamation mark", "gpt-2", special(eos=0), ("eos_id",), JSON),
    Mutation("merges of other scripts lost", "gpt-2", merges(
        lambda old: [each for each in old if each.isascii() or "Ġ" in each]
    ), MERGES, JSON),
    Mutation("the line break as an escape", "llama-spm", one_lost("<0x0A>", "\\n"), TOKENS, JSON),
    Mutation("ChatML added as user-defined tokens", "llama-spm", appended(*CHATML, type=USER_DEFINED), TOKENS, JSON),
    Mutation("words with th typed UNUSED", "llama-spm", retyped(NORMAL, UNUSED, where=has("th")), TYPES, JSON),
)  # fmt: skip
