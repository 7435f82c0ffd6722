"""Write native/core/src/character_table.rs: what llama.cpp knows about characters, from the Python engine's tables.

Run `PYTHONPATH=. python native/make_tables.py` in the root of a checkout. With `--check`, the exit code says whether
the file is up to date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, groupby
from pathlib import Path
from unicodedata import decomposition

import regex

from tokverify.engine import pre_pattern
from tokverify.engine.nfc import DECOMPOSITIONS, canonical_class, compose_pair
from tokverify.engine.pre_token import alternatives
from tokverify.engine.pre_tokenizer import fold_spaces
from tokverify.engine.unicode_version import HAN, HAN_NONCHARACTER, is_unassigned, to_base, to_lowercase

TARGET = Path(__file__).with_name("core") / "src" / "character_table.rs"

SURROGATES = range(0xD800, 0xE000)
"""Code points that are not characters."""

HANGUL = range(0xAC00, 0xD7A4)
"""Syllables, whose first consonants are computed."""

CLASSES = (
    r"\p{L}",
    r"\p{N}",
    r"\p{M}",
    r"\p{P}",
    r"\p{S}",
    r"\s",
    r"[\p{Cc}\p{Cf}\p{Co}\p{Cs}\ufffd]",
)
"""The pattern of each bit, in order; unassigned characters belong to none of them."""

HAN_BIT = len(CLASSES)
"""The bit of Chinese characters, which llama.cpp recognizes by code point, assigned or not."""

SETS = {
    "DEEPSEEK_CJK": pre_pattern.DEEPSEEK_CJK,
    "DEEPSEEK3_CJK": pre_pattern.DEEPSEEK3_CJK,
    "DEEPSEEK_LETTERS": f"[{pre_pattern.DEEPSEEK_LETTERS}]+",
    "DEEPSEEK_PUNCTUATION": pre_pattern.DEEPSEEK_PUNCTUATION.removeprefix(r"\s?"),
    "AFMOE_SCRIPTS": pre_pattern.AFMOE_SCRIPTS,
    "BLOOM": pre_pattern.BLOOM.removeprefix(" ?"),
} | {f"YOUTU_SCRIPT_{number}": run for number, run in enumerate(alternatives(pre_pattern.YOUTU_SCRIPTS), 1)}
"""Explicit sets of characters: the pattern of a run, by name."""

HEADER = """\
//! What llama.cpp knows about characters. Made by `native/make_tables.py`; do not edit.

/// The first character of each run of characters with the same classes, and the classes as bits.
#[rustfmt::skip]
pub(crate) const RUNS: &[(u32, u8)] = &[
{runs}
];

/// Each character whose lowercase is another one, and its lowercase.
#[rustfmt::skip]
pub(crate) const LOWERCASE: &[(u32, u32)] = &[
{lowercase}
];

/// Each character, except Hangul syllables, whose canonical decomposition begins with another one, and that one.
#[rustfmt::skip]
pub(crate) const BASE: &[(u32, u32)] = &[
{base}
];

/// The first character of each run of characters with the same canonical combining class, and the class.
#[rustfmt::skip]
pub(crate) const CANONICAL_CLASSES: &[(u32, u8)] = &[
{canonical_classes}
];

/// Each character, except Hangul syllables, that has a canonical decomposition; the one or two characters that it
/// consists of; and whether these compose it.
#[rustfmt::skip]
pub(crate) const DECOMPOSITIONS: &[(u32, u32, u32, bool)] = &[
{decompositions}
];

{sets}
"""


def characters() -> Iterator[str]:
    """Yield every character."""
    yield from map(chr, chain(range(SURROGATES.start), range(SURROGATES.stop, sys.maxunicode + 1)))


def classes() -> dict[str, int]:
    """Return the bits of each character."""
    patterns = [regex.compile(pattern, regex.V1).match for pattern in CLASSES]
    is_han = regex.compile(f"[{HAN.removesuffix(HAN_NONCHARACTER)}]", regex.V1).match
    bits = {}
    for character in characters():
        matches = [] if is_unassigned(character) else [bool(match(character)) for match in patterns]
        assigned = sum(match << bit for bit, match in enumerate(matches))
        bits[character] = assigned | bool(is_han(character)) << HAN_BIT
    return bits


def runs(values: Mapping[str, int]) -> list[tuple[int, int]]:
    """Return the first character of each run with the same value, and the value; that of surrogates is 0."""
    by_code_point = {ord(character): value for character, value in values.items()}
    grouped = groupby(range(sys.maxunicode + 1), lambda code_point: by_code_point.get(code_point, 0))
    return [(next(members), value) for value, members in grouped]


def mapping(convert: Callable[[str], str], left_out: range = range(0)) -> list[tuple[int, int]]:
    """Return each character that `convert` changes, and the result."""
    changed = ((ord(character), ord(convert(character))) for character in characters())
    return [(before, after) for before, after in changed if before != after and before not in left_out]


@cache
def folded_characters() -> list[tuple[str, str]]:
    """Return every character, and what patterns without categories see of it."""
    return [(character, fold_spaces(character)) for character in characters()]


def ranges(run: str) -> list[tuple[int, int]]:
    """Return the first and the last character of each range of characters that a run can consist of."""
    is_member = regex.compile(run, regex.V1).fullmatch
    members = {ord(character) for character, folded in folded_characters() if is_member(folded)}
    grouped = groupby(range(sys.maxunicode + 1), members.__contains__)
    found = [list(group) for contained, group in grouped if contained]
    return [(group[0], group[-1]) for group in found]


def sets() -> str:
    """Return the declarations of all explicit sets."""
    declarations = []
    for name, run in SETS.items():
        line = f"/// The ranges of characters of `{name}` in `tokverify/engine/pre_pattern.py`, with both ends."
        declarations.append(
            f"{line}\n#[rustfmt::skip]\npub(crate) const {name}: &[(u32, u32)] = &[\n{rows(ranges(run))}\n];"
        )
    return "\n\n".join(declarations)


def decompose_once(character: str) -> str:
    """Return the characters that a character other than a Hangul syllable consists of, which may consist of others."""
    pair = DECOMPOSITIONS.get(character)
    codes = "" if pair or is_unassigned(character) else decomposition(character)
    return pair or "".join(chr(int(code, 16)) for code in codes.split() if "<" not in codes) or character


def decompositions() -> str:
    """Return the rows of characters with a canonical decomposition."""
    parts = {character: decompose_once(character) for character in characters()}
    return "\n".join(
        f"    (0x{ord(character):04X}, 0x{ord(part[0]):04X}, 0x{ord(part[1]) if part[1:] else 0:04X}, "
        f"{str(compose_pair(part) == character).lower()}),"
        for character, part in parts.items()
        if part != character
    )


def rows(pairs: Iterable[Sequence[int]]) -> str:
    """Return the entries of an array."""
    return "\n".join(f"    (0x{first:04X}, 0x{second:02X})," for first, second in pairs)


def render() -> str:
    """Return the content of the file."""
    return HEADER.format(
        runs=rows(runs(classes())),
        lowercase=rows(mapping(to_lowercase)),
        base=rows(mapping(to_base, HANGUL)),
        canonical_classes=rows(runs({character: canonical_class(character) for character in characters()})),
        decompositions=decompositions(),
        sets=sets(),
    )


def main() -> int:
    """Write the file, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only report whether the file is up to date")
    is_up_to_date = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == render()
    if parser.parse_args().check:
        return 0 if is_up_to_date else 1
    TARGET.write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
