"""The words of sentences: counts, tokens and lists, short enough to be read.

Tokens are made visible as they are quoted; whoever shows the sentence leaves their escapes alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tokverify.text.visible import visible

_MAX_TEXT = 60
_MAX_LISTED = 5
_MAX_SENTENCE = 500


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Write a count with its noun; `nouns` is its plural, where that is not formed with an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {nouns or noun + 's'}"


def quoted(text: str, *, mark_spaces: bool = False) -> str:
    """Quote a text as eyes can read it, the rest of a very long one left out."""
    shown = visible(text[:_MAX_TEXT], mark_spaces=mark_spaces)
    return f'"{shown}"' if len(text) <= _MAX_TEXT else f'"{shown}…" ({len(text):,} characters)'


def shortened(text: str) -> str:
    """Leave out the rest of a very long sentence."""
    return text if len(text) <= _MAX_SENTENCE else f"{text[:_MAX_SENTENCE]}…"


def encode_options(*, add_special: bool, parse_special: bool) -> str:
    """Say how a text was encoded, such as `add_special off, parse_special on`."""
    flags = {"add_special": add_special, "parse_special": parse_special}
    return ", ".join(f"{name} {'on' if flag else 'off'}" for name, flag in flags.items())


def listed(items: Iterable[str], most: int = _MAX_LISTED) -> str:
    """List the first few items, and say how many there are more."""
    every = list(items)
    left_out = len(every) - most
    return ", ".join(every) if left_out <= 0 else f"{', '.join(every[:most])} and {left_out:,} more"


def tokens(ids: Iterable[int], pieces: Sequence[str] | Mapping[int, str]) -> str:
    """List tokens with their texts, such as `5 "<mask>", 9 "··" and 3 more`."""
    return listed(f"{id} {quoted(pieces[id], mark_spaces=True)}" for id in ids)
