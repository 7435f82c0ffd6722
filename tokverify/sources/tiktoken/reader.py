"""Convert tiktoken's rank file to a TokenizerSpec: what the equivalent GGUF file would declare.

A .tiktoken file contains only tokens and ranks. Its pattern is given after a colon, as in `FILE:cl100k_base`, or by the
file's name, and the `tokenizer.ggml.pre` name is one that splits texts like the pattern. tiktoken merges any two
neighbors that together are a token; GGUF lists merges, which are recovered from the ranks.

Source of that: `QwenModel.bpe` in llama.cpp's converter.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokverify.engine.byte_level import spell_bytes, to_byte_level
from tokverify.engine.pre_search import PROBES, choose_name, explain_no_match, find_matching_names
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.config import special_texts, template_fields
from tokverify.sources.location import file_and_rest, read_file
from tokverify.sources.tiktoken.ranks import published_for, read_ranks, special_tokens
from tokverify.spec import MAX_GAP, TokenizerSpec, TokenType
from tokverify.system.library_error import raised_as

_END = "<|endoftext|>"
_PATTERN_SECONDS = 5.0
_LEAST_SECONDS = 0.01


def read_spec(path: Path | str) -> TokenizerSpec:
    r"""Read a .tiktoken file, given as `FILE` or `FILE:PATTERN`; a `Path` loses `//` in the pattern.

    Raises:
        BrokenFileError: If the file cannot be read or is not a tiktoken vocabulary.
        UnsupportedError: If its pattern is unknown, or no pre-tokenizer of llama.cpp splits texts like it.
    """
    file, pattern = file_and_rest(str(path)) or (Path(path), "")
    ranks = read_ranks(file, read_file(file))
    published = published_for(file, pattern)
    special = special_tokens(file, ranks, published)
    merges = recover_merges(ranks)
    tokens, types = _vocabulary(file, ranks, special)
    return TokenizerSpec(
        model="gpt2",
        tokens=tokens,
        pre=_pre_tokenizer(file, published.pattern, needs_no_merges=len(merges) < len(ranks) - 256),
        types=types,
        merges=[f"{spell_bytes(left)} {spell_bytes(right)}" for left, right in merges],
        special_ids=_special_ids(special, special_texts(file)),
        add_bos=False,
        add_eos=False,
        **template_fields(file),
    )


def recover_merges(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Return, in order of the ranks, the two tokens that each token is merged from.

    A token is omitted if the ranks below its own do not lead to exactly two parts: no merge produces it, and tiktoken
    finds it only because it looks up whole pre-tokens first.
    """
    tokens = sorted((token for token in ranks if len(token) > 1), key=ranks.__getitem__)
    splits = (_parts(token, ranks) for token in tokens)
    return [(parts[0], parts[1]) for parts in splits if len(parts) == 2]  # noqa: PLR2004 - a merge is a pair


def _parts(token: bytes, ranks: Mapping[bytes, int]) -> list[bytes]:
    """Merge the bytes of a token by all ranks below its own."""
    limit = ranks[token]
    parts = [token[at : at + 1] for at in range(len(token))]
    while len(parts) > 1:
        pairs = map(bytes.__add__, parts, parts[1:])
        rank, at = min((ranks.get(pair, limit), at) for at, pair in enumerate(pairs))
        if rank >= limit:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def _vocabulary(file: Path, ranks: Mapping[bytes, int], special: Mapping[str, int]) -> tuple[list[str], list[int]]:
    size = max([*ranks.values(), *special.values()]) + 1
    if min(ranks.values()) < 0 or size > len(ranks) + len(special) + MAX_GAP:
        raise BrokenFileError(
            f"{file}: ids range from {min(ranks.values())} to {size - 1}, but there are only {len(ranks)} tokens"
        )
    tokens = [f"[PAD{id}]" for id in range(size)]
    types = [TokenType.UNUSED.value] * size
    for token, id in ranks.items():
        tokens[id], types[id] = spell_bytes(token), TokenType.NORMAL.value
    for text, id in special.items():
        tokens[id], types[id] = text, TokenType.CONTROL.value
    return tokens, types


def _pre_tokenizer(file: Path, pattern: str, *, needs_no_merges: bool) -> str:
    """Return a name that splits texts like the pattern.

    tiktoken looks up a whole pre-token before it merges. This makes no difference if merges can produce every token, in
    which case a name that does not imply it is acceptable as well.
    """
    pre_tokens = _split_probes(file, pattern)
    names = find_matching_names(pre_tokens)
    if not names:
        raise UnsupportedError(f"{file}: the pattern: {explain_no_match(pre_tokens)}")
    whole_first = [name for name in names if PRE_TOKENIZERS[name].ignore_merges]
    if needs_no_merges and not whole_first:
        raise UnsupportedError(
            f"{file}: no merge of two tokens produces some of the tokens, and llama.cpp's pre-tokenizers that split "
            f"texts like this pattern ({', '.join(names)}) use only tokens that merges produce"
        )
    return choose_name(whole_first or names)


def _split_probes(file: Path, pattern: str) -> Sequence[Sequence[str]]:
    import regex

    # subtle: such as `(a+)+$`, which takes exponential time.
    deadline = time.monotonic() + _PATTERN_SECONDS
    with raised_as(UnsupportedError, f"{file}: the pattern cannot be used"):
        compiled = regex.compile(pattern)
        pre_tokens: list[list[str]] = []
        for text in PROBES:
            matches = compiled.finditer(text, timeout=max(_LEAST_SECONDS, deadline - time.monotonic()))
            pre_tokens.append([to_byte_level(match[0]) for match in matches])
    return pre_tokens


def _special_ids(special: Mapping[str, int], texts: Mapping[str, str]) -> dict[str, int]:
    """Return the ids by role: those named in a config or, by default, the end-of-text token of published files."""
    defaults = {"bos": special[_END], "eos": special[_END]} if _END in special else {}
    declared = {role: special[text] for role, text in texts.items() if text in special and role != "cls"}
    return defaults | declared
