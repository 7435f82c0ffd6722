"""Split a text into the pre-tokens that byte-pair encoding works on.

`PRE_TOKENIZERS` maps each `tokenizer.ggml.pre` name to its patterns and to the settings that llama.cpp derives from the
name. Patterns are applied one after the other, each to the chunks produced by the previous one: a chunk is split into
the matches and the text between them.

Source: `llm_tokenizer_bpe` in llama.cpp's `src/llama-vocab.cpp` and `unicode_regex_split` in `src/unicode.cpp`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain

from tokverify.engine import pre_pattern as pattern
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.unicode_version import blank_unassigned, has_unassigned

Splitter = Callable[[str], list[str]]
"""Splits a chunk into consecutive parts that cover it."""


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """The patterns of a pre-tokenizer, and what its name implies for the rest of the pipeline."""

    patterns: tuple[str | Splitter, ...]
    """Regular expressions, or functions that split in the same way."""
    byte_level: bool = True
    """Whether each byte of a chunk is mapped to a character of the GPT-2 alphabet."""
    escape_whitespaces: bool = False
    """Whether spaces are written as `▁`."""
    ignore_merges: bool = False
    """Whether a pre-token that is a piece becomes one token without merging."""
    clean_spaces: bool = True
    """Whether decoding removes spaces before punctuation."""
    add_bos: bool = False
    """Whether BOS is added by default."""
    add_sep: bool = False
    """Whether SEP is added by default."""
    has_bos: bool = True
    """Whether the model keeps its default BOS id."""
    newline_pieces: bool = False
    """Whether a chunk of newlines that is a piece becomes one token without merging."""
    always_bos: bool = False
    """Whether BOS is added regardless of what the file declares."""
    keeps_case: bool = False
    """Whether lowercasing is turned off."""


def split_digit_groups(chunk: str) -> list[str]:
    """Split numbers into groups of three digits, counted from the right.

    subtle: text before a number stays with its first group, as in `unicode_regex_split_custom_afmoe`.
    """
    parts = []
    done = 0
    for match in _numbers().finditer(chunk):
        start, end = match.span()
        first_group_end = start + ((end - start) % 3 or 3)
        parts.append(chunk[done:first_group_end])
        parts += [chunk[index : index + 3] for index in range(first_group_end, end, 3)]
        done = end
    return [*parts, chunk[done:]] if done < len(chunk) else parts


def split_spaced_words(line: str) -> list[str]:
    """Split a line before each escaped space, after prepending one if it has none, so the parts may not tile the line.

    A run of newlines is not split. Source: the case of mmbert in `llm_tokenizer_bpe_session::tokenize`.
    """
    if line.startswith("\n"):
        return [line]
    spaced_line = line if line[0] == ESCAPED_SPACE else ESCAPED_SPACE + line
    return re.findall(f"{ESCAPED_SPACE}[^{ESCAPED_SPACE}]*", spaced_line)


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
    ("tiny_aya cohere2moe", PreTokenizer((split_digit_groups, pattern.TINY_AYA), clean_spaces=False)),
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
    ("afmoe", PreTokenizer((split_digit_groups, pattern.AFMOE_SCRIPTS, pattern.DEEPSEEK3), clean_spaces=False)),
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
        PreTokenizer(
            (pattern.LINES, split_spaced_words), byte_level=False, escape_whitespaces=True, newline_pieces=True
        ),
    ),
    (
        "sarvam-moe",
        PreTokenizer((pattern.LINES,), byte_level=False, escape_whitespaces=True, clean_spaces=False),
    ),
    ("whitespace", PreTokenizer((pattern.NOT_SPACE,), byte_level=False, keeps_case=True)),
)

PRE_TOKENIZERS: dict[str, PreTokenizer] = {}
for _names, _pre_tokenizer in _GROUPS:
    PRE_TOKENIZERS |= dict.fromkeys(_names.split(), _pre_tokenizer)


def without_tilde(pre_tokenizer: PreTokenizer) -> PreTokenizer:
    r"""Return a pre-tokenizer as builds before b10566 had it: `~` was no symbol, `\p{S}`, in a pattern."""
    patterns = [
        rule.replace(r"\p{S}", r"[\p{S}--~]") if isinstance(rule, str) else rule for rule in pre_tokenizer.patterns
    ]
    return replace(pre_tokenizer, patterns=tuple(patterns))


def splitter(pre_tokenizer: PreTokenizer, *, newest_unicode: bool = False) -> Splitter:
    """Return the function that splits a text into its pre-tokens, none of them empty.

    They cover the text exactly, except that mmbert inserts spaces. With `newest_unicode`, characters are classified as
    the `regex` library does, by a later version of Unicode than llama.cpp's.
    """
    rules = [_compile(rule) for rule in pre_tokenizer.patterns]
    split_plain = _chain([rule.split for rule in rules])
    if newest_unicode:
        return split_plain
    split_carefully = _chain(
        [_split_by_view(rule.split, blank_unassigned) if rule.uses_categories else rule.split for rule in rules]
    )
    return lambda text: split_carefully(text) if has_unassigned(text) else split_plain(text)


@dataclass(frozen=True, slots=True)
class _CompiledRule:
    split: Splitter
    uses_categories: bool
    """Whether the rule depends on Unicode categories."""


def _compile(rule: str | Splitter) -> _CompiledRule:
    if not isinstance(rule, str):
        return _CompiledRule(rule, uses_categories=rule is split_digit_groups)
    import regex

    uses_categories = r"\p{" in rule
    if rule in pattern.COVERING:
        return _CompiledRule(regex.compile(rule, regex.V1).findall, uses_categories)
    split_at_matches = regex.compile(f"({rule})", regex.V1).split
    split: Splitter = lambda chunk: [part for part in split_at_matches(chunk) if part]  # noqa: E731
    # subtle: llama.cpp converts spaces beyond ASCII to vertical tabs before it matches a pattern without categories.
    if not uses_categories and not rule.isascii():
        split = _split_by_view(split, fold_spaces)
    return _CompiledRule(split, uses_categories)


def _chain(splitters: list[Splitter]) -> Splitter:
    """Return the function that applies splitters one after the other."""
    first, *rest = splitters

    def split(text: str) -> list[str]:
        chunks = first(text)
        for split_chunk in rest:
            chunks = list(chain.from_iterable(map(split_chunk, chunks)))
        return chunks

    return split


def _split_by_view(split: Splitter, view: Callable[[str], str]) -> Splitter:
    """Return the function that splits a chunk where `split` splits its `view`, which has the same length."""

    def split_by_view(chunk: str) -> list[str]:
        start = 0
        parts = []
        for part in split(view(chunk)):
            parts.append(chunk[start : start + len(part)])
            start += len(part)
        return parts

    return split_by_view


def fold_spaces(chunk: str) -> str:
    """Replace spaces beyond ASCII by vertical tabs, as llama.cpp does before it matches patterns without categories."""
    return re.sub("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]", "\v", chunk)


@cache
def _numbers() -> re.Pattern[str]:
    import regex

    numbers: re.Pattern[str] = regex.compile(pattern.DIGITS)
    return numbers
