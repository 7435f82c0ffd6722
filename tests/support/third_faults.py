"""A third table of new faults, most of them in real vocabularies; it was committed before any of them was tried."""

from support.made_vocabulary import BYTE, CONTROL, NORMAL, UNUSED, USER_DEFINED
from support.mutation import (
    JSON,
    MODEL,
    Mutation,
    cut_tokens,
    fields,
    has,
    merges,
    respelled,
    retype,
    retyped,
    reverse_slice,
    scores,
    special,
    swapped,
)
from support.new_faults import MERGES, PRE, SCORES, TOKENS, TYPES, both, deleted, exchanged_roles, inserted, lost_roles

THIRD: tuple[Mutation, ...] = (
    Mutation("EOS is another token", "gpt-2", special(eos=0), ("eos_id",), JSON),
    Mutation("newlines as such", "gpt-2", respelled(lambda token: token.replace("Ċ", "\n")), TOKENS, JSON),
    Mutation("a range of merges reversed", "qwen2", merges(reverse_slice(1_000, 3_000)), MERGES),
    Mutation("EOS lost", "qwen2", lost_roles("eos"), ("eos_id",)),
    Mutation("pre deepseek-llm", "qwen2", fields(pre="deepseek-llm"), PRE),
    Mutation("the end of a turn typed UNUSED", "gemma-3", retype("<end_of_turn>", UNUSED), TYPES, JSON),
    Mutation("space prefix on", "gemma-3", fields(add_space_prefix=True), ("add_space_prefix",), JSON),
    Mutation("pieces with underscores", "gemma-3", respelled(lambda token: token.replace("▁", "_")), TOKENS, JSON),
    Mutation("model gpt2", "gemma-4", fields(model="gpt2"), ("model",), JSON),
    Mutation("byte tokens typed CONTROL", "llama-spm", retyped(BYTE, CONTROL), TYPES, JSON),
    Mutation("EOS and unknown exchanged", "llama-spm", exchanged_roles("eos", "unk"), ("eos_id", "unk_id"), JSON),
    Mutation("BOS and space prefix off", "llama-spm", both(
        fields(add_space_prefix=False), fields(add_bos=False)
    ), ("add_space_prefix", "add_bos"), MODEL),
    Mutation("extra ids typed NORMAL", "t5", retyped(USER_DEFINED, NORMAL), TYPES),
    Mutation("charsmap lost, and EOS off", "t5", both(fields(charsmap=None), fields(add_eos=False)), (
        "charsmap", "add_eos"
    )),
    Mutation("extra spaces kept", "xlnet", fields(remove_extra_whitespaces=False), ("remove_extra_whitespaces",)),
    Mutation("scores all zero", "xlnet", scores(lambda old: [0.0] * len(old)), SCORES),
    Mutation("[SEP] typed NORMAL", "bert-bge", retype("[SEP]", NORMAL), TYPES),
    Mutation("the last tokens missing", "bert-bge", cut_tokens(5), ("added",)),
    Mutation("a token inserted", "nomic-bert-moe", inserted(1_000, "zzz"), TOKENS),
    Mutation("model llama", "nomic-bert-moe", fields(model="llama"), ("model",)),
    Mutation("pre llama-bpe", "mpt", fields(pre="llama-bpe"), PRE),
    Mutation("words swapped", "mpt", swapped(("Ġthe", "Ġand")), TOKENS),
    Mutation("merges sorted, and EOS on", "mpt", both(merges(sorted), fields(add_eos=True)), ("merges", "add_eos")),
    Mutation("chat template of another model", "made-spm", fields(
        chat_template="{% for message in messages %}<|im_start|>{{ message['content'] }}<|im_end|>{% endfor %}"
    ), ("chat_template",)),
    Mutation("BOS and EOS exchanged", "made-plamo", exchanged_roles("bos", "eos"), ("bos_id", "eos_id")),
    Mutation("a token deleted, another inserted", "made-rwkv", both(deleted(300), inserted(500, "zz")), TOKENS),
    Mutation("unknown token typed NORMAL", "made-unigram", retype("<unk>", NORMAL), TYPES),
    Mutation("CONTROL typed NORMAL", "made-wordpiece", retyped(CONTROL, NORMAL), TYPES),
    Mutation("words typed USER_DEFINED", "made-spm", retyped(NORMAL, USER_DEFINED, where=has("ing")), TYPES),
    Mutation("BOS lost, and chat template lost", "made-bpe", both(
        lost_roles("bos"), fields(chat_template=None)
    ), ("bos_id", "chat_template", "add_bos")),
)  # fmt: skip
