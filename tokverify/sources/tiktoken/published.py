"""Look up what belongs to a vocabulary of tiktoken but is not stored in its file: the pattern and the special tokens.

Sources: `tiktoken_ext/openai_public.py` of tiktoken (OpenAI's encodings and their digests), `tokenizer.py` of
openai-whisper, `llama3/tokenizer.py` and `llama4/tokenizer.py` of llama-models, `convert_llama_weights_to_hf.py` of
transformers (the special tokens of Llama 3.0 and 3.1 in every tokenizer.json), `tokenization_qwen.py` of Qwen, and
`tokenization_kimi.py` and tokenizer_config.json of Kimi K2.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tokverify.engine.pre_pattern import COVERING
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.sources.original_pattern import CL100K, GPT2, O200K, ORIGINALS
from tokverify.text.wording import short_repr

END = "<|endoftext|>"


@dataclass(frozen=True, slots=True)
class Published:
    """What belongs to a vocabulary but is not stored in its file."""

    pattern: str
    size: int = 0
    """The number of ranks in the published file."""
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    """Text -> id, for a file with `size` ranks only."""
    digest: str = ""
    """The SHA-256 of the ranks, as `digest_of` computes it; empty if another entry has the same ranks."""
    roles: Mapping[str, str] = field(default_factory=lambda: {"bos": END, "eos": END})
    """Role -> text of its special token, if it has that one."""
    add_bos: bool = False
    """Whether the original reader begins a text with BOS."""
    pre: str | None = None
    """The `tokenizer.ggml.pre` that was named; None if it is to be found by the pattern."""


def _number(texts: Sequence[str], first: int) -> dict[str, int]:
    return {text: id for id, text in enumerate(texts, first)}


def _reserved(first: int, end: int, group: str = "") -> list[str]:
    return [f"<|{group}reserved_special_token_{number}|>" for number in range(first, end)]


_LLAMA3_ROLES = {"bos": "<|begin_of_text|>", "eos": "<|end_of_text|>", "eot": "<|eot_id|>"}
_LLAMA31_ROLES = {**_LLAMA3_ROLES, "eom": "<|eom_id|>", "pad": "<|finetune_right_pad_id|>"}
_LLAMA4_ROLES = {
    "bos": "<|begin_of_text|>",
    "eos": "<|end_of_text|>",
    "eot": "<|eot|>",
    "eom": "<|eom|>",
    "pad": "<|finetune_right_pad|>",
}
_LLAMA_BEGIN = ["<|begin_of_text|>", "<|end_of_text|>", *_reserved(0, 2)]
_HEADER = ["<|start_header_id|>", "<|end_header_id|>"]
_LLAMA3_TEXTS = [
    *_LLAMA_BEGIN,
    *("<|finetune_right_pad_id|>", "<|step_id|>", *_HEADER, "<|eom_id|>", "<|eot_id|>", "<|python_tag|>", "<|image|>"),
    *_reserved(2, 246),
]
_LLAMA30_TEXTS = [*_LLAMA_BEGIN, *_reserved(2, 4), *_HEADER, *_reserved(4, 5), "<|eot_id|>", *_reserved(5, 251)]
_LLAMA31_TEXTS = [
    *_LLAMA_BEGIN,
    *("<|finetune_right_pad_id|>", *_reserved(2, 3), *_HEADER, "<|eom_id|>", "<|eot_id|>", "<|python_tag|>"),
    *_reserved(3, 248),
]
_LLAMA4_TEXTS = [
    *("<|begin_of_text|>", "<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"),
    *("<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>", "<|step|>"),
    *(*_reserved(0, 6, "text_post_train_"), "<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>"),
    *_reserved(8, 69, "text_post_train_"),
    *("<|image_start|>", "<|image_end|>", *_reserved(0, 2, "vision_"), "<|tile_x_separator|>", "<|tile_y_separator|>"),
    *(*_reserved(2, 6, "vision_"), "<|image|>", *_reserved(6, 7, "vision_"), "<|patch|>"),
    *_reserved(7, 1048, "vision_"),
    *(*_reserved(0, 8, "reasoning_"), "<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"),
]
_LLAMA4_SIZE, _LLAMA4_SPECIAL = 200000, 2048
_LLAMA3_SIZE = 128000
_KIMI_SIZE = 163584
_KIMI_TOKENS = {
    **{f"<|reserved_token_{id}|>": id for id in (163589, 163592, 163600, *range(163602, 163838))},
    "[BOS]": 163584,
    "[EOS]": 163585,
    "[EOT]": 163593,
    "[UNK]": 163838,
    "[PAD]": 163839,
    "<|im_end|>": 163586,
    "<|im_user|>": 163587,
    "<|im_assistant|>": 163588,
    "<|im_system|>": 163594,
    "<|start_header_id|>": 163590,
    "<|end_header_id|>": 163591,
    "<|im_middle|>": 163601,
    "<|tool_calls_section_begin|>": 163595,
    "<|tool_calls_section_end|>": 163596,
    "<|tool_call_begin|>": 163597,
    "<|tool_call_argument_begin|>": 163598,
    "<|tool_call_end|>": 163599,
}
_QWEN_TEXTS = [END, "<|im_start|>", "<|im_end|>", *(f"<|extra_{number}|>" for number in range(205))]

_LANGUAGES = (
    "en", "zh", "de", "es", "ru", "ko", "fr", "ja", "pt", "tr", "pl", "ca", "nl", "ar", "sv", "it", "id", "hi",
    "fi", "vi", "he", "uk", "el", "ms", "cs", "ro", "da", "hu", "ta", "no", "th", "ur", "hr", "bg", "lt", "la",
    "mi", "ml", "cy", "sk", "te", "fa", "lv", "bn", "sr", "az", "sl", "kn", "et", "mk", "br", "eu", "is", "hy",
    "ne", "mn", "bs", "kk", "sq", "sw", "gl", "mr", "pa", "si", "km", "sn", "yo", "so", "af", "oc", "ka", "be",
    "tg", "sd", "gu", "am", "yi", "lo", "uz", "fo", "ht", "ps", "tk", "nn", "mt", "sa", "lb", "my", "bo", "tl",
    "mg", "as", "tt", "haw", "ln", "ha", "ba", "jw", "su", "yue",
)  # fmt: skip


def _whisper(first: int, languages: int) -> dict[str, int]:
    """Number the special tokens of Whisper, of which the last languages are known to newer models only."""
    names = [*_LANGUAGES[:languages], "translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    times = (f"<|{step * 0.02:.2f}|>" for step in range(1501))
    return _number([END, "<|startoftranscript|>", *(f"<|{name}|>" for name in names), *times], first)


def _llama3(texts: Sequence[str], roles: Mapping[str, str], digest: str = "") -> Published:
    return Published(ORIGINALS["llama-bpe"], _LLAMA3_SIZE, _number(texts, _LLAMA3_SIZE), digest, roles, add_bos=True)


PUBLISHED: Mapping[str, Published] = {
    "gpt2": Published(GPT2, 50256, {END: 50256}),
    "r50k_base": Published(
        GPT2,
        50256,
        {END: 50256},
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    ),
    "p50k_base": Published(
        GPT2,
        50280,
        {END: 50256},
        "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    ),
    "cl100k_base": Published(
        CL100K,
        100256,
        {
            END: 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": Published(
        O200K,
        199998,
        {END: 199999, "<|endofprompt|>": 200018},
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "llama3": _llama3(
        _LLAMA3_TEXTS, _LLAMA31_ROLES, "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55"
    ),
    "llama3.0": _llama3(_LLAMA30_TEXTS, _LLAMA3_ROLES),
    "llama3.1": _llama3(_LLAMA31_TEXTS, _LLAMA31_ROLES),
    "llama4": Published(
        O200K,
        _LLAMA4_SIZE,
        _number([*_LLAMA4_TEXTS, *_reserved(0, _LLAMA4_SPECIAL - len(_LLAMA4_TEXTS))], _LLAMA4_SIZE),
        "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed",
        _LLAMA4_ROLES,
        add_bos=True,
    ),
    "qwen": Published(
        ORIGINALS["qwen2"],
        151643,
        _number(_QWEN_TEXTS, 151643),
        "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
    ),
    "kimi-k2": Published(
        ORIGINALS["kimi-k2"],
        _KIMI_SIZE,
        _KIMI_TOKENS,
        "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103",
        {"bos": "[BOS]", "eos": "[EOS]", "unk": "[UNK]", "pad": "[PAD]"},
    ),
    "whisper": Published(
        GPT2,
        50257,
        _whisper(50257, 99),
        "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126",
    ),
    "whisper-large-v3": Published(GPT2, 50257, _whisper(50257, 100)),
    "whisper.en": Published(GPT2, 50256, _whisper(50256, 99)),
}
"""Name -> what is known of a vocabulary. Entries with equal ranks differ in the special tokens of their readers."""


def digest_of(ranks: Mapping[bytes, int]) -> str:
    """Return the SHA-256 of the ranks in the form in which they are published: in order, each line with its end."""
    digest = hashlib.sha256()
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        # Whisper's file represents the token without bytes so.
        digest.update((base64.b64encode(token) or b"=") + b" %d\n" % rank)
    return digest.hexdigest()


def find_variant(published: Published, tokens: Sequence[str]) -> str:
    """Return the name of the entry for the same ranks of whose special tokens a model has the most.

    Returns:
        The name; empty if no entry fits better than the known one.
    """

    def fits(name: str) -> tuple[int, bool]:
        entry = PUBLISHED[name]
        shared = sum(id < len(tokens) and tokens[id] == text for text, id in entry.special_tokens.items())
        return shared, entry.special_tokens == published.special_tokens

    alike = [
        name for name, each in PUBLISHED.items() if (each.size, each.pattern) == (published.size, published.pattern)
    ]
    best = max(alike, key=fits, default="")
    return "" if not best or PUBLISHED[best].special_tokens == published.special_tokens else best


def published_for(path: Path, pattern: str, ranks: Mapping[bytes, int]) -> Published:
    """Look up what belongs to a vocabulary.

    Args:
        path: The file, whose name may be that of a published one.
        pattern: A name in `PUBLISHED` or of one of llama.cpp's pre-tokenizers, a regular expression, or nothing.
        ranks: The content of the file, by whose digest it is known.

    Raises:
        UnsupportedError: If no pattern is given and the vocabulary is unknown, or tiktoken cannot use the named one.
        TokverifyError: If the pattern is an unknown name.
    """
    if pattern in PUBLISHED:
        return PUBLISHED[pattern]
    digest = digest_of(ranks)
    known = next((entry for entry in PUBLISHED.values() if entry.digest == digest), None)
    if not pattern:
        name = path.name.removesuffix(".tiktoken")
        if found := known or PUBLISHED.get(name):
            return found
        raise UnsupportedError(
            f"{path}: a tiktoken vocabulary contains no pattern; add its name, as in {path}:cl100k_base, or the "
            f"regular expression itself after the colon; {_name_choices()}"
        )
    if pattern in PRE_TOKENIZERS and PRE_TOKENIZERS[pattern].byte_level:
        return replace(known or Published(""), pattern=_pattern_of(path, pattern), pre=pattern)
    if re.fullmatch(r"[\w.-]+", pattern):
        raise TokverifyError(
            f"{path}: {short_repr(pattern)} is neither a pattern nor the name of one; {_name_choices()}"
        )
    return replace(known or Published(""), pattern=pattern)


def _pattern_of(path: Path, name: str) -> str:
    """Return the original pattern for a name of llama.cpp's, or the one that describes how llama.cpp splits.

    Raises:
        UnsupportedError: If llama.cpp needs more than one pattern.
    """
    pre_tokenizer = PRE_TOKENIZERS[name]
    for original, pattern in ORIGINALS.items():
        if PRE_TOKENIZERS[original].patterns == pre_tokenizer.patterns:
            return pattern
    only = pre_tokenizer.patterns[0]
    # subtle: tiktoken drops the text between two matches.
    if len(pre_tokenizer.patterns) > 1 or not isinstance(only, str) or only not in COVERING:
        raise UnsupportedError(
            f"{path}: llama.cpp's pre-tokenizer {name} is not one regular expression that matches everything, as "
            "tiktoken needs it; write the vocabulary's own regular expression after the colon"
        )
    return only


def _name_choices() -> str:
    return (
        f"known names: {', '.join(PUBLISHED)}; and those of llama.cpp's pre-tokenizers, such as {', '.join(ORIGINALS)}"
    )
