"""A tenth table of new faults, all in real vocabularies, and most with the references that models are published with.

The first part follows what conversion, fine-tuning, merging, editing and saving again do; the second, public reports of
files that were wrong. The table was committed before any of its faults was tried.
"""

from collections.abc import Callable, Sequence

from support.faults.spellings import as_escapes, without_accents
from support.faults.table import CHATML, TOKENS, fault
from support.faults.tokens import if_free, inserted, one_lost, overwritten, sorted_part
from support.faults.values import all_of, both, every, in_template, lost_roles, moved_roles, other_charsmap
from support.made_vocabulary import CONTROL, NORMAL, USER_DEFINED
from support.mutation import (
    FOLDER,
    JSON,
    MERGES,
    PRE,
    SCORES,
    TYPES,
    Mutate,
    Mutation,
    cut_tokens,
    fields,
    has,
    merges,
    padded,
    part,
    respelled,
    retype,
    retyped,
    scores,
    special,
    swapped,
    tokens,
)
from tokverify.engine.byte_level import from_byte_level
from tokverify.spec import TokenizerSpec


def renumbered(start: int, end: int, by: int) -> Mutate:
    """Rotate the texts of a range of ids."""
    return tokens(part(start, end, lambda some: [*some[by:], *some[:by]]))


def replaced(old: str, new: str) -> Mutate:
    return respelled(lambda token: token.replace(old, new))


def with_placeholders(is_lost: Callable[[str], bool]) -> Mutate:
    """Replace tokens by placeholders, as a script does for all that it cannot read."""
    return tokens(lambda old: [f"<dummy{id:05}>" if is_lost(token) else token for id, token in enumerate(old)])


def is_script(first: int, last: int) -> Callable[[str], bool]:
    return lambda token: any(first <= ord(char) <= last for char in token)


def in_order_of_texts(spec: TokenizerSpec) -> Sequence[float]:
    """Return the scores in the order of the texts, as a table of texts and scores that was sorted has them."""
    order = sorted(range(len(spec.tokens)), key=lambda id: spec.tokens[id])
    return [spec.scores[id] for id in order]


def bytes_first(old: list[str]) -> list[str]:
    """Number the byte tokens of GPT-2 by their bytes instead of the characters that stand for them."""
    return [*sorted(old[:256], key=from_byte_level), *old[256:]]


def starts_and_continuations_exchanged(token: str) -> str:
    return token if token.startswith("[") else token[1:] if token.startswith("▁") else f"▁{token}"


