"""Find the pre-tokenizers of llama.cpp that are nearest to what a tokenizer does, where none is equal to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from tokverify.cases.loading import load_cases
from tokverify.engine.byte_level import from_byte_level
from tokverify.engine.pre_search import PROBES
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer, splitter
from tokverify.engine.unicode_version import has_unassigned
from tokverify.sources.original_pattern import ORIGINALS
from tokverify.text.utf8 import to_text

if TYPE_CHECKING:
    from tokenizers.pre_tokenizers import PreTokenizer as Stages

_LONGEST_SAMPLE = 200
"""In characters; pre-tokenizers are compared on shorter texts only."""

_TOO_MANY = 5
"""A pattern of which one in so many texts is split differently is another one, and not a variant."""


@cache
def probe_texts() -> Sequence[str]:
    """Return the texts on which pre-tokenizers are compared; always the same, because a user's may be in one script.

    Like `PROBES`, they contain no character that is newer than llama.cpp's Unicode tables.
    """
    samples = [case.text for case in load_cases() if len(case.text) <= _LONGEST_SAMPLE]
    return [text for text in dict.fromkeys([*PROBES, *samples]) if not has_unassigned(text)]


def original_name(pre_tokens: Sequence[list[str]]) -> str | None:
    """Return the name that llama.cpp's converter gives a pattern that splits `probe_texts` like this, if there is one.

    What llama.cpp makes of the name may be something else.
    """
    import regex

    splits = {name: regex.compile(pattern, regex.V1).findall for name, pattern in ORIGINALS.items()}
    for name, split in {**splits, "falcon": partial(split_bytes, _falcon())}.items():
        if all(split(text) == wanted for text, wanted in zip(probe_texts(), pre_tokens, strict=True)):
            return name
    return None


def original_name_of(split: Callable[[str], list[str]]) -> str | None:
    """Return the same for a function that splits texts."""
    return original_name(list(map(split, probe_texts())))


def split_bytes(stages: Stages, text: str) -> list[str]:
    """Split a text with stages of HuggingFace tokenizers that work on bytes; parts of characters are lone bytes."""
    pieces = [from_byte_level(piece) for piece, _ in stages.pre_tokenize_str(text)]
    if pieces and b"".join(pieces) != text.encode():
        # The space that `add_prefix_space` adds is no part of the text.
        pieces[0] = pieces[0].removeprefix(b" ")
    return [to_text(piece) for piece in pieces if piece]


@cache
def _falcon() -> Stages:
    """Return Falcon's stages, which no single pattern can replace.

    They split at punctuation, then like GPT-2, and then at digits, which they also find among the characters for bytes.
    Source: the tokenizer.json of Falcon.
    """
    from tokenizers import Regex, pre_tokenizers

    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Punctuation("contiguous"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
            pre_tokenizers.Digits(individual_digits=False),
            pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated"),
        ]
    )


def nearest_names(pre_tokens: Sequence[list[str]], *, ignore_merges: bool) -> list[str]:
    """Return the names that split the most of `probe_texts` like this; none if all split too many differently.

    The name that the converter gives the pattern is nearer than any other.
    """
    original = original_name(pre_tokens)
    if original and PRE_TOKENIZERS[original].ignore_merges == ignore_merges:
        return [original]
    wanted = list(zip(probe_texts(), pre_tokens, strict=True))
    most = len(wanted) // _TOO_MANY
    names: list[str] = []
    for name, pre_tokenizer in PRE_TOKENIZERS.items():
        if pre_tokenizer.byte_level and pre_tokenizer.ignore_merges == ignore_merges:
            count = count_differences(pre_tokenizer, wanted, most)
            names = [*names, name] if count == most else [name] if count < most else names
            most = min(count, most)
    return names


def count_differences(pre_tokenizer: PreTokenizer, wanted: Sequence[tuple[str, list[str]]], most: int | None) -> int:
    """Count the texts that are split differently; stop once there are more than `most`."""
    split = splitter(pre_tokenizer)
    count = 0
    for text, pre_tokens in wanted:
        count += split(text) != pre_tokens
        if most is not None and count > most:
            break
    return count


def surpasses(one: PreTokenizer, other: PreTokenizer, wanted: Sequence[tuple[str, list[str]]]) -> bool:
    """Whether one pre-tokenizer splits all texts as wanted that another does, and more."""
    split = splitter(other)
    right = [(text, pre_tokens) for text, pre_tokens in wanted if split(text) == pre_tokens]
    fewer = len(wanted) - len(right) - 1
    return not count_differences(one, right, 0) and count_differences(one, wanted, fewer) <= fewer
