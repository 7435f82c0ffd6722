"""New faults, kept apart from those that the diagnosis was developed with.

Each row says to which of nine tables it belongs, which were written one after the other. A table was committed before
any of its faults was tried, except for the second one.
"""

import math
import unicodedata
from dataclasses import replace
from html import escape
from typing import Any

from support.faults.spellings import (
    added_in_byte_alphabet,
    as_escapes,
    as_surrogate_pairs,
    bytes_as_characters,
    decomposed,
    encoded_twice,
    in_markers,
    in_other_byte_alphabet,
    is_white_space,
    is_word,
    misread,
    with_replacement_characters,
    without_accents,
    without_brackets,
    without_invisible,
)
from support.faults.tokens import (
    added_in_reverse,
    appended,
    ascending_extra_ids,
    by_length,
    byte_range,
    bytes_moved_by_one,
    deleted,
    extra_ids_first,
    if_free,
    in_range,
    inserted,
    markers_first,
    one_lost,
    overwritten,
    padding,
    pruned,
    renamed_padding,
    reordered,
    saved_again,
    sentencepiece_order,
    sorted_part,
    tokens_of,
    without_bytes,
)
from support.faults.values import (
    all_of,
    all_scores,
    all_splits,
    as_list,
    both,
    charsmap_of,
    columns_off_by_one,
    cut_charsmap,
    doubled,
    every,
    exchanged_roles,
    exchanged_scores,
    exchanged_types,
    extended,
    in_bfloat16,
    in_half_precision,
    in_order_of_ids,
    in_other_byte_order,
    in_template,
    lost_roles,
    merges_of,
    moved_roles,
    moved_to,
    named_template,
    one_score,
    other_charsmap,
    other_types,
    retrained,
    rounded,
    scaled,
    turned,
    types,
    without,
    without_comments,
)
from support.made_vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from support.mutation import (
    JSON,
    MERGES,
    MODEL,
    PRE,
    SCORES,
    TYPES,
    Mutation,
    cut_tokens,
    fields,
    has,
    in_lower_case,
    merges,
    named,
    padded,
    part,
    respelled,
    retype,
    retyped,
    reverse_slice,
    scores,
    shifted,
    special,
    swapped,
    tokens,
    with_spaces,
)

CHATML = ("<|im_start|>", "<|im_end|>")
TOKENS = ("tokens", "added", "types", "scores", "shift")
"""The kinds of changes to tokens: some faults can be described as several of them."""
_LONGEST = 12


def fault(table: int, *values: Any) -> Mutation:
    """Make a row; the values are the other fields of `Mutation`."""
    return Mutation(*values, table=table)


