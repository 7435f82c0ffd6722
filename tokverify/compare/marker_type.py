"""The types of markers by family of models, as llama.cpp's converter writes them for the publisher's files.

Sources: the added tokens in the tokenizer_config.json of the repositories that each entry names. llama.cpp's converter
(`get_vocab_base` and `does_token_look_special` in conversion/base.py) turns `special: true` into CONTROL, and
`special: false` into USER_DEFINED, unless the text looks special: `<|...|>`, also with full-width bars. It has a list
of its own for Gemma 4 (`visible_tokens` in conversion/gemma.py).

Markers are left out if llama.cpp determines their types by their texts, whatever the file says: `<|tool_response>`, and
most of those of gpt-oss (`llama_vocab::impl::load`). It does the same for markers of infilling, but only if the file
does not declare their roles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tokverify.spec import TokenType

CONTROL, USER_DEFINED = TokenType.CONTROL, TokenType.USER_DEFINED


@dataclass(frozen=True, slots=True)
class MarkerFamily:
    """The markers of one family of models."""

    name: str
    sign: tuple[str, ...]
    """Tokens that only vocabularies of this family have all together."""
    types: Mapping[str, TokenType]
    source: str
    """Where the types come from."""


_PIPED_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>")

FAMILIES = (
    MarkerFamily(
        "Qwen",
        ("<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"),
        {
            **dict.fromkeys(("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>"), CONTROL),
            **dict.fromkeys(("<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"), CONTROL),
            **dict.fromkeys(("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"), USER_DEFINED),
            **dict.fromkeys(("<think>", "</think>"), USER_DEFINED),
            **dict.fromkeys(_PIPED_FIM, CONTROL),
        },
        "Qwen/Qwen2.5-7B-Instruct, Qwen/Qwen2.5-Coder-7B-Instruct, Qwen/Qwen3-8B",
    ),
    MarkerFamily(
        "Llama 3",
        ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
        dict.fromkeys(
            ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>"), CONTROL
        ),
        "meta-llama/Llama-3.1-8B-Instruct",
    ),
    MarkerFamily(
        "Gemma 2 and 3",
        ("<bos>", "<start_of_turn>", "<end_of_turn>"),
        dict.fromkeys(("<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>"), CONTROL),
        "google/gemma-2-9b-it, google/gemma-3-4b-it",
    ),
    MarkerFamily(
        "Gemma 4",
        ("<bos>", "<|turn>", "<turn|>", "<|tool_call>", "<tool_call|>"),
        {
            **dict.fromkeys(("<|turn>", "<turn|>", "<|think|>", "<|tool>", "<tool|>"), CONTROL),
            **dict.fromkeys(("<|image>", "<image|>", "<|image|>", "<|video|>"), CONTROL),
            **dict.fromkeys(("<|audio>", "<audio|>", "<|audio|>"), CONTROL),
            **dict.fromkeys(("<|tool_call>", "<tool_call|>", "<tool_response|>", '<|"|>'), USER_DEFINED),
            **dict.fromkeys(("<|channel>", "<channel|>"), USER_DEFINED),
        },
        "google/gemma-4-31B-it",
    ),
    MarkerFamily(
        "DeepSeek",
        ("<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>"),
        {
            **dict.fromkeys(("<｜User｜>", "<｜Assistant｜>", "<｜tool▁sep｜>"), CONTROL),
            **dict.fromkeys(("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"), CONTROL),
            **dict.fromkeys(("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"), CONTROL),
            **dict.fromkeys(("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"), CONTROL),
            **dict.fromkeys(("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"), CONTROL),
            **dict.fromkeys(("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"), CONTROL),
            **dict.fromkeys(("<think>", "</think>"), USER_DEFINED),
        },
        "deepseek-ai/DeepSeek-V3, deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
    ),
    MarkerFamily(
        "gpt-oss",
        ("<|start|>", "<|channel|>", "<|message|>", "<|return|>"),
        dict.fromkeys(("<|startoftext|>", "<|endofprompt|>"), CONTROL),
        "openai/gpt-oss-20b",
    ),
    MarkerFamily(
        "Phi 3 and Phi 4 mini",
        ("<|user|>", "<|assistant|>", "<|system|>", "<|end|>"),
        {
            **dict.fromkeys(("<|user|>", "<|assistant|>", "<|system|>", "<|end|>"), CONTROL),
            **dict.fromkeys(("<|tool|>", "<|/tool|>", "<|tool_call|>", "<|/tool_call|>", "<|tool_response|>"), CONTROL),
        },
        "microsoft/Phi-3-mini-4k-instruct, microsoft/Phi-4-mini-instruct",
    ),
    MarkerFamily(
        "Phi 4",
        ("<|im_start|>", "<|im_sep|>", "<|im_end|>"),
        dict.fromkeys(("<|im_start|>", "<|im_sep|>", "<|im_end|>", *_PIPED_FIM), CONTROL),
        "microsoft/phi-4",
    ),
    MarkerFamily(
        "Mistral",
        ("[INST]", "[/INST]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]"),
        dict.fromkeys(
            (
                "[INST]",
                "[/INST]",
                "[TOOL_CALLS]",
                "[AVAILABLE_TOOLS]",
                "[/AVAILABLE_TOOLS]",
                "[TOOL_RESULTS]",
                "[/TOOL_RESULTS]",
                "[IMG]",
                "[IMG_BREAK]",
                "[IMG_END]",
                "[PREFIX]",
                "[MIDDLE]",
                "[SUFFIX]",
            ),
            CONTROL,
        ),
        "mistralai/Mistral-7B-Instruct-v0.3, mistralai/Mistral-Nemo-Instruct-2407",
    ),
)
"""The families, of which a vocabulary belongs to the first whose sign it has."""


def find_marker_types(texts: Mapping[str, int]) -> Iterator[tuple[MarkerFamily, str, TokenType]]:
    """Yield the markers of a vocabulary whose types are known, with their family; `texts` maps texts to ids."""
    family = next((family for family in FAMILIES if all(text in texts for text in family.sign)), None)
    if family:
        yield from ((family, text, type) for text, type in family.types.items() if text in texts)
