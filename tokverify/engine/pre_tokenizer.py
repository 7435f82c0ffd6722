"""Pre-tokenizers: cutting a text into the chunks that byte-pair encoding works on.

`PRE_TOKENIZERS` maps each `tokenizer.ggml.pre` name to its patterns and to the settings llama.cpp derives from the
name. Patterns apply one after the other, each to the chunks the one before left: a chunk is cut into the matches
and whatever lies between them.

Source: `llm_tokenizer_bpe` in llama.cpp's `src/llama-vocab.cpp` and `unicode_regex_split` in `src/unicode.cpp`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from tokverify.engine import pre_pattern as pattern
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.unicode_version import blank_unassigned, has_unassigned

Cutter = Callable[[str], list[str]]
"""Cuts a chunk into parts that tile it."""


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """The patterns of a pre-tokenizer, and what its name implies for the rest of the pipeline.

    `byte_level` maps each byte of a chunk to a character of the GPT-2 alphabet. `has_bos` is False where the name
    takes away the model's default BOS id. `newline_pieces` takes a chunk of newlines that is itself a piece as one
    token; `always_bos` puts BOS before the text whatever the file says; `keeps_case` turns lowercasing off.
    """

    patterns: tuple[str | Cutter, ...]
    byte_level: bool = True
    escape_whitespaces: bool = False
    ignore_merges: bool = False
    clean_spaces: bool = True
    add_bos: bool = False
    add_sep: bool = False
    has_bos: bool = True
    newline_pieces: bool = False
    always_bos: bool = False
    keeps_case: bool = False


def cut_digit_groups(chunk: str) -> list[str]:
    """Cut numbers into groups of three digits, counted from the right.

    subtle: what stands before a number stays with its first group, as in `unicode_regex_split_custom_afmoe`.
    """
    parts = []
    done = 0
    for start, end in (match.span() for match in _numbers().finditer(chunk)):
        first = start + ((end - start) % 3 or 3)
        parts += [chunk[done:first], *(chunk[index : index + 3] for index in range(first, end, 3))]
        done = end
    return [*parts, chunk[done:]] if done < len(chunk) else parts


def cut_spaced_words(line: str) -> list[str]:
    """Cut a line before each escaped space, having put one before it if it has none: the parts need not tile the line.

    A run of newlines is left alone. Source: the case of mmbert in `llm_tokenizer_bpe_session::tokenize`.
    """
    if line.startswith("\n"):
        return [line]
    return re.findall(f"{ESCAPED_SPACE}[^{ESCAPED_SPACE}]*", line if line[0] == ESCAPED_SPACE else ESCAPED_SPACE + line)


DEFAULT = PreTokenizer(
    (pattern.DEFAULT_PUNCTUATION, pattern.GPT2, pattern.DIGITS, pattern.THREE_ASCII_DIGITS),
)
_GPT2 = (pattern.GPT2,)
_DIGIT_GPT2 = (pattern.DIGIT, pattern.GPT2)
_DEEPSEEK3 = (pattern.UP_TO_3_DIGITS, pattern.DEEPSEEK3_CJK, pattern.DEEPSEEK3)
_GEMMA4 = PreTokenizer(
    (pattern.LINES,), byte_level=False, escape_whitespaces=True, newline_pieces=True, always_bos=True
)
_GROUPS: tuple[tuple[str, PreTokenizer], ...] = (
    ("default", DEFAULT),
    (
        "gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert exaone4",
        PreTokenizer(_GPT2),
    ),
    ("mpt olmo jais", PreTokenizer(_GPT2)),
    ("jina-v1-en jina-v2-code roberta-bpe", PreTokenizer(_GPT2, add_sep=True)),
    ("trillion granite-docling", PreTokenizer(_GPT2, clean_spaces=False)),
    ("starcoder refact codeshell exaone minerva-7b mellum2", PreTokenizer(_DIGIT_GPT2)),
    ("command-r smollm", PreTokenizer(_DIGIT_GPT2, clean_spaces=False)),
    ("dbrx smaug-bpe", PreTokenizer((pattern.LLAMA3,))),
    ("chatglm-bpe", PreTokenizer((pattern.LLAMA3,), has_bos=False)),
    ("glm4 glm5", PreTokenizer((pattern.LLAMA3,), has_bos=False, ignore_merges=True)),
    (
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
        PreTokenizer((pattern.LLAMA3,), ignore_merges=True, add_bos=True),
    ),
    ("jais-2", PreTokenizer((pattern.JAIS2,))),
    ("stablelm2", PreTokenizer((pattern.QWEN2,))),
    (
        "qwen2 deepseek-r1-qwen kormo f2llmv2 hunyuan solar-open grok-2",
        PreTokenizer((pattern.QWEN2,), clean_spaces=False),
    ),
    ("megrez", PreTokenizer((pattern.QWEN2,))),
    ("qwen35", PreTokenizer((pattern.QWEN35,), clean_spaces=False)),
    ("ufakzeka", PreTokenizer((pattern.UFAKZEKA,), clean_spaces=False)),
    ("laguna", PreTokenizer((pattern.LINES, pattern.QWEN2), clean_spaces=False)),
    ("minicpm5", PreTokenizer((pattern.UP_TO_3_DIGITS, pattern.MINICPM5), ignore_merges=True)),
    ("bailingmoe bailingmoe2 llada-moe", PreTokenizer((pattern.BAILINGMOE,), clean_spaces=False)),
    ("seed-coder", PreTokenizer((pattern.SEED_CODER,), clean_spaces=False)),
    ("exaone-moe", PreTokenizer((pattern.EXAONE_MOE,))),
    ("kimi-k2", PreTokenizer((pattern.KIMI_K2,), clean_spaces=False)),
    ("k2-horizon", PreTokenizer((pattern.K2_HORIZON,), clean_spaces=False)),
    ("tekken", PreTokenizer((pattern.TEKKEN,), clean_spaces=False, ignore_merges=True, add_bos=True)),
    ("gpt-4o llama4 kanana2 talkie minimax-m2", PreTokenizer((pattern.GPT4O,), clean_spaces=False)),
    ("granite-embed-multi-97m", PreTokenizer((pattern.GRANITE_EMBED,), clean_spaces=False, ignore_merges=True)),
    ("tiny_aya cohere2moe", PreTokenizer((cut_digit_groups, pattern.TINY_AYA), clean_spaces=False)),
    ("youtu", PreTokenizer((pattern.YOUTU_SCRIPTS, pattern.YOUTU), clean_spaces=False, ignore_merges=True)),
    ("deepseek-v3 hunyuan-dense hy_v4 joyai-llm", PreTokenizer(_DEEPSEEK3, clean_spaces=False)),
    (
        "spark2_5",
        PreTokenizer(
            (pattern.UP_TO_3_DIGITS, pattern.DEEPSEEK3_CJK, pattern.SPARK2_5, pattern.DIGIT), clean_spaces=False
        ),
    ),
    (
        "deepseek-llm",
        PreTokenizer(
            (
                pattern.LINE_END,
                pattern.DEEPSEEK_WORD,
                pattern.DEEPSEEK_PUNCTUATION,
                pattern.TRAILING_SPACE,
                pattern.DEEPSEEK_CJK,
                pattern.DIGITS,
            ),
            clean_spaces=False,
        ),
    ),
    (
        "deepseek-coder",
        PreTokenizer(
            (
                pattern.LINE_END,
                pattern.SPACE_AND_LETTERS,
                pattern.SPACE_AND_PUNCTUATION,
                pattern.DEEPSEEK_CJK,
                pattern.DIGIT,
            ),
            clean_spaces=False,
        ),
    ),
    ("afmoe", PreTokenizer((cut_digit_groups, pattern.AFMOE_SCRIPTS, pattern.DEEPSEEK3), clean_spaces=False)),
    ("falcon", PreTokenizer((pattern.FALCON_PUNCTUATION, pattern.GPT2, pattern.THREE_ASCII_DIGITS))),
    ("bloom gpt3-finnish", PreTokenizer((pattern.BLOOM,))),
    ("poro-chat", PreTokenizer((pattern.BLOOM,), clean_spaces=False)),
    ("viking", PreTokenizer((pattern.BLOOM, pattern.DIGIT), clean_spaces=False)),
    ("superbpe", PreTokenizer((pattern.DIGITS, pattern.BEFORE_ASCII_THOUSANDS), clean_spaces=False)),
    (
        "chameleon",
        PreTokenizer(
            (
                pattern.CHAMELEON_SENTINEL,
                pattern.CHAMELEON_IMAGE,
                pattern.CHAMELEON_SPACE,
                pattern.DIGIT,
                pattern.CHAMELEON_PUNCTUATION,
                pattern.GPT2,
            ),
            add_bos=True,
            clean_spaces=False,
        ),
    ),
    ("gemma4 granite-embed-multi-311m", _GEMMA4),
    (
        "mmbert",
        PreTokenizer((pattern.LINES, cut_spaced_words), byte_level=False, escape_whitespaces=True, newline_pieces=True),
    ),
    (
        "sarvam-moe",
        PreTokenizer((pattern.LINES,), byte_level=False, escape_whitespaces=True, clean_spaces=False),
    ),
    ("whitespace", PreTokenizer((pattern.NOT_SPACE,), byte_level=False, keeps_case=True)),
)

PRE_TOKENIZERS: Mapping[str, PreTokenizer] = {
    name: pre_tokenizer for names, pre_tokenizer in _GROUPS for name in names.split()
}


def splitter(pre_tokenizer: PreTokenizer) -> Cutter:
    """Return the function that cuts a text into its pre-tokens, none of them empty.

    They tile the text, except that mmbert puts spaces in.
    """
    cutters = [_cutter(pattern) for pattern in pre_tokenizer.patterns]
    plain = _in_sequence([cut for cut, _ in cutters])
    careful = _in_sequence([_on_view(cut, blank_unassigned) if by_category else cut for cut, by_category in cutters])
    return lambda text: (careful if has_unassigned(text) else plain)(text)


def _in_sequence(cutters: list[Cutter]) -> Cutter:
    first, *rest = cutters

    def cut(text: str) -> list[str]:
        chunks = first(text)
        for cut_chunk in rest:
            chunks = [part for chunk in chunks for part in cut_chunk(chunk)]
        return chunks

    return cut


def _cutter(rule: str | Cutter) -> tuple[Cutter, bool]:
    """Return the function that cuts a chunk by one rule, and whether the rule looks at Unicode categories."""
    if not isinstance(rule, str):
        return rule, rule is cut_digit_groups
    import regex

    by_category = r"\p{" in rule
    if rule in pattern.COVERING:
        findall: Cutter = regex.compile(rule, regex.V1).findall
        return findall, by_category
    split = regex.compile(f"({rule})", regex.V1).split
    cut: Cutter = lambda chunk: [part for part in split(chunk) if part]  # noqa: E731
    # subtle: llama.cpp turns spaces beyond ASCII into vertical tabs before it matches a pattern without categories.
    return (cut if by_category or rule.isascii() else _on_view(cut, fold_spaces)), by_category


def _on_view(cut: Cutter, view: Callable[[str], str]) -> Cutter:
    """Return the function that cuts a chunk where `cut` cuts its `view`, which has the same length."""

    def cut_as_viewed(chunk: str) -> list[str]:
        start = 0
        parts = []
        for part in cut(view(chunk)):
            parts.append(chunk[start : start + len(part)])
            start += len(part)
        return parts

    return cut_as_viewed


def fold_spaces(chunk: str) -> str:
    """Replace spaces beyond ASCII by vertical tabs, as llama.cpp does before it matches patterns without categories."""
    return re.sub("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]", "\v", chunk)


@cache
def _numbers() -> re.Pattern[str]:
    import regex

    numbers: re.Pattern[str] = regex.compile(pattern.DIGITS)
    return numbers


@cache
def byte_alphabet() -> Mapping[int, str]:
    """Return the GPT-2 alphabet: a printable character for each byte.

    Printable bytes of Latin-1 stand for themselves, the others for U+0100 and up, in order. Source: `bytes_to_unicode`
    in the GPT-2 encoder.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(0x100) if byte not in printable]
    alphabet = {byte: chr(byte) for byte in printable}
    return alphabet | {byte: chr(0x100 + index) for index, byte in enumerate(others)}


