"""Convert tiktoken's rank file to a TokenizerSpec: what the equivalent GGUF file would declare.

A .tiktoken file contains only tokens and ranks. Its pattern is given after a colon, as in `FILE:cl100k_base`, or by the
file's name, and the `tokenizer.ggml.pre` name is one that splits texts like the pattern.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokverify.engine.byte_level import from_byte_level, spell_all, to_byte_level
from tokverify.engine.pre_search import PROBES, choose_name, explain_no_match, find_matching_names
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.config import declared_tokens, special_texts, template_fields
from tokverify.sources.location import file_and_rest, read_file
from tokverify.sources.nearest_pattern import nearest_names, original_name, probe_texts
from tokverify.sources.tiktoken.merges import count_unmerged, list_merges, spell_merges
from tokverify.sources.tiktoken.published import Published, published_for
from tokverify.spec import MAX_GAP, MAX_TOKENS, TokenizerSpec, TokenType
from tokverify.system.library_error import raised_as

_PATTERN_SECONDS = 5.0
_LEAST_SECONDS = 0.01
_MAX_BYTES = 1 << 24
_MAX_TOKEN_BYTES = 1 << 10


def read_spec(path: Path | str) -> TokenizerSpec:
    r"""Read a .tiktoken file, given as `FILE` or `FILE:PATTERN`; a `Path` loses `//` in the pattern.

    Raises:
        BrokenFileError: If the file cannot be read or is not a tiktoken vocabulary.
        UnsupportedError: If its pattern is unknown, or no pre-tokenizer of llama.cpp splits texts like it.
    """
    file, pattern = file_and_rest(str(path)) or (Path(path), "")
    ranks = read_ranks(file, read_file(file))
    published = published_for(file, pattern, ranks)
    special = special_tokens(file, ranks, published)
    roles = {**published.roles, **special_texts(file)}
    return spec_of_ranks(
        file,
        ranks,
        special,
        pattern=published.pattern,
        pre=published.pre,
        special_ids={role: special[text] for role, text in roles.items() if text in special and role != "cls"},
        add_bos=add_bos_id(special, published) is not None,
    )


def spec_of_ranks(  # noqa: PLR0913 - what the two formats with ranks declare
    file: Path,
    ranks: Mapping[bytes, int],
    special: Mapping[str, int],
    *,
    pattern: str,
    special_ids: Mapping[str, int],
    add_bos: bool,
    pre: str | None = None,
) -> TokenizerSpec:
    """Return the equivalent of ranks, which are ids of ordinary tokens, and special tokens, which become CONTROL.

    Raises:
        BrokenFileError: If the ids have too many gaps.
        UnsupportedError: If no pre-tokenizer of llama.cpp splits texts like the pattern.
    """
    tokens, types = _vocabulary(file, ranks, special)
    return TokenizerSpec(
        model="gpt2",
        tokens=tokens,
        pre=pre or _pre_tokenizer(file, pattern, ranks),
        types=types,
        merges=spell_merges(list_merges(ranks)),
        special_ids=special_ids,
        add_bos=add_bos,
        add_eos=False,
        **template_fields(file),
    )


def _vocabulary(file: Path, ranks: Mapping[bytes, int], special: Mapping[str, int]) -> tuple[list[str], list[int]]:
    size = max([*ranks.values(), *special.values()]) + 1
    if min(ranks.values()) < 0 or size > len(ranks) + len(special) + MAX_GAP:
        raise BrokenFileError(
            f"{file}: ids range from {min(ranks.values())} to {size - 1}, but there are only {len(ranks)} tokens"
        )
    tokens = [f"[PAD{id}]" for id in range(size)]
    types = [TokenType.UNUSED.value] * size
    for piece, id in zip(spell_all(ranks), ranks.values(), strict=True):
        if not piece:  # no text contains it, and llama.cpp would rename it
            continue
        tokens[id], types[id] = piece, TokenType.NORMAL.value
    for text, id in special.items():
        tokens[id], types[id] = text, TokenType.CONTROL.value
    return tokens, types


def _pre_tokenizer(file: Path, pattern: str, ranks: Mapping[bytes, int]) -> str:
    """Return a name that splits texts like the pattern, or else the one that llama.cpp's converter gives this pattern.

    tiktoken looks up a whole pre-token before it merges. This makes no difference if merges can produce every token, in
    which case a name that does not imply it is acceptable as well.
    """
    pre_tokens = split_probes(file, pattern)
    names = find_matching_names(pre_tokens)
    if not names:
        spelled = split_probes(file, pattern, probe_texts())
        found = [[from_byte_level(each).decode() for each in pieces] for pieces in spelled]
        if original := original_name(found):
            return original
        names = nearest_names(found, ignore_merges=True)
    if not names:
        raise UnsupportedError(f"{file}: the pattern: {explain_no_match(pre_tokens)}")
    whole_first = [name for name in names if PRE_TOKENIZERS[name].ignore_merges]
    if not whole_first and count_unmerged(ranks):
        raise UnsupportedError(
            f"{file}: no merge of two tokens produces some of the tokens, and llama.cpp's pre-tokenizers that split "
            f"texts like this pattern ({', '.join(names)}) use only tokens that merges produce"
        )
    return choose_name(whole_first or names)


def split_probes(file: Path, pattern: str, texts: Sequence[str] = PROBES) -> Sequence[Sequence[str]]:
    """Split texts by a pattern, and write the parts in the GPT-2 alphabet.

    Raises:
        UnsupportedError: If the pattern is invalid or takes too long.
    """
    import regex

    # subtle: such as `(a+)+$`, which takes exponential time.
    deadline = time.monotonic() + _PATTERN_SECONDS
    with raised_as(UnsupportedError, f"{file}: the pattern cannot be used"):
        # Sets such as `[\p{L}&&[^\p{Han}]]` are read as tiktoken does only in version 1.
        compiled = regex.compile(pattern, regex.V1)
        pre_tokens: list[list[str]] = []
        for text in texts:
            matches = compiled.finditer(text, timeout=max(_LEAST_SECONDS, deadline - time.monotonic()))
            pre_tokens.append([to_byte_level(match[0]) for match in matches])
    return pre_tokens


def read_ranks(path: Path, data: bytes) -> dict[bytes, int]:
    """Read a .tiktoken file, each line of which is a token in base64 and its id.

    Raises:
        BrokenFileError: If it is not one, or violates what the library assumes.
        UnsupportedError: If it exceeds the limits for the number and the length of tokens.
    """
    lines = data.split(b"\n")
    if len(lines) > MAX_TOKENS or len(data) > _MAX_BYTES:
        raise UnsupportedError(
            f"{path}: larger than {MAX_TOKENS:,} tokens or {_MAX_BYTES >> 20} MiB, the limits for a tiktoken vocabulary"
        )
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        token, rank = _parse_line(path, number, line)
        if len(token) > _MAX_TOKEN_BYTES:
            raise UnsupportedError(f"{path}:{number}: a token of more than {_MAX_TOKEN_BYTES:,} bytes, the limit")
        ranks[token] = rank
    if len(set(ranks.values())) != len(ranks):
        raise BrokenFileError(f"{path}: two tokens have the same id")
    if missing := sum(bytes([byte]) not in ranks for byte in range(256)):
        raise BrokenFileError(
            f"{path}: an incomplete tiktoken vocabulary: {missing} of the 256 single bytes are missing"
        )
    return ranks


def _parse_line(path: Path, number: int, line: bytes) -> tuple[bytes, int]:
    try:
        token, rank = line.split()
        id = int(rank)
        if 0 <= id < MAX_TOKENS:
            # Whisper's file has a token without bytes.
            return b"" if token == b"=" else base64.b64decode(token, validate=True), id
    except ValueError:
        pass
    raise BrokenFileError(f"{path}:{number}: not a token in base64 and its id, which is below {MAX_TOKENS:,}")


def special_tokens(path: Path, ranks: Mapping[bytes, int], published: Published) -> dict[str, int]:
    """Return the special tokens in a config beside the file, and those of the published file if this one is complete.

    A config says more about this copy of a vocabulary, so its texts replace the published ones of the same ids.
    """
    taken = set(ranks.values())
    special = {text: id for text, id in declared_tokens(path).items() if id not in taken}
    taken |= set(special.values())
    known = published.special_tokens if len(ranks) == published.size else {}
    return {text: id for text, id in known.items() if id not in taken and text not in special} | special


def add_bos_id(special: Mapping[str, int], published: Published) -> int | None:
    """Return the id of the token that the original reader begins each text with, or None if it adds none."""
    return special.get(published.roles["bos"]) if published.add_bos else None