FAULTS: tuple[Mutation, ...] = (
    # First table: it was written before anybody saw what the diagnosis makes of any fault in it.
    # SPM.
    fault(1, "two markers swapped", "made-spm", swapped(("<|turn|>", "<|end|>")), TOKENS),
    fault(1, "BOS and EOS exchanged", "made-spm", exchanged_roles("bos", "eos"), ("bos_id", "eos_id")),
    fault(1, "a token inserted", "made-spm", inserted(300, "<new>"), TOKENS),
    fault(1, "a token deleted", "made-spm", deleted(500), TOKENS),
    fault(1, "scores negated", "made-spm", scores(lambda old: [-score for score in old]), SCORES),
    fault(1, "scores rounded", "made-spm", rounded(50.0), SCORES),
    fault(1, "all USER_DEFINED typed NORMAL", "made-spm", retyped(USER_DEFINED, NORMAL), TYPES),
    fault(1, "one added word typed NORMAL", "made-spm", retype("harbor bridge", NORMAL), TYPES),
    fault(1, "EOS is the padding token", "made-spm", special(eos=5), ("eos_id",)),
    fault(1, "EOT lost", "made-spm", lost_roles("eot"), ("eot_id",)),
    fault(1, "chat template lost", "made-spm", fields(chat_template=None), ("chat_template",)),
    fault(
        1, "no space prefix, and USER_DEFINED typed NORMAL", "made-spm",
        both(fields(add_space_prefix=False), retyped(USER_DEFINED, NORMAL)), ("add_space_prefix", "types"),
    ),
    fault(1, "byte tokens typed USER_DEFINED", "made-spm", retyped(BYTE, USER_DEFINED), TYPES),
    fault(1, "byte tokens lost", "made-spm", without_bytes, TOKENS),
    # Byte-level BPE.
    fault(1, "halves of merges swapped", "made-bpe", merges(lambda old: list(map(turned, old))), MERGES),
    fault(1, "merges without separators", "made-bpe", merges(lambda old: [m.replace(" ", "") for m in old]), MERGES),
    fault(1, "merges cut in half", "made-bpe", merges(lambda old: old[: len(old) // 2]), MERGES),
    fault(1, "merges sorted", "made-bpe", merges(sorted), MERGES),
    fault(1, "every second merge lost", "made-bpe", merges(lambda old: old[::2]), MERGES),
    fault(1, "name of the pre-tokenizer lost", "made-bpe", fields(pre=None), PRE),
    fault(1, "two markers swapped", "made-bpe", swapped(("<|turn|>", "<|end|>")), TOKENS),
    fault(1, "CONTROL typed NORMAL", "made-bpe", retyped(CONTROL, NORMAL), TYPES),
    fault(1, "CONTROL typed USER_DEFINED", "made-bpe", retyped(CONTROL, USER_DEFINED), TYPES),
    fault(1, "EOS is the end of the text", "made-bpe", special(eos=1156), ("eos_id",)),
    fault(1, "a token inserted", "made-bpe", inserted(600, "<new>"), TOKENS),
    fault(
        1, "default pre-tokenizer, and BOS on", "made-bpe", both(fields(pre="default"), fields(add_bos=True)),
        ("pre", "add_bos"),
    ),
    fault(1, "added words typed NORMAL", "made-bpe", retyped(USER_DEFINED, NORMAL, where=is_word), TYPES),
    # Gemma 4.
    fault(1, "halves of merges swapped", "made-gemma4", merges(lambda old: list(map(turned, old))), MERGES),
    fault(1, "byte tokens typed NORMAL", "made-gemma4", retyped(BYTE, NORMAL), TYPES),
    fault(1, "words typed USER_DEFINED", "made-gemma4", retyped(NORMAL, USER_DEFINED, where=has("th")), TYPES),
    # WordPiece.
    fault(1, "lowercase lost", "made-wordpiece", fields(lowercase=None, strip_accents=None), ("lowercase",)),
    fault(1, "SEP lost", "made-wordpiece", lost_roles("sep"), ("sep_id",)),
    fault(1, "two special ids exchanged", "made-wordpiece", exchanged_roles("bos", "sep"), ("bos_id", "sep_id")),
    fault(1, "markers of word starts lost", "made-wordpiece", lambda spec: replace(
        spec, tokens=[t[1:] if t.startswith("▁") and t[1:] not in spec.tokens and t[1:] else t for t in spec.tokens]
    ), TOKENS),
    # Unigram.
    fault(1, "scores negated", "made-unigram", scores(lambda old: [-score for score in old]), SCORES),
    fault(1, "charsmap lost", "made-unigram", fields(charsmap=None), ("charsmap",)),
    fault(1, "unknown id is the padding", "made-unigram", special(unk=0), ("unk_id",)),
    fault(1, "extra spaces kept", "made-unigram", fields(remove_extra_whitespaces=None), ("remove_extra_whitespaces",)),
    fault(1, "model llama", "made-unigram", fields(model="llama"), ("model",)),
    fault(1, "USER_DEFINED typed CONTROL", "made-unigram", retyped(USER_DEFINED, CONTROL), TYPES),
    # RWKV and PLaMo.
    fault(1, "a token deleted", "made-rwkv", deleted(400), TOKENS),
    fault(1, "scores negated", "made-plamo", scores(lambda old: [-score for score in old]), SCORES),
    fault(1, "markers typed NORMAL", "made-plamo", retyped(CONTROL, NORMAL), TYPES),
    # Real vocabularies.
    fault(1, "halves of merges swapped", "gpt-2", merges(lambda old: list(map(turned, old))), MERGES, JSON),
    fault(1, "a token inserted", "llama-spm", inserted(1000, "<new>"), TOKENS, JSON),
    fault(1, "byte tokens typed NORMAL", "llama-spm", retyped(BYTE, NORMAL), TYPES, JSON),
    fault(1, "lowercase off", "bert-bge", fields(lowercase=False, strip_accents=False), ("lowercase", "strip_accents")),
    fault(1, "scores negated", "t5", scores(lambda old: [-score for score in old]), SCORES),
    fault(1, "chat markers swapped", "qwen2", swapped(("<|im_start|>", "<|im_end|>")), TOKENS),
    fault(1, "pre gpt-2", "mpt", fields(pre="gpt-2"), PRE),
    fault(1, "padding for two markers", "made-bpe", padded("<|turn|>", "<|end|>"), TOKENS),

    # Second table: it was written while the diagnosis was improved, without trying its faults.
    # SPM.
    fault(2, "EOS and EOT exchanged", "made-spm", exchanged_roles("eos", "eot"), ("eos_id", "eot_id")),
    fault(2, "types missing", "made-spm", fields(types=None), TYPES),
    fault(2, "BOS off", "made-spm", fields(add_bos=False), ("add_bos",)),
    fault(2, "scores of a range reversed", "made-spm", scores(reverse_slice(400, 900)), SCORES),
    fault(2, "CONTROL typed USER_DEFINED", "made-spm", retyped(CONTROL, USER_DEFINED), TYPES),
    fault(
        2, "scores negated, and one marker typed NORMAL", "made-spm",
        both(scores(lambda old: [-score for score in old]), retype("<tool>", NORMAL)), ("scores", "types"),
    ),
    fault(
        2, "two pieces swapped, and EOS on", "made-spm",
        both(swapped(("▁the", "▁and")), fields(add_eos=True)), ("tokens", "add_eos"),
    ),
    fault(2, "pieces with spaces", "made-spm", respelled(with_spaces), TOKENS),
    fault(2, "accents decomposed", "made-spm", respelled(decomposed), TOKENS),
    # Byte-level BPE.
    fault(2, "the first ten merges last", "made-bpe", merges(lambda old: [*old[10:], *old[:10]]), MERGES),
    fault(2, "the last added tokens missing", "made-bpe", cut_tokens(3), ("added",)),
    fault(2, "pre llama-bpe", "made-bpe", fields(pre="llama-bpe"), PRE),
    fault(2, "EOS on", "made-bpe", fields(add_eos=True), ("add_eos",)),
    fault(
        2, "merges cut, and CONTROL typed NORMAL", "made-bpe",
        both(merges(lambda old: old[:600]), retyped(CONTROL, NORMAL)), ("merges", "types"),
    ),
    fault(2, "chat template cut", "made-bpe", lambda spec: replace(
        spec, chat_template=spec.chat_template[: len(spec.chat_template) // 2]
    ), ("chat_template",)),
    fault(2, "Ġ written as a space", "made-bpe", respelled(lambda token: token.replace("Ġ", " ")), TOKENS),
    fault(2, "a token deleted", "made-bpe", deleted(700), TOKENS),
    # Gemma 4.
    fault(2, "model llama", "made-gemma4", fields(model="llama"), ("model",)),
    fault(2, "every third merge lost", "made-gemma4", merges(lambda old: [
        merge for rank, merge in enumerate(old) if rank % 3
    ]), MERGES),
    fault(2, "a token inserted", "made-gemma4", inserted(600, "<new>"), TOKENS),
    fault(2, "USER_DEFINED typed NORMAL", "made-gemma4", retyped(USER_DEFINED, NORMAL), TYPES),
    fault(2, "byte tokens in lower case", "made-gemma4", respelled(in_lower_case), TOKENS),
    # WordPiece.
    fault(2, "lowercase on", "made-wordpiece", fields(lowercase=True), ("lowercase",)),
    fault(2, "unknown id wrong", "made-wordpiece", special(unk=0), ("unk_id",)),
    fault(2, "a token deleted", "made-wordpiece", deleted(300), TOKENS),
    fault(2, "words swapped", "made-wordpiece", swapped(("▁the", "▁and"), ("▁a", "▁of")), TOKENS),
    # Unigram.
    fault(2, "scores rounded", "made-unigram", rounded(2.0), SCORES),
    fault(2, "EOS off, and no space prefix", "made-unigram", both(
        fields(add_eos=False), fields(add_space_prefix=False, remove_extra_whitespaces=False)
    ), ("add_eos", "add_space_prefix", "remove_extra_whitespaces")),
    fault(2, "words typed UNUSED", "made-unigram", retyped(NORMAL, 5, where=has("th")), TYPES),
    fault(2, "BOS on", "made-unigram", both(special(bos=1), fields(add_bos=True)), ("add_bos",)),
    # RWKV and PLaMo.
    fault(2, "a token inserted", "made-rwkv", inserted(300, "zz"), TOKENS),
    fault(2, "two pieces swapped", "made-rwkv", swapped(("the", "and")), TOKENS),
    fault(2, "byte tokens typed NORMAL", "made-plamo", retyped(BYTE, NORMAL), TYPES),
    fault(2, "BOS off", "made-plamo", fields(add_bos=False), ("add_bos",)),
    fault(2, "scores rounded", "made-plamo", rounded(4.0), SCORES),
    # Real vocabularies.
    fault(2, "merges cut, and BOS on", "gpt-2", both(
        merges(lambda old: old[:20_000]), fields(add_bos=True)
    ), ("merges", "add_bos"), JSON),
    fault(2, "a token deleted", "bert-bge", deleted(2000), TOKENS),
    fault(2, "a token deleted", "llama-spm", deleted(15_000), TOKENS, JSON),
    fault(2, "scores negated", "xlnet", scores(lambda old: [-score for score in old]), SCORES),
    fault(2, "EOS on", "mpt", fields(add_eos=True), ("add_eos",)),

    # Third table: most of them in real vocabularies.
    fault(3, "EOS is another token", "gpt-2", special(eos=0), ("eos_id",), JSON),
    fault(3, "newlines as such", "gpt-2", respelled(lambda token: token.replace("Ċ", "\n")), TOKENS, JSON),
    fault(3, "a range of merges reversed", "qwen2", merges(reverse_slice(1_000, 3_000)), MERGES),
    fault(3, "EOS lost", "qwen2", lost_roles("eos"), ("eos_id",)),
    fault(3, "pre deepseek-llm", "qwen2", fields(pre="deepseek-llm"), PRE),
    fault(3, "the end of a turn typed UNUSED", "gemma-3", retype("<end_of_turn>", UNUSED), TYPES, JSON),
    fault(3, "space prefix on", "gemma-3", fields(add_space_prefix=True), ("add_space_prefix",), JSON),
    fault(3, "pieces with underscores", "gemma-3", respelled(lambda token: token.replace("▁", "_")), TOKENS, JSON),
    fault(3, "model gpt2", "gemma-4", fields(model="gpt2"), ("model",), JSON),
    fault(3, "byte tokens typed CONTROL", "llama-spm", retyped(BYTE, CONTROL), TYPES, JSON),
    fault(3, "EOS and unknown exchanged", "llama-spm", exchanged_roles("eos", "unk"), ("eos_id", "unk_id"), JSON),
    fault(3, "BOS and space prefix off", "llama-spm", both(
        fields(add_space_prefix=False), fields(add_bos=False)
    ), ("add_space_prefix", "add_bos"), MODEL),
    fault(3, "extra ids typed NORMAL", "t5", retyped(USER_DEFINED, NORMAL), TYPES),
    fault(3, "charsmap lost, and EOS off", "t5", both(fields(charsmap=None), fields(add_eos=False)), (
        "charsmap", "add_eos"
    )),
    fault(3, "extra spaces kept", "xlnet", fields(remove_extra_whitespaces=False), ("remove_extra_whitespaces",)),
    fault(3, "scores all zero", "xlnet", scores(lambda old: [0.0] * len(old)), SCORES),
    fault(3, "[SEP] typed NORMAL", "bert-bge", retype("[SEP]", NORMAL), TYPES),
    fault(3, "the last tokens missing", "bert-bge", cut_tokens(5), ("added",)),
    fault(3, "a token inserted", "nomic-bert-moe", inserted(1_000, "zzz"), TOKENS),
    fault(3, "model llama", "nomic-bert-moe", fields(model="llama"), ("model",)),
    fault(3, "pre llama-bpe", "mpt", fields(pre="llama-bpe"), PRE),
    fault(3, "words swapped", "mpt", swapped(("Ġthe", "Ġand")), TOKENS),
    fault(3, "merges sorted, and EOS on", "mpt", both(merges(sorted), fields(add_eos=True)), ("merges", "add_eos")),
    fault(3, "chat template of another model", "made-spm", fields(
        chat_template="{% for message in messages %}<|im_start|>{{ message['content'] }}<|im_end|>{% endfor %}"
    ), ("chat_template",)),
    fault(3, "BOS and EOS exchanged", "made-plamo", exchanged_roles("bos", "eos"), ("bos_id", "eos_id")),
    fault(3, "a token deleted, another inserted", "made-rwkv", both(deleted(300), inserted(500, "zz")), TOKENS),
    fault(3, "unknown token typed NORMAL", "made-unigram", retype("<unk>", NORMAL), TYPES),
    fault(3, "CONTROL typed NORMAL", "made-wordpiece", retyped(CONTROL, NORMAL), TYPES),
    fault(3, "words typed USER_DEFINED", "made-spm", retyped(NORMAL, USER_DEFINED, where=has("ing")), TYPES),
    fault(3, "BOS lost, and chat template lost", "made-bpe", both(
        lost_roles("bos"), fields(chat_template=None)
    ), ("bos_id", "chat_template", "add_bos")),

    # Fourth table: kinds that the others lack.
    fault(4, "types moved by one", "made-spm", types(lambda old: [old[-1], *old[:-1]]), TYPES),
    fault(4, "scores moved by one", "made-spm", scores(lambda old: [old[-1], *old[:-1]]), SCORES),
    fault(4, "turns end with another marker", "made-spm", in_template("<|end|>", "<|stop|>"), ("chat_template",)),
    fault(4, "all special ids off by one", "made-spm", moved_roles(1), (
        "bos_id", "eos_id", "unk_id", "eot_id", "pad_id"
    )),
    fault(4, "everything typed USER_DEFINED", "made-spm", types(lambda old: [USER_DEFINED] * len(old)), TYPES),
    fault(4, "byte tokens in reverse", "made-spm", tokens(
        lambda old: reverse_slice(*byte_range(old))(old)
    ), TOKENS),
    fault(4, "accents decomposed", "made-unigram", respelled(decomposed), TOKENS),
    fault(4, "charsmap cut", "made-unigram", cut_charsmap, ("charsmap",)),
    fault(4, "scores squared", "made-unigram", scores(lambda old: [-score * score for score in old]), SCORES),
    fault(4, "no space prefix, and EOS off", "made-unigram", both(
        fields(add_space_prefix=False), fields(add_eos=False)
    ), ("add_space_prefix", "add_eos")),
    fault(4, "every tenth merge missing", "made-bpe", merges(every(10)), MERGES),
    fault(4, "merges twice, the second half first", "made-bpe", merges(doubled), MERGES),
    fault(4, "markers without bars", "made-bpe", respelled(without_brackets), TOKENS),
    fault(4, "CONTROL and USER_DEFINED exchanged", "made-bpe", exchanged_types(
        CONTROL, USER_DEFINED
    ), TYPES),
    fault(4, "pre, types and template", "made-bpe", all_of(
        fields(pre="gpt-2"), retyped(USER_DEFINED, NORMAL), fields(chat_template=None)
    ), ("pre", "types", "chat_template")),
    fault(4, "added tokens typed UNUSED", "made-bpe", retyped(USER_DEFINED, UNUSED), TYPES),
    fault(4, "continuations lost", "made-wordpiece", respelled(
        lambda t: t if t.startswith(("▁", "[", "<")) else f"▁{t}"
    ), TOKENS),
    fault(4, "everything typed NORMAL", "made-wordpiece", types(lambda old: [NORMAL] * len(old)), TYPES),
    fault(4, "scores zero", "made-plamo", scores(lambda old: [0.0] * len(old)), SCORES),
    fault(4, "tokens in upper case", "made-rwkv", respelled(str.upper), TOKENS),
    fault(4, "pieces read as Latin-1", "llama-spm", respelled(misread), TOKENS, MODEL),
    fault(4, "unknown, BOS and EOS off by one", "llama-spm", moved_roles(1), ("bos_id", "eos_id", "unk_id"), JSON),
    fault(4, "pieces in upper case", "t5", respelled(lambda t: t.upper() if "▁" in t else t), TOKENS),
    fault(4, "line breaks typed NORMAL", "gemma-3", retyped(
        USER_DEFINED, NORMAL, where=lambda id, token: set(token) == {"\n"}
    ), TYPES, JSON),
    fault(4, "BOS is padding", "gemma-3", special(bos=0), ("bos_id",), JSON),
    fault(4, "rare merges missing", "gpt-2", merges(lambda old: old[:-500]), MERGES, JSON),
    fault(4, "pre qwen2, and BOS on", "gpt-2", both(fields(pre="qwen2"), fields(add_bos=True)), (
        "pre", "add_bos"
    ), JSON),
    fault(4, "two ranges of merges reversed", "mpt", merges(
        lambda old: reverse_slice(20_000, 21_000)(reverse_slice(500, 600)(old))
    ), MERGES),
    fault(4, "EOS lost, and accents kept", "bert-bge", both(lost_roles("eos"), fields(strip_accents=False)), (
        "eos_id", "strip_accents"
    )),
    fault(4, "byte tokens typed UNUSED", "llama-spm", retyped(BYTE, UNUSED), TYPES, JSON),

    # Fifth table: mistakes of converters, quantizers and fine-tuning scripts, most of them in real vocabularies.
    # Merges, as scripts read and write them.
    fault(5, "merges that look like comments skipped", "gpt-2", merges(without_comments), MERGES, JSON),
    fault(5, "merges with carriage returns", "gpt-2", merges(
        lambda old: [f"{merge}\r" for merge in old]
    ), MERGES, JSON),
    fault(5, "the version as a merge, the last merge lost", "gpt-2", merges(
        lambda old: ["#version: 0.2", *old[:-1]]
    ), MERGES, JSON),
    fault(5, "one frequent merge last", "mpt", moved_to(50_008, "Ġt he"), MERGES, JSON),
    # SPM and unigram.
    fault(5, "scores in half precision", "llama-spm", scores(
        lambda old: list(map(in_half_precision, old))
    ), SCORES, MODEL),
    fault(5, "one score wrong", "llama-spm", one_score("▁development", -31_000.0), SCORES, MODEL),
    fault(5, "extra ids ascending", "t5", tokens(ascending_extra_ids), TOKENS),
    fault(5, "scores in half precision", "t5", scores(lambda old: list(map(in_half_precision, old))), SCORES),
    fault(5, "compatibility forms of pieces", "llama-spm", if_free(
        lambda token: unicodedata.normalize("NFKC", token)
    ), TOKENS, MODEL),
    fault(5, "byte tokens off by one", "llama-spm", tokens(bytes_moved_by_one), TOKENS, JSON),
    fault(5, "the byte of line breaks as text", "llama-spm", both(
        retype("<0x0A>", NORMAL), respelled(lambda token: token.replace("<0x0A>", "\n"))
    ), TOKENS, JSON),
    fault(5, "accents of pieces lost", "llama-spm", if_free(without_accents), TOKENS, JSON),
    # Tokens that fine-tuning adds.
    fault(5, "a padding token added", "gpt-2", appended("<|pad|>", pad="<|pad|>"), (*TOKENS, "pad_id")),
    fault(5, "words added", "llama-spm", appended("tokenizer", "▁quantized", type=USER_DEFINED), TOKENS),
    fault(5, "turn markers added, and EOS changed", "mpt", appended(
        "<|im_start|>", "<|im_end|>", eos="<|im_end|>"
    ), (*TOKENS, "eos_id")),
    # Byte-level BPE.
    fault(5, "pieces as escapes", "gpt-2", respelled(as_escapes), TOKENS, JSON),
    fault(5, "half of the byte alphabet as such", "mpt", respelled(in_other_byte_alphabet), TOKENS, JSON),
    fault(5, "pieces escaped for HTML", "gpt-2", respelled(lambda token: escape(token, quote=False)), TOKENS, JSON),
    fault(5, "runs of spaces typed CONTROL", "mpt", retyped(USER_DEFINED, CONTROL, where=has("  ")), TYPES, JSON),
    fault(5, "pre starcoder, and halves of rare merges swapped", "gpt-2", both(
        fields(pre="starcoder"), merges(lambda old: [*old[:45_000], *map(turned, old[45_000:])])
    ), ("pre", "merges"), JSON),
    fault(5, "BOS and EOS after the last token", "gpt-2", special(bos=50_257, eos=50_257), ("bos_id", "eos_id"), JSON),
    # WordPiece.
    fault(5, "pieces with carriage returns", "bert-bge", respelled(
        lambda token: token if token.startswith("[") else f"{token}\r"
    ), TOKENS),
    fault(5, "[CLS] typed USER_DEFINED, and words swapped", "bert-bge", both(
        retype("[CLS]", USER_DEFINED), swapped(("▁small", "▁large"))
    ), (*TOKENS, "types")),
    # Keys.
    fault(5, "a name that strips spaces, and BOS off", "llama-spm", both(
        named("phi-3-tuned"), fields(add_bos=False)
    ), ("name", "add_bos"), JSON),
    fault(5, "unknown token typed NORMAL, and BOS on", "t5", both(
        retyped(UNKNOWN, NORMAL), fields(add_bos=True)
    ), ("types", "add_bos", "bos_id")),
    fault(5, "EOT is a word", "llama-spm", special(eot=306), ("eot_id",)),
    fault(5, "line breaks of the template lost", "made-spm", lambda spec: replace(
        spec, chat_template=spec.chat_template.replace("\\n", " ").replace("\n", "")
    ), ("chat_template",)),
    fault(5, "BOS and EOT exchanged, and chat template lost", "made-bpe", both(
        exchanged_roles("bos", "eos"), fields(chat_template=None)
    ), ("bos_id", "eos_id", "chat_template")),
    # Large vocabularies.
    fault(5, "merges of line breaks lost", "gemma-4", merges(
        lambda old: [merge for merge in old if len(merge.splitlines()) == 1]
    ), MERGES, JSON),
    fault(5, "spaces of added tokens as ▁", "gemma-3", respelled(
        lambda token: token.replace(" ", "▁")
    ), TOKENS, JSON),

    # Sixth table: slips of scripts that edit, merge, prune and quantize vocabularies. None is in a vocabulary for which
    # the intact file and its reference differ; nor is any fault of the seventh table.
    # Byte-level BPE.
    fault(6, "the last merge and the name of the pre-tokenizer lost", "gpt-2", both(
        merges(lambda old: old[:-1]), fields(pre=None)
    ), ("pre", "merges"), JSON),
    fault(6, "line break and tab swapped", "gpt-2", swapped(("Ċ", "ĉ")), TOKENS, JSON),
    fault(6, "merges sorted by length", "gpt-2", merges(lambda old: sorted(old, key=len)), MERGES, JSON),
    fault(6, "merges of a word pruned", "gpt-2", merges(without("ation")), MERGES, JSON),
    fault(6, "merges with Ġ as a space", "gpt-2", merges(
        lambda old: [merge.replace("Ġ", " ") for merge in old]
    ), MERGES, JSON),
    fault(6, "a block of merges moved to the front", "gpt-2", merges(
        lambda old: [*old[20_000:20_500], *old[:20_000], *old[20_500:]]
    ), MERGES, JSON),
    fault(6, "the end of the text typed NORMAL, and EOS lost", "gpt-2", both(
        retype("<|endoftext|>", NORMAL), lost_roles("eos")
    ), ("types", "eos_id"), JSON),
    fault(6, "a range of ids sorted", "qwen2", sorted_part(30_000, 31_000), TOKENS),
    fault(6, "pre deepseek-v3", "qwen2", fields(pre="deepseek-v3"), ("pre",)),
    fault(6, "EOS begins a turn, and BOS on", "qwen2", both(
        special(eos=151_644, bos=151_643), fields(add_bos=True)
    ), ("eos_id", "bos_id", "add_bos")),
    fault(6, "one marker lost, another typed NORMAL", "qwen2", both(
        one_lost("<|im_end|>"), retype("<|im_start|>", NORMAL)
    ), (*TOKENS, "types")),
    # SPM.
    fault(6, "scores of words doubled", "llama-spm", scaled(2.0, "▁"), SCORES, MODEL),
    fault(6, "scores without their signs in a range", "llama-spm", scores(
        part(1000, 1500, lambda some: list(map(abs, some)))
    ), SCORES, JSON),
    fault(6, "two scores exchanged", "llama-spm", exchanged_scores("▁the", "▁statement"), SCORES, MODEL),
    fault(6, "normal and byte types exchanged", "llama-spm", exchanged_types(NORMAL, BYTE), TYPES, JSON),
    fault(6, "the unknown token typed CONTROL, and <s> lost", "llama-spm", both(
        retype("<unk>", CONTROL), one_lost("<s>")
    ), (*TOKENS, "types"), JSON),
    fault(6, "BOS off, EOS on, and no space prefix", "llama-spm", fields(
        add_bos=False, add_eos=True, add_space_prefix=False
    ), ("add_bos", "add_eos", "add_space_prefix"), JSON),
    fault(6, "long runs of line breaks as carriage returns", "gemma-3", respelled(
        lambda token: token.replace("\n", "\r") if len(token) >= 20 else token
    ), TOKENS, JSON),
    fault(6, "tabs typed CONTROL, and turn markers swapped", "gemma-3", both(
        retyped(USER_DEFINED, CONTROL, where=lambda id, token: set(token) == {"\t"}),
        swapped(("<start_of_turn>", "<end_of_turn>")),
    ), (*TOKENS, "types"), JSON),
    # Gemma 4.
    fault(6, "merges of spaces lost", "gemma-4", merges(without("▁▁")), MERGES, JSON),
    fault(6, "a part of the merges in reverse", "gemma-4", merges(
        reverse_slice(1000, 3000)
    ), MERGES, JSON),
    # WordPiece.
    fault(6, "Greek pieces lost", "bert-bge", respelled(
        lambda token: f"[{token}]" if "α" in token else token
    ), TOKENS),
    fault(6, "[CLS] and [SEP] exchanged as texts", "bert-bge", swapped(("[CLS]", "[SEP]")), (*TOKENS, "bos_id")),
    fault(6, "word starts swapped with continuations", "bert-bge", swapped(
        ("▁a", "a"), ("▁is", "is"), ("▁on", "on")
    ), TOKENS),
    # Unigram.
    fault(6, "scores of words scaled", "t5", scaled(1.5, "▁"), SCORES),
    fault(6, "extra ids typed NORMAL, and extra spaces kept", "t5", both(
        retyped(USER_DEFINED, NORMAL), fields(remove_extra_whitespaces=False)
    ), ("types", "remove_extra_whitespaces")),
    fault(6, "<mask> typed NORMAL, and two words swapped", "nomic-bert-moe", both(
        retype("<mask>", NORMAL), swapped(("▁the", "▁and"))
    ), (*TOKENS, "types")),
    fault(6, "BOS and EOS exchanged, and a name that strips spaces", "nomic-bert-moe", both(
        exchanged_roles("bos", "eos"), named("phi3")
    ), ("bos_id", "eos_id", "name")),
    # Others.
    fault(6, "one byte lost", "made-rwkv", one_lost(r"\x41"), TOKENS),
    fault(6, "two scores exchanged, and the unknown token typed NORMAL", "made-unigram", both(
        scores(reverse_slice(40, 60)), retyped(UNKNOWN, NORMAL)
    ), (*SCORES, "types")),

    # Seventh table: kinds that the others lack, most of them in real vocabularies, and two at a time. They follow
    # vocabularies that were merged, extended and pruned, files that went through another character set, a trimming
    # editor or a machine of the other byte order, and keys that were dropped.
    # Byte-level BPE.
    fault(7, "rare tokens pruned", "gpt-2", pruned(45_000), TOKENS, JSON),
    fault(7, "merges as lists", "gpt-2", merges(lambda old: list(map(as_list, old))), MERGES, JSON),
    fault(7, "merges made anew from the tokens", "gpt-2", all_splits, MERGES, JSON),
    fault(7, "a byte order mark before the first merge", "gpt-2", merges(
        lambda old: [f"\ufeff{old[0]}", *old[1:]]
    ), MERGES, JSON),
    fault(7, "long tokens cut", "gpt-2", if_free(lambda token: token[:_LONGEST]), TOKENS, JSON),
    fault(7, "words and their merges added", "gpt-2", extended("Ġtoken izer", "Ġquant ization"), (
        *TOKENS, "merges"
    ), JSON),
    fault(7, "a token stored twice", "gpt-2", overwritten(1000, 1001, 1), TOKENS, JSON),
    fault(7, "more types than tokens", "gpt-2", types(lambda old: [*old, *[NORMAL] * 47]), TYPES, JSON),
    fault(7, "model llama", "gpt-2", fields(model="llama"), ("model", "pre", "scores"), JSON),
    fault(7, "space prefix on", "gpt-2", fields(add_space_prefix=True), ("add_space_prefix",), JSON),
    fault(7, "all special ids lost", "qwen2", lost_roles("bos", "eos", "pad"), ("bos_id", "eos_id", "pad_id")),
    fault(7, "padding tokens typed NORMAL, and padding is the end of a turn", "qwen2", both(
        retyped(USER_DEFINED, NORMAL, where=has("[PAD")), special(pad=151_645)
    ), ("types", "pad_id")),
    fault(7, "turn markers for placeholders, and BOS on", "mpt", both(
        renamed_padding("<|im_start|>", "<|im_end|>"), fields(add_bos=True)
    ), (*TOKENS, "add_bos")),
    fault(7, "added tokens in the byte-level alphabet", "made-bpe", added_in_byte_alphabet, TOKENS),
    fault(7, "the end of a turn typed NORMAL, and not in the template", "made-bpe", both(
        retype("<|end|>", NORMAL),
        in_template("<|end|>", ""),
    ), ("types", "chat_template")),
    fault(7, "the template stored under a name", "made-bpe", named_template("tool_use"), ("chat_template",)),
    # SPM.
    fault(7, "ordinary tokens typed UNDEFINED", "llama-spm", retyped(NORMAL, 0), TYPES, JSON),
    fault(7, "fewer scores than tokens", "llama-spm", scores(lambda old: old[:-500]), SCORES, MODEL),
    fault(7, "a score that is not a number", "llama-spm", one_score("▁the", float("nan")), SCORES, MODEL),
    fault(7, "a range of tokens overwritten by another", "llama-spm", overwritten(20_000, 21_000, 64), TOKENS, JSON),
    fault(7, "model t5", "llama-spm", fields(model="t5"), ("model",), JSON),
    fault(7, "characters as surrogate pairs", "gemma-3", respelled(as_surrogate_pairs), TOKENS),
    fault(7, "runs of white space trimmed", "gemma-3", respelled(
        lambda token: token.strip() if len(token) > 1 else token
    ), TOKENS),
    fault(7, "EOS on, and CONTROL typed UNKNOWN", "gemma-3", both(
        fields(add_eos=True), retyped(CONTROL, UNKNOWN)
    ), ("types", "add_eos")),
    fault(7, "two blocks of scores exchanged, and added white space typed CONTROL", "made-spm", both(
        scores(lambda old: [*old[:300], *old[600:800], *old[500:600], *old[300:500], *old[800:]]),
        retyped(USER_DEFINED, CONTROL, where=is_white_space),
    ), ("scores", "types")),
    # Gemma 4.
    fault(7, "space prefix on, and EOS is BOS", "gemma-4", both(
        fields(add_space_prefix=True), special(eos=2)
    ), ("add_space_prefix", "eos_id"), JSON),
    fault(7, "merges of words lost, and byte tokens in pairs exchanged", "made-gemma4", both(
        merges(lambda old: [merge for merge in old if not merge.startswith("▁ ")]),
        lambda spec: replace(spec, tokens=part(*byte_range(list(spec.tokens)), lambda some: [
            some[number ^ 1] for number in range(len(some))
        ])(list(spec.tokens))),
    ), (*TOKENS, "merges")),
    # WordPiece.
    fault(7, "special tokens in lower case", "bert-bge", respelled(
        lambda token: token.lower() if token.startswith("[") else token
    ), TOKENS),
    fault(7, "lowercase off, and [UNK] typed NORMAL", "bert-bge", both(
        fields(lowercase=False), retype("[UNK]", NORMAL)
    ), ("lowercase", "types")),
    # Unigram.
    fault(7, "the charsmap of another normalizer", "t5", other_charsmap("nmt_nfkc_cf"), ("charsmap",)),
    fault(7, "the charsmap in the other byte order", "t5", in_other_byte_order, ("charsmap",)),
    fault(7, "extra ids before the pieces", "t5", reordered(extra_ids_first), TOKENS),
    fault(7, "punctuation typed NORMAL, and no space prefix", "xlnet", both(
        retyped(USER_DEFINED, NORMAL), fields(add_space_prefix=False)
    ), ("types", "add_space_prefix")),
    fault(7, "the order of the .model", "nomic-bert-moe", reordered(sentencepiece_order), TOKENS),
    fault(7, "all flags lost, and BOS and the unknown token", "nomic-bert-moe", both(
        fields(add_bos=None, add_eos=None, add_space_prefix=None, remove_extra_whitespaces=None),
        lost_roles("bos", "unk"),
    ), ("add_bos", "add_eos", "add_space_prefix", "remove_extra_whitespaces", "bos_id", "unk_id")),
    # Others.
    fault(7, "escapes escaped again", "made-rwkv", respelled(lambda token: token.replace("\\", "\\\\")), TOKENS),
    fault(7, "an infinite score, and EOS on", "made-plamo", both(
        one_score("the", float("inf")), fields(add_eos=True)
    ), ("scores", "add_eos")),
    fault(7, "scores rounded down, EOS off, and words swapped", "made-unigram", all_of(
        all_scores(0.5), fields(add_eos=False), swapped(("▁the", "▁and"))
    ), (*TOKENS, "add_eos")),

    # Eighth table: accidents of kinds that the first seven tables lack, and up to three at a time. They follow public
    # reports: tokens that were double-encoded, decoded with replacement characters or normalized in part, vocabularies
    # and merges of two models mixed, scores stored in 16 bits, added tokens in another order or overlapping, keys and
    # templates of a sibling model.
    # Byte-level BPE.
    fault(8, "merges learned again", "made-bpe", retrained, MERGES),
    fault(8, "added tokens in reverse order", "made-bpe", reordered(added_in_reverse), (*TOKENS, "bos_id", "eos_id")),
    fault(8, "every third merge with a tab", "made-bpe", merges(lambda old: [
        merge if rank % 3 else merge.replace(" ", "\t") for rank, merge in enumerate(old)
    ]), MERGES),
    fault(8, "an added token that contains another", "made-bpe", appended(
        "<|turn|>assistant", "<tool", type=USER_DEFINED
    ), TOKENS),
    fault(8, "chat template of a sibling", "made-bpe", in_template("assistant", "model"), ("chat_template",)),
    fault(8, "pre of a sibling", "made-bpe", fields(pre="qwen35"), PRE),
    fault(8, "EOS off by one, turn markers typed USER_DEFINED, and the template escaped", "made-bpe", all_of(
        special(eos=1159), retyped(CONTROL, USER_DEFINED, where=has("<|t")), in_template("<|turn|>", "&lt;|turn|&gt;")
    ), ("eos_id", "types", "chat_template")),
    fault(8, "merges of another vocabulary", "gpt-2", merges_of("qwen2", 50_000), MERGES, JSON),
    fault(8, "columns of merges off by one from some rank", "gpt-2", merges(
        part(30_000, 50_000, columns_off_by_one)
    ), MERGES, JSON),
    fault(8, "pieces decoded with replacement characters", "gpt-2", if_free(with_replacement_characters), TOKENS, JSON),
    fault(8, "pre falcon, merges with </w> in part, and EOS on", "gpt-2", all_of(
        fields(pre="falcon"), merges(part(100, 200, lambda some: [f"{merge}</w>" for merge in some])),
        fields(add_eos=True),
    ), ("pre", "merges", "add_eos"), JSON),
    fault(8, "pieces encoded twice in part", "qwen2", in_range(100_000, 120_000, encoded_twice), TOKENS),
    fault(8, "markers off by one", "qwen2", shifted(151_643, 151_647), TOKENS),
    fault(8, "words capitalized in part", "mpt", in_range(20_000, 30_000, str.title), TOKENS),
    # SPM.
    fault(8, "byte tokens once more", "made-spm", lambda spec: appended(
        *(token for token in spec.tokens if token.startswith("<0x")), type=BYTE
    )(spec), TOKENS),
    fault(8, "flags turned, and BOS is the padding", "made-spm", both(
        fields(add_bos=False, add_eos=True), special(bos=5)
    ), ("add_bos", "add_eos", "bos_id")),
    fault(8, "the image marker ends turns", "made-spm", respelled(
        lambda token: token.replace("<|image|>", "<|eot_id|>")
    ), TOKENS),
    fault(8, "the template begins with BOS twice", "made-spm", in_template(
        "{{ bos_token }}", "{{ bos_token }}{{ bos_token }}"
    ), ("chat_template",)),
    fault(8, "padding to a multiple, typed NORMAL", "made-spm", appended(*padding(16), type=NORMAL), TOKENS),
    fault(8, "scores in bfloat16", "llama-spm", scores(lambda old: list(map(in_bfloat16, old))), SCORES, MODEL),
    fault(8, "tokens of another vocabulary in part", "llama-spm", tokens_of("t5", 20_000, 22_000), TOKENS, JSON),
    fault(8, "pieces read as Latin-1 in part", "llama-spm", in_range(29_000, 32_000, misread), TOKENS, MODEL),
    fault(8, "types rotated", "gemma-3", other_types({
        CONTROL: USER_DEFINED, USER_DEFINED: UNUSED, BYTE: NORMAL, UNKNOWN: CONTROL
    }), TYPES, JSON),
    fault(8, "Hangul decomposed in part", "gemma-3", in_range(200_000, 262_144, decomposed), TOKENS, JSON),
    fault(8, "invisible characters lost, and runs of spaces off by one", "gemma-3", both(
        if_free(without_invisible), shifted(138, 168)
    ), TOKENS, JSON),
    # Gemma 4.
    fault(8, "merges in the order of ids, words typed UNUSED, and BOS off", "made-gemma4", all_of(
        in_order_of_ids, retyped(NORMAL, UNUSED, where=has("er")), fields(add_bos=False)
    ), ("merges", "types", "add_bos")),
    # WordPiece.
    fault(8, "lowercase on, words swapped, and [SEP] typed NORMAL", "made-wordpiece", all_of(
        fields(lowercase=True), swapped(("▁the", "▁and")), retype("[SEP]", NORMAL)
    ), (*TOKENS, "lowercase")),
    fault(8, "pieces with ## in part", "bert-bge", respelled(
        lambda token: f"##{token}" if len(token) > 3 and token.isalpha() and token.isascii() else token
    ), TOKENS),
    # Unigram.
    fault(8, "the end of the charsmap lost", "made-unigram", lambda spec: replace(
        spec, charsmap=spec.charsmap[:-2000]
    ), ("charsmap",)),
    fault(8, "scores lowered by one, and EOS is the padding", "made-unigram", both(
        scores(lambda old: [score - 1 for score in old]), special(eos=0)
    ), ("scores", "eos_id")),
    fault(8, "scores of words lowered", "t5", lambda spec: replace(spec, scores=[
        score - (0.25 if is_word(id, token) else 0.0)
        for id, (token, score) in enumerate(zip(spec.tokens, spec.scores, strict=True))
    ]), SCORES),
    fault(8, "the charsmap of a sibling, and words in lower case", "xlnet", both(
        charsmap_of("made-unigram"), in_range(20_000, 32_000, str.lower)
    ), (*TOKENS, "charsmap")),
    fault(8, "scores in bfloat16, and the last tokens lost", "nomic-bert-moe", both(
        scores(lambda old: list(map(in_bfloat16, old))), cut_tokens(46)
    ), (*SCORES, "added")),
    # Others.
    fault(8, "bytes as characters", "made-rwkv", respelled(bytes_as_characters), TOKENS),
    fault(8, "spaces of words as ▁", "made-rwkv", respelled(lambda token: token.replace(" ", "▁")), TOKENS),
    fault(8, "types rotated, and every second score lost", "made-plamo", both(
        other_types({CONTROL: NORMAL, BYTE: CONTROL}),
        scores(lambda old: [0.0 if number % 2 else score for number, score in enumerate(old)]),
    ), ("types", "scores")),
    fault(8, "model llama", "made-plamo", fields(model="llama"), ("model",)),
    fault(8, "words typed BYTE", "made-plamo", retyped(NORMAL, BYTE, where=has("th")), TYPES),

    # Ninth table: what fine-tuning, merging, quantizing and editing by hand do to a tokenizer. They follow what people
    # report after such work: tokens saved twice, markers with other bars, padding in front, arrays that a script has
    # sorted or cut, and keys copied from a base model.
    # SPM.
    fault(9, "ChatML added as ordinary tokens, and EOS changed", "made-spm", appended(
        *CHATML, type=NORMAL, eos="<|im_end|>"
    ), (*TOKENS, "eos_id")),
    fault(9, "control tokens saved again", "made-spm", saved_again, TOKENS),
    fault(9, "padding in front", "made-spm", inserted(0, "<filler>"), TOKENS),
    fault(9, "added words named unused", "made-spm", respelled(
        lambda token: f"<unused_{len(token)}>" if token in {"harbor bridge", "naïveté"} else token
    ), TOKENS),
    fault(9, "tabs as spaces", "made-spm", respelled(lambda token: token.replace("\t", "▁▁▁▁▁▁▁▁")), TOKENS),
    fault(9, "scores are the ids", "made-spm", scores(lambda old: list(map(float, range(len(old))))), SCORES),
    fault(9, "scores in steps of eight", "made-spm", scores(
        lambda old: [math.floor(score / 8) * 8.0 for score in old]
    ), SCORES),
    fault(9, "no space prefix, and BOS in the template twice", "made-spm", both(
        fields(add_space_prefix=False), in_template("{{ bos_token }}", "{{ bos_token }}{{ bos_token }}")
    ), ("add_space_prefix", "chat_template")),
    fault(9, "EOS and EOT are the padding", "made-spm", special(eos=5, eot=5), ("eos_id", "eot_id")),
    fault(9, "control tokens first", "made-spm", reordered(markers_first), TOKENS),
    fault(9, "types of a range one too far", "made-spm", types(
        part(3, 40, lambda some: [some[-1], *some[:-1]])
    ), TYPES),
    fault(9, "the end of a turn typed UNUSED, and a word CONTROL", "made-spm", both(
        retype("<|end|>", UNUSED), retype("▁the", CONTROL)
    ), TYPES),
    # Byte-level BPE.
    fault(9, "pieces without the mark of a space", "made-bpe", if_free(lambda token: token.lstrip("Ġ")), TOKENS),
    fault(9, "merges with two spaces", "made-bpe", merges(
        lambda old: [each.replace(" ", "  ") for each in old]
    ), MERGES),
    fault(9, "merges in upper case", "made-bpe", merges(lambda old: [each.upper() for each in old]), MERGES),
    fault(9, "merges of e lost", "made-bpe", merges(lambda old: [each for each in old if "e" not in each]), MERGES),
    fault(9, "pre deepseek-coder", "made-bpe", fields(pre="deepseek-coder"), PRE),
    fault(9, "pre default, and EOS off by one", "made-bpe", both(fields(pre="default"), special(eos=1159)), (
        "pre", "eos_id"
    )),
    fault(9, "two of the added words typed NORMAL", "made-bpe", both(
        retype("harbor bridge", NORMAL), retype("==>", NORMAL)
    ), TYPES),
    fault(9, "markers with a space after them", "made-bpe", in_markers("|>", "|> "), TOKENS),
    fault(9, "markers with full-width bars", "made-bpe", in_markers("|", "｜"), TOKENS),
    fault(9, "the base model's end and template", "made-bpe", all_of(
        special(eos=1156), lost_roles("eot"), fields(chat_template=None)
    ), ("eos_id", "eot_id", "chat_template")),
    fault(9, "merges of a range with their halves swapped", "made-bpe", merges(
        part(300, 500, lambda some: [" ".join(each.split(" ")[::-1]) for each in some])
    ), MERGES),
    fault(9, "BOS is the end of a turn, and on", "made-bpe", both(special(bos=1158), fields(add_bos=True)), (
        "bos_id", "add_bos"
    )),
    fault(9, "a marker deleted, and padding instead at the end", "made-bpe", both(
        deleted(1159), appended("[PAD]", type=UNUSED)
    ), TOKENS),
    # Gemma 4.
    fault(9, "merges with spaces for ▁", "made-gemma4", merges(
        lambda old: [each.replace("▁", "Ġ") for each in old]
    ), MERGES),
    fault(9, "byte tokens with a capital X", "made-gemma4", respelled(
        lambda token: token.replace("<0x", "<0X") if len(token) == 6 else token
    ), TOKENS),
    fault(9, "model gpt2", "made-gemma4", fields(model="gpt2"), ("model", "pre")),
    # WordPiece.
    fault(9, "[PAD] and [UNK] exchanged as texts", "made-wordpiece", swapped(("[PAD]", "[UNK]")), TOKENS),
    fault(9, "word starts marked as in GPT-2", "made-wordpiece", respelled(
        lambda token: token.replace("▁", "Ġ")
    ), TOKENS),
    fault(9, "the separator is the beginning", "made-wordpiece", lambda spec: special(
        sep=spec.special_ids["bos"]
    )(spec), ("sep_id",)),
    fault(9, "words capitalized in part", "bert-bge", in_range(5_000, 9_000, str.title), TOKENS),
    # Unigram.
    fault(9, "scores are probabilities", "made-unigram", scores(lambda old: list(map(math.exp, old))), SCORES),
    fault(9, "the charsmap folds case", "made-unigram", other_charsmap("nmt_nfkc_cf"), ("charsmap",)),
    fault(9, "the mark of a space lost", "made-unigram", one_lost("▁"), TOKENS),
    fault(9, "a token inserted before the pieces", "made-unigram", inserted(3, "<extra>"), TOKENS),
    # Others.
    fault(9, "tokens sorted by length", "made-rwkv", reordered(by_length), TOKENS),
    fault(9, "costs instead of scores, and BOS off", "made-plamo", both(
        scores(lambda old: [-score for score in old]), fields(add_bos=False)
    ), ("scores", "add_bos")),
    fault(9, "EOS is an exclamation mark", "gpt-2", special(eos=0), ("eos_id",), JSON),
    fault(9, "merges of other scripts lost", "gpt-2", merges(
        lambda old: [each for each in old if each.isascii() or "Ġ" in each]
    ), MERGES, JSON),
    fault(9, "the line break as an escape", "llama-spm", one_lost("<0x0A>", "\\n"), TOKENS, JSON),
    fault(9, "ChatML added as user-defined tokens", "llama-spm", appended(*CHATML, type=USER_DEFINED), TOKENS, JSON),
    fault(9, "words with th typed UNUSED", "llama-spm", retyped(NORMAL, UNUSED, where=has("th")), TYPES, JSON),
)  # fmt: skip
