"""tiktoken's rank file -> TokenizerSpec: what a GGUF file would declare that says the same of the tokenizer.

A .tiktoken file holds tokens and ranks alone. Its pattern is told after a colon, as in `FILE:cl100k_base`, or by the
file's name, and the `tokenizer.ggml.pre` name is the one that cuts texts as the pattern does. tiktoken merges any two
neighbors that together are a token; GGUF lists merges, which are recovered from the ranks.

Source of that: `QwenModel.bpe` in llama.cpp's converter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tokverify.engine.pre_search import PROBES, best_name, names_that_cut, no_such_name
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, spell_bytes, to_byte_level
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.files.config import special_texts, template_fields
from tokverify.files.location import file_and_rest, read_file
from tokverify.files.tiktoken.ranks import published_for, read_ranks, special_tokens
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.system.library_error import raised_as

_END = "<|endoftext|>"
_LARGEST_GAP = 1 << 20


def read_spec(path: Path | str) -> TokenizerSpec:
    r"""Read the tokenizer of a .tiktoken file, named as `FILE` or `FILE:PATTERN`; of a path, `//` in a pattern is lost.

    Raises:
        BrokenFileError: If the file cannot be read or is not a tiktoken vocabulary.
        UnsupportedError: If its pattern is not known, or no pre-tokenizer of llama.cpp cuts texts so.
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

    A token is left out if the ranks below its own do not lead to exactly two parts: nothing merges it, and tiktoken
    finds it only because it looks a whole pre-token up first.
    """
    split = ((token, _parts(token, ranks)) for token in sorted(ranks, key=ranks.__getitem__) if len(token) > 1)
    return [(parts[0], parts[1]) for _, parts in split if len(parts) == 2]  # noqa: PLR2004 - a merge is a pair


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
    if min(ranks.values()) < 0 or size > len(ranks) + len(special) + _LARGEST_GAP:
        raise BrokenFileError(f"{file}: ids from {min(ranks.values())} to {size - 1} for {len(ranks)} tokens")
    tokens = [f"[PAD{id}]" for id in range(size)]
    types = [TokenType.UNUSED.value] * size
    for token, id in ranks.items():
        tokens[id], types[id] = spell_bytes(token), TokenType.NORMAL.value
    for text, id in special.items():
        tokens[id], types[id] = text, TokenType.CONTROL.value
    return tokens, types


def _pre_tokenizer(file: Path, pattern: str, *, needs_no_merges: bool) -> str:
    """Return the name that cuts texts as the pattern does.

    tiktoken looks a whole pre-token up before it merges. Where merges lead to every token, that makes no difference,
    so that a name which implies otherwise will do, too.
    """
    cut = _cut(file, pattern)
    names = names_that_cut(cut)
    if not names:
        raise UnsupportedError(f"{file}: the pattern: {no_such_name(cut)}")
    fitting = [name for name in names if PRE_TOKENIZERS[name].ignore_merges]
    if needs_no_merges and not fitting:
        raise UnsupportedError(
            f"{file}: some tokens are made by no merge of two others, and where llama.cpp cuts texts as this pattern "
            f"does ({', '.join(names)}), it takes no other token"
        )
    return best_name(fitting or names)


def _cut(file: Path, pattern: str) -> Sequence[Sequence[str]]:
    import regex

    with raised_as(UnsupportedError, f"{file}: the pattern cannot be used"):
        compiled = regex.compile(pattern)
        return [[to_byte_level(match[0]) for match in compiled.finditer(text)] for text in PROBES]


def _special_ids(special: Mapping[str, int], texts: Mapping[str, str]) -> dict[str, int]:
    """Return the ids by role: those a config names, else the token that published files end texts with."""
    told = {role: special[text] for role, text in texts.items() if text in special and role != "cls"}
    return ({"bos": special[_END], "eos": special[_END]} if _END in special else {}) | told
