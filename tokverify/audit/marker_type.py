"""The types of markers by family of models, as their publishers declare them.

Sources: `added_tokens_decoder` in the tokenizer_config.json of the repositories that each entry names. llama.cpp's
converter (`get_vocab_base` in conversion/base.py) turns `special: true` into CONTROL, and `special: false` into
USER_DEFINED, unless the text looks special, such as `<|...|>`. Markers for infilling appear only where llama.cpp does
not recognize them by their texts, which makes them CONTROL whatever the file says (`llama_vocab::impl::load`).
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


FAMILIES = (
    MarkerFamily(
        "Qwen",
        ("<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"),
        {
            **dict.fromkeys(("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>"), CONTROL),
            **dict.fromkeys(("<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"), CONTROL),
            **dict.fromkeys(("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"), USER_DEFINED),
            **dict.fromkeys(("<think>", "</think>"), USER_DEFINED),
        },
        "Qwen/Qwen2.5-7B-Instruct, Qwen/Qwen3-8B",
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
