"""Name the GGUF keys of a tokenizer, and those of a model that affect it.

No other module spells out key names.
"""

from __future__ import annotations

# subtle: not taken from `gguf.constants`, because importing any part of that package imports numpy, which takes longer
# than reading most vocabularies. tests/sources/gguf/test_declaration.py checks the names against the package.
MODEL = "tokenizer.ggml.model"
PRE = "tokenizer.ggml.pre"
TOKENS = "tokenizer.ggml.tokens"
SCORES = "tokenizer.ggml.scores"
TYPES = "tokenizer.ggml.token_type"
MERGES = "tokenizer.ggml.merges"
ADD_BOS = "tokenizer.ggml.add_bos_token"
ADD_EOS = "tokenizer.ggml.add_eos_token"
ADD_SEP = "tokenizer.ggml.add_sep_token"
ADD_SPACE_PREFIX = "tokenizer.ggml.add_space_prefix"
REMOVE_EXTRA_WHITESPACES = "tokenizer.ggml.remove_extra_whitespaces"
CHARSMAP = "tokenizer.ggml.precompiled_charsmap"
LOWERCASE = "tokenizer.ggml.normalizer.lowercase"
STRIP_ACCENTS = "tokenizer.ggml.normalizer.strip_accents"
NFC = "tokenizer.ggml.normalizer.nfc"
SUPPRESSED = "tokenizer.ggml.suppress_tokens"
TOKENIZER = "tokenizer."
CHAT_TEMPLATE = "tokenizer.chat_template"
CHAT_TEMPLATE_NAMES = "tokenizer.chat_templates"
HUGGINGFACE_JSON = "tokenizer.huggingface.json"
SPLIT_NO = "split.no"
SPLIT_COUNT = "split.count"
GENERAL = "general."
VOCAB_SIZE = "vocab_size"  # preceded by the architecture
POOLING_TYPE = "pooling_type"  # preceded by the architecture; 0 means none

# In llama.cpp's order: if two keys set the same role, the later one wins.
SPECIAL_IDS = (
    ("bos", "tokenizer.ggml.bos_token_id"),
    ("eos", "tokenizer.ggml.eos_token_id"),
    ("eot", "tokenizer.ggml.eot_token_id"),
    ("eom", "tokenizer.ggml.eom_token_id"),
    ("unk", "tokenizer.ggml.unknown_token_id"),
    ("sep", "tokenizer.ggml.seperator_token_id"),  # subtle: the spelling is GGUF's.
    ("pad", "tokenizer.ggml.padding_token_id"),
    ("mask", "tokenizer.ggml.mask_token_id"),
    ("fim_pre", "tokenizer.ggml.fim_pre_token_id"),
    ("fim_suf", "tokenizer.ggml.fim_suf_token_id"),
    ("fim_mid", "tokenizer.ggml.fim_mid_token_id"),
    ("fim_pad", "tokenizer.ggml.fim_pad_token_id"),
    ("fim_rep", "tokenizer.ggml.fim_rep_token_id"),
    ("fim_sep", "tokenizer.ggml.fim_sep_token_id"),
    ("fim_pre", "tokenizer.ggml.prefix_token_id"),
    ("fim_suf", "tokenizer.ggml.suffix_token_id"),
    ("fim_mid", "tokenizer.ggml.middle_token_id"),
)
ROLES_BY_KEY = {key: role for role, key in SPECIAL_IDS}
"""GGUF key -> the role whose token it declares."""
KEYS_BY_ROLE = dict(reversed(SPECIAL_IDS))
"""Role -> the GGUF key that declares its token; of several, the first one."""
