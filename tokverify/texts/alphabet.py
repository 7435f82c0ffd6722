"""Characters and words that the generators build texts from."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby

Ranges = Sequence[tuple[int, int]]

WORDS = (
    "the", "of", "and", "token", "Hello", "WORLD", "iPhone", "don", "naïve", "Straße", "über", "señor", "œuvre",
    "İstanbul", "Привет", "ЁЖИК", "γλώσσα", "ΣΊΣΥΦΟΣ", "שלום", "مرحبا", "नमस्ते", "ভাষা", "ภาษาไทย", "한국어", "日本語",
    "かな", "カタカナ", "中文", "հայերեն", "ქართული", "አማርኛ", "தமிழ்", "ខ្មែរ", "བོད", "tiếng", "Việt",
    "x", "A", "I", "é", "ß", "🦙", "€", "1984",
)  # fmt: skip

SPACINGS = (
    " ", " ", " ", "", "  ", "   ", "\t", "\n", "\n\n", " \n", "\n ", "\r\n", " \t ", "\u00a0", "\u3000", "\u2009",
    " " * 8,
)  # fmt: skip

WHITESPACE = (
    " ", " ", "\t", "\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u00a0", "\u1680", "\u2002", "\u2009", "\u200a",
    "\u200b", "\u2028", "\u2029", "\u202f", "\u205f", "\u2060", "\u3000", "\ufeff",
)  # fmt: skip

DIGIT_ZEROS = "0٠०০๐０𝟎𝟬"
"""The zeros of several scripts; their other digits follow them."""

NUMBERS = tuple("²½⅓Ⅷⅻ①⑳㊿㆒〇零一十百千万൰፻")

NUMBER_SIGNS = ("", "", ",", ".", ":", "-", "/", "_", " ", "e", "E+", "x", "0x", "%", "$", "€", "°", "−", "'", "٫")

CONTRACTIONS = (
    "'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "'Ve", "'n", "'ſ", "’s", "’t", "'", "''", "' ", " '",
    "\"", "`", "ʼ", "′", "'s'", "'em", "o'", "L'", "d’",
)  # fmt: skip

MARKS: Ranges = ((0x300, 0x36F), (0x591, 0x5BD), (0x64B, 0x65F), (0x93A, 0x94D), (0xE31, 0xE3A), (0x1DC0, 0x1DFF),
                 (0x20D0, 0x20F0), (0x302A, 0x302F), (0x3099, 0x309A), (0xFE20, 0xFE2F))  # fmt: skip

JOINERS = ("\u200d", "\u200c", "\ufe0f", "\ufe0e", "\u20e3", "\u034f", "🏽", "🏿")

EMOJI = tuple("👩👨👧💻❤🏳🌈☠👍🇩🇪🇯🇵1#©🧑🤝🦰♀🫠")

JAMO: Ranges = ((0x1100, 0x1112), (0x1161, 0x1175), (0x11A8, 0x11C2))

SCRIPTS: Mapping[str, Ranges] = {
    "latin": ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x1E00, 0x1EFF)),
    "greek": ((0x391, 0x3C9), (0x1F00, 0x1F15)),
    "cyrillic": ((0x400, 0x481), (0x48A, 0x52F)),
    "armenian": ((0x531, 0x556), (0x561, 0x586)),
    "hebrew": ((0x5D0, 0x5EA),),
    "arabic": ((0x620, 0x65F), (0x671, 0x6D3)),
    "devanagari": ((0x904, 0x963),),
    "bengali": ((0x985, 0x9B9),),
    "tamil": ((0xB85, 0xBCD),),
    "thai": ((0xE01, 0xE3A), (0xE40, 0xE4E)),
    "lao": ((0xE81, 0xEDD),),
    "tibetan": ((0xF40, 0xF6C), (0xF71, 0xF84)),
    "georgian": ((0x10D0, 0x10FA), (0x1C90, 0x1CBA)),
    "ethiopic": ((0x1200, 0x1248),),
    "khmer": ((0x1780, 0x17D2),),
    "hiragana": ((0x3041, 0x3096), (0x3099, 0x309F)),
    "katakana": ((0x30A1, 0x30FF), (0xFF66, 0xFF9F)),
    "hangul": ((0xAC00, 0xD7A3),),
    "han": ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0xF900, 0xFA6D)),
    "full-width": ((0xFF01, 0xFF5E),),
    "mathematical": ((0x1D400, 0x1D7FF),),
    "emoji": ((0x1F300, 0x1F64F), (0x1F900, 0x1F9FF), (0x2600, 0x27BF)),
    "punctuation": ((0x21, 0x2F), (0x3A, 0x40), (0x2010, 0x2027), (0x3001, 0x3011)),
}

CODE = (
    "def ", "return ", "if ", "else:", "for (int i = 0; ", "i++", "class ", "import ", "self.", "foo_bar", "camelCase",
    "MAX_SIZE", "x", "n1", "(", ")", "[", "]", "{", "}", ";", ":", ",", "->", "=>", "==", "!=", "<=", "+=", "&&", "||",
    "::", "...", "**", "//", "/* ", " */", "# ", "<!--", "-->", "<div class=\"", "</div>", "#include <", ">", "0x1F",
    "1e-5", "\"str\"", "'c'", "`${x}`", "%d", "\\n", "\\u00e9", "@decorator", "$PATH", "~/.config", "a@b.co", "!", "?",
    "https://a.b/c?d=e&f", "|", "^", "~", " = ", "\n", "\n\n", "\n    ", "\n        ", "\n\t", "\n\t\t", "\r\n", "    ",
    "  ", " ", " ", "\t",
)  # fmt: skip

ODD = (
    "\0", "\ufeff", "\ufffd", "\ufffe", "\uffff", "\ufdd0", "\ufdef", "\U0001fffe", "\U0010ffff", "\x01", "\x07", "\b",
    "\x1b", "\x1f", "\x7f", "\x80", "\x9f", "\xad", "\u061c", "\u180e", "\u200e", "\u202e", "\u2066", "\u2069",
    "\u206a", "\u2028", "\u2029", "\U000e0001", "\U000e0041", "\U000e0100", "\ue000", "\uf8ff", "\U000f0000",
    "\U0010fffd", "\u0378", "\u05ff", "\u2fff", "\U0001f8ff", "\U0003ffff", "\U000dffff", "\u3164", "\u2800", "\u115f",
    "\ufff9", "▁", "▁▁", "Ġ", "Ċ", "##", "<0x0A>", "<0x00>", "<0xFF>", "[UNK]", "<unk>", "\\0", "&#0;", "%00",
)  # fmt: skip

_PLANE = 0x10000
_EMPTY_PLANES, _PRIVATE_PLANES = range(4, 14), range(15, 17)

UNIT_PATTERNS = ("{0}", "{0}{0}{1}", "{0}{1}", "{0} ", "{0}{1}{2}", "{0}{1}{0}{2}")


def _category_runs() -> Iterator[tuple[str, int]]:
    """Yield categories of code points in order, each with how many follow; planes without characters are not searched.

    Planes 4 to 13 are unassigned, and 15 and 16 are private, but for the last two code points of each.
    """
    for plane in range(17):
        if plane in _EMPTY_PLANES:
            yield "Cn", _PLANE
        elif plane in _PRIVATE_PLANES:
            yield from (("Co", _PLANE - 2), ("Cn", 2))
        else:
            characters = map(chr, range(plane * _PLANE, (plane + 1) * _PLANE))
            yield from (
                (category, len(list(group))) for category, group in groupby(map(unicodedata.category, characters))
            )


@cache
def category_ranges() -> Mapping[str, Ranges]:
    """Return the ranges of code points (first, last) of each Unicode category except surrogates, by its two letters."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    first = 0
    for category, size in _category_runs():
        known = ranges.setdefault(category, [])
        continues = bool(known) and known[-1][1] == first - 1
        start = known.pop()[0] if continues else first
        known.append((start, first + size - 1))
        first += size
    del ranges["Cs"]
    return ranges
