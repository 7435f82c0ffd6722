"""Make any text or bytes safe and readable for eyes: nothing invisible, nothing a terminal would obey.

Data is kept as it is, and shown once:

- A text (a piece, a case's text, a value out of a file) goes through `visible`, called by whoever shows it, or quotes
  it in a message (`wording.quoted`; `repr` does as well).
- A message or a name (an error, a note, a finding, a path) goes through `visible_message`, called by whoever shows it,
  a renderer or the command line. What a message quotes is escaped by then, and stays as it is.
"""

from __future__ import annotations

import unicodedata

_MARKS = {" ": "·", "\n": "↵", "\t": "→", "\r": "\\r", "\\": "\\\\"}

# Unicode calls these letters, marks or symbols (or leaves the choice open), and yet no font draws anything.
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))  # variation selectors
)

_UNSEEN = frozenset(["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"])


def visible(text: str | bytes, *, mark_spaces: bool = True) -> str:
    r"""Show every character of `text`, invisible ones included.

    Space, newline and tab become `·`, `↵` and `→`. A carriage return becomes `\r`; other control characters,
    format and bidirectional controls, blanks, private and unassigned code points become `\x1b`, `\u202e` or
    `\U000e0001`. A byte that is not UTF-8 becomes `\x80` and the like, whether it comes in bytes or as the
    lone surrogate that `surrogateescape` makes of it. A combining mark with nothing before it is escaped too.

    The result is unambiguous: two different texts never look the same. For that, a backslash is doubled and the marks
    that stand for white space are escaped where a text holds them itself. Without `mark_spaces`, for what is quoted
    among words, plain spaces stay as they are.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    return _translated(text, _TEXT) if mark_spaces else _word_by_word(text, _TEXT)


def visible_message(message: str) -> str:
    """Show a message or a name, in which backslashes and marks are what is to be read: of escapes, advice, or a path.

    What `visible` or this function made stays as it is.
    """
    return _word_by_word(message, _MESSAGE)


def _word_by_word(text: str, table: _Table) -> str:
    return " ".join(_translated(word, table) for word in text.split(" "))


def _translated(text: str, table: _Table) -> str:
    shown = text.translate(table)
    # subtle: a leading mark would be drawn on whatever happens to stand before the text on the screen.
    if shown and shown[0] == text[0] and unicodedata.category(text[0]).startswith("M"):
        return _escape(text[0]) + shown[1:]
    return shown


def _escape(character: str) -> str:
    if character.isascii() or "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) & 0xFF:02x}"
    code_point = f"{ord(character):x}"
    return f"\\u{code_point:>04}" if len(code_point) <= len("ffff") else f"\\U{code_point:>08}"


class _Table(dict[int, str]):
    """Works out how to show a code point when it is first met; those of `kept` stay as they are."""

    def __init__(self, kept: str = "") -> None:
        super().__init__({ord(character): character for character in kept})

    def __missing__(self, code_point: int) -> str:
        character = chr(code_point)
        unseen = character in _BLANK or unicodedata.category(character) in _UNSEEN
        # subtle: "·", "↵" and "→" themselves are escaped, or they would read as white space.
        marked = character in _MARKS.values()
        shown = _MARKS.get(character) or (_escape(character) if unseen or marked else character)
        self[code_point] = shown
        return shown


_TEXT = _Table()
_MESSAGE = _Table(kept="\\·↵→")
