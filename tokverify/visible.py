"""Make any text or bytes safe and readable for eyes: nothing invisible, nothing a terminal would obey.

The result is unambiguous: two different inputs never look the same. For that, a backslash is doubled and the
marks that stand for white space are escaped where a text holds them itself.
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
    Without `mark_spaces`, for names and messages, plain spaces stay as they are.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    if not mark_spaces:
        return " ".join(visible(word) for word in text.split(" "))
    shown = text.translate(_TABLE)
    # subtle: a leading mark would be drawn on whatever happens to stand before the text on the screen.
    if shown and shown[0] == text[0] and unicodedata.category(text[0]).startswith("M"):
        return _escape(text[0]) + shown[1:]
    return shown


def visible_message(message: str) -> str:
    """Show a message, in which backslashes are what is to be read: those of escapes, of advice, of Windows paths."""
    return visible(message, mark_spaces=False).replace("\\\\", "\\")


def _escape(character: str) -> str:
    if character.isascii() or "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) & 0xFF:02x}"
    code_point = f"{ord(character):x}"
    return f"\\u{code_point:>04}" if len(code_point) <= len("ffff") else f"\\U{code_point:>08}"


class _Table(dict[int, str]):
    """Works out how to show a code point when it is first met."""

    def __missing__(self, code_point: int) -> str:
        character = chr(code_point)
        unseen = character in _BLANK or unicodedata.category(character) in _UNSEEN
        # subtle: "·", "↵" and "→" themselves are escaped, or they would read as white space.
        marked = character in _MARKS.values()
        shown = _MARKS.get(character) or (_escape(character) if unseen or marked else character)
        self[code_point] = shown
        return shown


_TABLE = _Table()