def to_byte_level(text: str) -> str:
    """Write each byte of the text's UTF-8 as a character of the GPT-2 alphabet."""
    return spell_bytes(text.encode())


def spell_bytes(data: bytes) -> str:
    """Write each byte as a character of the GPT-2 alphabet."""
    return data.decode("latin-1").translate(byte_alphabet())


@cache
def _bytes_of_alphabet() -> Mapping[str, bytes]:
    return {character: bytes([byte]) for byte, character in byte_alphabet().items()}


def from_byte_level(piece: str) -> bytes:
    """Read a piece in the GPT-2 alphabet back into bytes.

    A character outside that alphabet becomes the placeholder llama.cpp puts there: `[UNK_BYTE_0x`, its UTF-8 in
    hexadecimal, the whole piece again, `]`; a byte that is not UTF-8 counts as U+FFFD there. Source:
    `llama_decode_text` in llama.cpp's `src/llama-vocab.cpp`.
    """
    known = _bytes_of_alphabet()
    return b"".join(known.get(character) or _unknown(character, piece) for character in piece)


def _unknown(character: str, piece: str) -> bytes:
    hexadecimal = ("\ufffd" if "\udc80" <= character <= "\udcff" else character).encode().hex()
    return f"[UNK_BYTE_0x{hexadecimal}{piece}]".encode("utf-8", "surrogateescape")
