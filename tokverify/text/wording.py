"""Phrase counts, tokens and lists for messages.

Quoted tokens are already escaped; rendering a message does not escape them again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from tokverify.text.visible import visible

_MAX_TEXT = 60
_MAX_LISTED = 5
_MAX_SENTENCE = 500
_MAX_COMPARED = 40
_SEPARATORS = str.maketrans("", "", "-_. ")


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Write a count with its noun; `nouns` is the plural if it is not formed by adding an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {nouns or noun + 's'}"


def verb(count: int, word: str) -> str:
    """Return a regular verb in the form that follows a count, such as `differs` or `differ`."""
    return f"{word}s" if count == 1 else word


def quote(text: str, *, mark_spaces: bool = False) -> str:
    """Escape and quote a text; a very long one is truncated."""
    shown = visible(text[:_MAX_TEXT], mark_spaces=mark_spaces)
    return f'"{shown}"' if len(text) <= _MAX_TEXT else f'"{shown}…" ({len(text):,} characters)'


def short_repr(text: str) -> str:
    """Quote a text as Python does; a very long one is truncated."""
    return repr(text) if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]!r}… ({len(text):,} characters)"


def truncate(text: str, most: int = _MAX_SENTENCE) -> str:
    """Truncate a sentence of more than `most` characters."""
    return text if len(text) <= most else f"{text[:most]}…"


def truncate_words(sentence: str, most: int) -> str:
    """Truncate a sentence of more than `most` characters after a word."""
    if len(sentence) <= most:
        return sentence
    cut = sentence[:most]
    return f"{cut.rpartition(' ')[0] or cut} …"


def encode_options(*, add_special: bool, parse_special: bool) -> str:
    """Describe encoding options, such as `add_special off, parse_special on`."""
    flags = {"add_special": add_special, "parse_special": parse_special}
    return ", ".join(f"{name} {'on' if flag else 'off'}" for name, flag in flags.items())


def list_items(items: Iterable[Any], most: int = _MAX_LISTED, show: Callable[[Any], str] = str) -> str:
    """Join the first `most` items, each as `show` writes it, and count the rest, as in `a, b and 3 more`."""
    every = list(items)
    left_out = len(every) - most
    shown = ", ".join(map(show, every if left_out <= 0 else every[:most]))
    return shown if left_out <= 0 else f"{shown} and {left_out:,} more"


def list_tokens(ids: Iterable[int], pieces: Sequence[str] | Mapping[int, str]) -> str:
    """List tokens with their pieces, such as `5 "<mask>", 9 "··" and 3 more`."""
    return list_items(ids, show=lambda id: f"{id} {quote(pieces[id], mark_spaces=True)}")


def list_ranges(ids: Iterable[int], most: int | None = None) -> str:
    """List ids in ascending order as ranges, such as `4-18, 30`; after `most` ranges, only count the remaining ids."""
    ranges: list[list[int]] = []
    for id in sorted(set(ids)):
        if ranges and id == ranges[-1][1] + 1:
            ranges[-1][1] = id
        else:
            ranges.append([id, id])
    shown = ranges[:most]
    left_out = sum(last - first + 1 for first, last in ranges[len(shown) :])
    text = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in shown)
    return f"{text} and {left_out:,} more" if left_out else text


def list_alternatives(items: Iterable[str]) -> str:
    """Join items of which one applies, as in `a`, `a or b` and `a, b, or c`."""
    *others, last = items
    comma = "," if len(others) > 1 else ""
    return f"{', '.join(others)}{comma} or {last}" if others else last


def find_similar_names(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return the known names most similar to an unknown one, regardless of case and separators, best first."""
    names = {_fold(other): other for other in known}
    return [names[similar] for similar in get_close_matches(_fold(name[:_MAX_COMPARED]), names, n=most)]


def _fold(name: str) -> str:
    return name.casefold().translate(_SEPARATORS)


def suggest_name(name: str, known: Collection[str]) -> str:
    """Suggest the known name most similar to an unknown one, or list all known names."""
    similar = find_similar_names(name, known, 1)
    return f"did you mean {similar[0]!r}?" if similar else f"use one of {', '.join(known)}"


def overrides_title(count: int) -> str:
    """Introduce a list of settings in which llama.cpp does not follow the file."""
    return f"llama.cpp uses {plural(count, 'setting')} that the file declares differently or not at all"


def percentage(part: float, whole: float, digits: int = 2) -> str:
    """Write a share in percent; only nothing is 0%, and only everything is 100%."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < part < whole:
        least = 0.1**digits
        percent = min(max(percent, least), 100 - least)
    return f"{percent:.{digits}f}%"