TENTH: tuple[Mutation, ...] = (
    # SPM: Llama 2.
    fault(10, "scores in the order of the texts", "llama-spm", lambda spec: scores(
        lambda old: in_order_of_texts(spec)
    )(spec), SCORES, JSON),
    fault(10, "byte tokens in decimal", "llama-spm", respelled(
        lambda token: f"<{int(token[3:5], 16)}>" if token.startswith("<0x") else token
    ), TOKENS, JSON),
    fault(10, "_ for ▁", "llama-spm", if_free(lambda token: token.replace("▁", "_")), TOKENS, JSON),
    fault(10, "no-break spaces for ▁", "llama-spm", replaced("▁", "\xa0"), TOKENS, JSON),
    fault(10, "Chinese characters as escapes", "llama-spm", respelled(
        lambda token: as_escapes(token) if is_script(0x4E00, 0x9FFF)(token) else token
    ), TOKENS, JSON),
    fault(10, "Cyrillic pieces lost", "llama-spm", with_placeholders(is_script(0x400, 0x4FF)), TOKENS, JSON),
    fault(10, "EOS on, and BOS off", "llama-spm", fields(add_bos=False, add_eos=True), ("add_bos", "add_eos"), JSON),
    fault(10, "no space prefix, and BOS off", "llama-spm", fields(add_bos=False, add_space_prefix=False), (
        "add_bos", "add_space_prefix"
    ), JSON),
    fault(10, "special ids one too high", "llama-spm", moved_roles(1), ("bos_id", "eos_id", "unk_id"), JSON),
    fault(10, "digits typed USER_DEFINED", "llama-spm", retyped(
        NORMAL, USER_DEFINED, where=lambda id, token: token.isdigit()
    ), TYPES, JSON),
    fault(10, "a token inserted after the bytes", "llama-spm", inserted(259, "<extra>"), TOKENS, JSON),
    fault(10, "the last 200 tokens lost", "llama-spm", tokens(
        part(31_800, 32_000, lambda some: [f"[PAD{id}]" for id in range(31_800, 31_800 + len(some))])
    ), TOKENS, JSON),
    # SPM: Mistral, with its .model.
    fault(10, "markers of instructions typed USER_DEFINED", "mistral-v3", retyped(
        CONTROL, USER_DEFINED, where=has("INST]")
    ), TYPES, FOLDER),
    fault(10, "control tokens with other names", "mistral-v3", respelled(
        lambda token: f"<SPECIAL_{token[9:-1]}>" if token.startswith("[control_") else token
    ), TOKENS, FOLDER),
    fault(10, "EOS is the end of an instruction", "mistral-v3", special(eos=4), ("eos_id",), FOLDER),
    fault(10, "markers in lower case", "mistral-v3", respelled(
        lambda token: token.lower() if token.startswith("[") and token.endswith("]") else token
    ), TOKENS, FOLDER),
    fault(10, "markers of tools swapped", "mistral-v3", swapped(("[TOOL_CALLS]", "[TOOL_RESULTS]")), TOKENS, FOLDER),
    fault(10, "markers in other brackets", "mistral-v3", respelled(
        lambda token: f"<{token[1:-1]}>" if token.startswith("[") and token.endswith("INST]") else token
    ), TOKENS, FOLDER),
    fault(10, "markers moved by one", "mistral-v3", renumbered(3, 14, 1), TOKENS, FOLDER),
    # Byte-level BPE: GPT-2.
    fault(10, "every hundredth merge lost", "gpt-2", merges(every(100)), MERGES, JSON),
    fault(10, "upper and lower case exchanged", "gpt-2", respelled(
        lambda token: token.swapcase() if token.lstrip("Ġ").isascii() and not token.startswith("<|") else token
    ), TOKENS, JSON),
    fault(10, "pre gpt-4o", "gpt-2", fields(pre="gpt-4o"), PRE, JSON),
    fault(10, "pre qwen2, and BOS on", "gpt-2", fields(pre="qwen2", add_bos=True), ("pre", "add_bos"), JSON),
    fault(10, "Ċ written as a line break", "gpt-2", replaced("Ċ", "\n"), TOKENS, JSON),
    fault(10, "a range of tokens twice", "gpt-2", overwritten(5_000, 6_000, 20), TOKENS, JSON),
    fault(10, "padding before the end of the text", "gpt-2", all_of(
        *(inserted(50_256 + number, f"<pad{number}>") for number in range(47))
    ), (*TOKENS, "bos_id", "eos_id"), JSON),
    fault(10, "merges from some rank sorted", "gpt-2", merges(part(20_000, 30_000, sorted)), MERGES, JSON),
    fault(10, "merges with carriage returns", "gpt-2", merges(lambda old: [each + "\r" for each in old]), MERGES, JSON),
    fault(10, "a byte order mark in the first token", "gpt-2", one_lost("!", "\ufeff!"), TOKENS, JSON),
    fault(10, "bytes in their own order", "gpt-2", tokens(bytes_first), TOKENS, JSON),
    # Byte-level BPE: MPT, whose runs of spaces are added tokens.
    fault(10, "runs of spaces typed CONTROL", "mpt", retyped(USER_DEFINED, CONTROL), TYPES, JSON),
    fault(10, "runs of spaces in the byte alphabet", "mpt", respelled(
        lambda token: "Ġ" * len(token) if not token.strip(" ") else token
    ), TOKENS, JSON),
    fault(10, "runs of spaces lost", "mpt", padded(*(" " * count for count in range(2, 25))), TOKENS, JSON),
    fault(10, "pre gpt-2", "mpt", fields(pre="gpt-2"), PRE, JSON),
    # Byte-level BPE: Qwen, with the folder of its reference.
    fault(10, "ChatML typed USER_DEFINED", "qwen2", retyped(CONTROL, USER_DEFINED, where=has("<|im_")), TYPES),
    fault(10, "merges of Chinese lost", "qwen2", merges(
        lambda old: [each for each in old if each[0] not in "äåæçèé"]
    ), MERGES),
    fault(10, "thoughts typed NORMAL", "qwen3", retyped(USER_DEFINED, NORMAL, where=has("think>")), TYPES, FOLDER),
    fault(10, "thoughts lost", "qwen3", padded("<think>", "</think>"), TOKENS, FOLDER),
    fault(10, "markers of tools typed CONTROL", "qwen3", retyped(USER_DEFINED, CONTROL), TYPES, FOLDER),
    fault(10, "EOS of the base model", "qwen3", special(eos=151643), ("eos_id",), FOLDER),
    fault(10, "BOS on", "qwen3", fields(add_bos=True), ("add_bos",), FOLDER),
    fault(10, "the template ends turns as Llama 3 does", "qwen3", in_template("<|im_end|>", "<|eot_id|>"), (
        "chat_template",
    ), FOLDER),
    fault(10, "markers of images moved by one", "qwen3", renumbered(151_646, 151_657, 1), TOKENS, FOLDER),
    fault(10, "pre missing", "qwen3", fields(pre=None), PRE, FOLDER),
    # Byte-level BPE: Llama 3.
    fault(10, "reserved tokens typed NORMAL", "llama3_1", retyped(
        CONTROL, NORMAL, where=has("reserved")
    ), TYPES, FOLDER),
    fault(10, "markers of headers swapped", "llama3_1", swapped(("<|start_header_id|>", "<|end_header_id|>")), TOKENS,
        FOLDER),
    fault(10, "the first ten merges lost", "llama3_1", merges(lambda old: old[10:]), MERGES, FOLDER),
    fault(10, "reserved tokens moved", "llama3_1", renumbered(128_010, 128_256, 5), TOKENS, FOLDER),
    fault(10, "pre gpt-2", "llama3_1", fields(pre="gpt-2"), PRE, FOLDER),
    fault(10, "BOS off, and EOS of the base model", "llama3_1", both(fields(add_bos=False), special(eos=128_001)), (
        "add_bos", "eos_id"
    ), FOLDER),
    fault(10, "no template", "llama3_1", fields(chat_template=None), ("chat_template",), FOLDER),
    # WordPiece.
    fault(10, "[CLS] is [PAD]", "bert-bge", special(bos=0), ("bos_id",)),
    fault(10, "case and accents kept", "bert-bge", fields(lowercase=False, strip_accents=False), (
        "lowercase", "strip_accents"
    )),
    fault(10, "starts of words and continuations exchanged", "bert-bge", respelled(
        starts_and_continuations_exchanged
    ), TOKENS),
    fault(10, "accents lost", "bert-bge", if_free(without_accents), TOKENS),
    fault(10, "reserved tokens typed CONTROL", "bert-bge", retyped(NORMAL, CONTROL, where=has("[unused")), TYPES),
    fault(10, "tokens sorted", "bert-bge", sorted_part(1_996, 30_522), TOKENS),
    fault(10, "EOS off", "minilm", fields(add_eos=False), ("add_eos",), FOLDER),
    fault(10, "[CLS] and [SEP] exchanged as texts", "minilm", swapped(("[CLS]", "[SEP]")), TOKENS, FOLDER),
    fault(10, "unknown words are padding", "minilm", special(unk=0), ("unk_id",), FOLDER),
    # Unigram.
    fault(10, "scores of the rare pieces lost", "t5", scores(
        part(20_000, 32_000, lambda some: [0.0] * len(some))
    ), SCORES),
    fault(10, "extra ids typed NORMAL", "t5", retyped(USER_DEFINED, NORMAL), TYPES),
    fault(10, "the charsmap folds case", "t5", other_charsmap("nmt_nfkc_cf"), ("charsmap",)),
    fault(10, "no space prefix, and EOS off", "t5", fields(add_space_prefix=False, add_eos=False), (
        "add_space_prefix", "add_eos"
    )),
    fault(10, "model llama", "t5", fields(model="llama"), ("model",)),
    fault(10, "<mask> typed NORMAL", "nomic-bert-moe", retype("<mask>", NORMAL), TYPES),
    fault(10, "<s> and <pad> exchanged as texts", "nomic-bert-moe", swapped(("<s>", "<pad>")), TOKENS),
    fault(10, "BOS and EOS off", "nomic-bert-moe", fields(add_bos=False, add_eos=False), ("add_bos", "add_eos")),
    # Public reports, by project and number.
    fault(10, "llama.cpp 4331: ChatML written as padding", "qwen3", padded(*CHATML), TOKENS, FOLDER),
    fault(10, "llama.cpp 8682: the last added tokens lost", "qwen3", cut_tokens(151_936 - 151_665), TOKENS, FOLDER),
    fault(10, "llama.cpp 2981: padding is -1", "llama-spm", special(pad=2**32 - 1), ("pad_id",), JSON),
    fault(10, "llama.cpp 3732: a merging tokenizer written as SPM without merges", "qwen2", fields(
        model="llama", merges=None
    ), ("model", "merges", "scores")),
    fault(10, "llama.cpp 3743: a malformed line of merges ignored", "qwen2", merges(lambda old: old[:-1]), MERGES),
    fault(10, "llama.cpp 8990: EOS after every prompt", "qwen3", fields(add_eos=True), ("add_eos",), FOLDER),
    fault(10, "llama.cpp 18475: ids of another BERT", "minilm", special(eos=103, unk=101, sep=103, mask=104), (
        "eos_id", "unk_id", "sep_id", "mask_id"
    ), FOLDER),
    fault(10, "llama.cpp 14044: another marker ends the text", "qwen3", special(eos=151_649), ("eos_id",), FOLDER),
    fault(10, "llama.cpp 7102: ids of filling in exchanged", "qwen3", special(
        fim_pre=151_661, fim_mid=151_659, fim_suf=151_660
    ), ("fim_pre_id", "fim_mid_id", "fim_suf_id"), FOLDER),
    fault(10, "mergekit 428: markers named unused", "qwen3", respelled(
        lambda token: {"<|im_start|>": "<|unused115|>", "<|im_end|>": "<|unused026|>"}.get(token, token)
    ), TOKENS, FOLDER),
    fault(10, "mergekit 469: no merges", "llama3_1", fields(merges=None), MERGES, FOLDER),
    fault(10, "node-llama-cpp 169: control tokens are placeholders", "mistral-v3", with_placeholders(
        lambda token: token.startswith("[") and token.endswith("]") and len(token) > 3
    ), TOKENS, FOLDER),
    fault(10, "textgen 6119: no key of BOS", "qwen3", lost_roles("bos"), ("bos_id",), FOLDER),
    fault(10, "unsloth 6229: markers of tools typed USER_DEFINED", "gemma-4", retyped(
        CONTROL, USER_DEFINED, where=has("tool")
    ), TYPES, JSON),
)  # fmt: skip
