"""Make any text or bytes readable and safe to print: every character is visible, and none controls the terminal.

Data is stored unchanged and escaped exactly once, when it is shown:

- A text (a piece, a case's text, a value from a file) is escaped by `visible`, called where it is shown or quoted in a
  message (see `wording.quote`; `repr` works as well).
- A message or a name (an error, a note, a finding, a path) is escaped by `visible_message`, called by the renderer or
  the command line. The texts that it quotes are already escaped and are not changed again.
"""

from __future__ import annotations

import unicodedata

_MARKS = {" ": "·", "\n": "↵", "\t": "→", "\r": "\\r", "\\": "\\\\"}

BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))  # variation selectors
)
"""What Unicode classifies as letters, marks or symbols, or does not specify, but for which fonts draw nothing."""

# Control characters have no Unicode name; these matter to tokenizers.
_CONTROL_NAMES = {
    "\x00": "NULL",
    "\t": "TAB",
    "\n": "LINE FEED",
    "\r": "CARRIAGE RETURN",
    "\x1b": "ESCAPE",
    "\x7f": "DELETE",
    "\x85": "NEXT LINE",
}

_INVISIBLE_CATEGORIES = frozenset(["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"])


def visible(text: str | bytes, *, mark_spaces: bool = True) -> str:
    r"""Escape `text` so that every character is visible.

    Space, newline and tab become `·`, `↵` and `→`. A carriage return becomes `\r`; other control characters,
    format and bidirectional controls, blanks, private and unassigned code points become `\x1b`, `\u202e` or
    `\U000e0001`. A byte that is not UTF-8 becomes `\x80` and the like, whether it comes in bytes or as the
    lone surrogate that `surrogateescape` makes of it. A combining mark with nothing before it is escaped too.

    The result is unambiguous: two different texts never look the same. To ensure this, backslashes are doubled, and the
    marks that represent whitespace are escaped if the text itself contains them. Without `mark_spaces`, for quotes
    within a sentence, plain spaces are not changed.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    return _translate(text, _TEXT) if mark_spaces else _translate_words(text, _TEXT)


def visible_message(message: str) -> str:
    """Escape a message or a name, except for backslashes and marks, which belong to escapes, advice or paths in it.

    The results of `visible` and of this function itself are not changed.
    """
    return _translate_words(message, _MESSAGE)


def _translate_words(text: str, table: _Table) -> str:
    return " ".join(_translate(word, table) for word in text.split(" "))


def _translate(text: str, table: _Table) -> str:
    shown = text.translate(table)
    # subtle: a leading combining mark would be drawn over whatever precedes the text on the screen.
    if shown and shown[0] == text[0] and unicodedata.category(text[0]).startswith("M"):
        return _escape(text[0]) + shown[1:]
    return shown


def _escape(character: str) -> str:
    if character.isascii() or "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) & 0xFF:02x}"
    code_point = f"{ord(character):x}"
    return f"\\u{code_point:>04}" if len(code_point) <= len("ffff") else f"\\U{code_point:>08}"


class _Table(dict[int, str]):
    """Maps code points to how they are shown, computed on first use; those in `kept` are not changed."""

    def __init__(self, kept: str = "") -> None:
        super().__init__({ord(character): character for character in kept})

    def __missing__(self, code_point: int) -> str:
        character = chr(code_point)
        is_invisible = character in BLANK or unicodedata.category(character) in _INVISIBLE_CATEGORIES
        # subtle: "·", "↵" and "→" themselves are escaped, because they would be read as whitespace.
        is_mark = character in _MARKS.values()
        shown = _MARKS.get(character) or (_escape(character) if is_invisible or is_mark else character)
        self[code_point] = shown
        return shown


def code_points(text: str) -> list[str]:
    """Name each character, such as `U+0020 SPACE`; a byte that is not UTF-8 is `byte 0x80`."""
    return [_name(character) for character in text]


def _name(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"byte 0x{ord(character) & 0xFF:02X}"
    name = unicodedata.name(character, "") or _CONTROL_NAMES.get(character, "(no name)")
    return f"U+{ord(character):04X} {name}"


_TEXT = _Table()
_MESSAGE = _Table(kept="\\·↵→")
