r"""Define the patterns used by pre-tokenizers, in the syntax of the `regex` library, version 1.

They describe what llama.cpp does, which is not always what its own patterns say: where a pattern names a kind of letter
such as `\p{Lu}`, llama.cpp accepts any letter, and it treats `\d` as an ASCII digit.

Source: `llm_tokenizer_bpe` in llama.cpp's `src/llama-vocab.cpp` and `unicode_regex_split` in `src/unicode.cpp`.
"""

from __future__ import annotations

from tokverify.engine.unicode_version import HAN

CONTRACTION = r"'(?:[stmd]|re|ve|ll)"
CONTRACTION_ANY_CASE = r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"

_SPACES = r"\s+(?!\S)|\s+"
_LINE_ENDS = rf"\s*[\r\n]+|{_SPACES}"
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_OTHER = r" ?[^\s\p{L}\p{N}]+"

DIGIT = r"\p{N}"
DIGITS = r"\p{N}+"
UP_TO_3_DIGITS = r"\p{N}{1,3}"
THREE_ASCII_DIGITS = "[0-9][0-9][0-9]"
BEFORE_ASCII_THOUSANDS = "(?=(?:[0-9]{3})+(?![0-9]))"
LINES = r"[^\n]+|\n+"
LINE_END = r"[\r\n]"
NOT_SPACE = r"\S+"
TRAILING_SPACE = r"\s+\Z"
DEFAULT_PUNCTUATION = r"[\p{P}$+<=>^~|]+"
FALCON_PUNCTUATION = r"[\p{P}$+<=>^~|`]+"
SPACE_AND_LETTERS = r"\s?\p{L}+"
SPACE_AND_PUNCTUATION = r"\s?\p{P}+"
BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"

GPT2 = rf"{CONTRACTION}| ?\p{{L}}+| ?\p{{N}}+|{_OTHER}|{_SPACES}"
LLAMA3 = rf"{CONTRACTION_ANY_CASE}|{_WORD}|{UP_TO_3_DIGITS}|{_OTHER}[\r\n]*|{_LINE_ENDS}"
# subtle: without the look-behind, each part of a long run of spaces would search the whole run for a newline. A match
# preceded by a space other than a newline contains none: only the alternatives below stop within a run of spaces.
JAIS2 = (
    rf"{CONTRACTION_ANY_CASE}|{_WORD}|{UP_TO_3_DIGITS}|{_OTHER}[\r\n]*|(?<![^\S\r\n])\s*[\r\n]+"
    + "".join(rf"|\s{{{length}}}(?!\S)" for length in (512, 256, 128, 64, 32, 16, 8, 4, "1,2"))
    + r"|\s"
)
QWEN2 = rf"{CONTRACTION_ANY_CASE}|{_WORD}|{DIGIT}|{_OTHER}[\r\n]*|{_LINE_ENDS}"
QWEN35 = (
    rf"{CONTRACTION_ANY_CASE}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|{DIGIT}"
    rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_LINE_ENDS}"
)
UFAKZEKA = rf"{_WORD}|{DIGIT}|{_OTHER}[\r\n]*|{_LINE_ENDS}"
MINICPM5 = rf"{CONTRACTION_ANY_CASE}|{_WORD}|{DIGITS}|{_OTHER}[\r\n]*|{_LINE_ENDS}"
BAILINGMOE = rf"{CONTRACTION_ANY_CASE}|{_WORD}|{DIGIT}|{_OTHER}[\r\n]*|\s*[\r\n]|{_SPACES}"
SEED_CODER = rf"{CONTRACTION_ANY_CASE}|{_WORD}|{DIGIT}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_LINE_ENDS}"
EXAONE_MOE = (
    rf"{CONTRACTION_ANY_CASE}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|{DIGIT}"
    rf"|{_OTHER}[\r\n/]?|\s*[\r\n]|{_SPACES}"
)
KIMI_K2 = (
    rf"[{HAN}]+|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}--[{HAN}]]+(?:{CONTRACTION_ANY_CASE})?|{UP_TO_3_DIGITS}"
    rf"|{_OTHER}[\r\n]*|{_LINE_ENDS}"
)


def _cased_words(letter: str, contraction: str, number: str) -> str:
    """Return the pattern for words that change from uppercase to lowercase at most once."""
    upper, lower = rf"[{letter}--[a-z]]", rf"[{letter}--[A-Z]]"
    first = r"[^\r\n\p{L}\p{N}]?"
    words = f"{first}{upper}*{lower}+{contraction}|{first}{upper}+{lower}*{contraction}"
    return rf"{words}|{number}|{_OTHER}[\r\n/]*|{_LINE_ENDS}"


_OPTIONAL_CONTRACTION = f"(?:{CONTRACTION_ANY_CASE})?"
TEKKEN = _cased_words(r"\p{L}", "", DIGIT)
GPT4O = _cased_words(r"\p{L}", _OPTIONAL_CONTRACTION, UP_TO_3_DIGITS)
GRANITE_EMBED = _cased_words(r"[\p{L}\p{M}]", _OPTIONAL_CONTRACTION, UP_TO_3_DIGITS)
_WORD_WITH_MARKS = rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+{_OPTIONAL_CONTRACTION}"
TINY_AYA = rf"{_WORD_WITH_MARKS}|{UP_TO_3_DIGITS}|{_OTHER}[\r\n/]*|{_LINE_ENDS}"
YOUTU = rf"{_WORD_WITH_MARKS}|{DIGIT}|{_OTHER}[\r\n/]*|{_LINE_ENDS}"
YOUTU_SCRIPTS = r"[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-ゟ゠-ヿ]+"

_CONTRACTION_WITH_LONG_S = r"'(?:[sStTmMdDſ]|[rR][eE]|[vV][eE]|[lL][lL])"
_WORD_WITH_JOINERS = r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}\u200c\u200d]+"
K2_HORIZON = rf"{_CONTRACTION_WITH_LONG_S}|{_WORD_WITH_JOINERS}|{UP_TO_3_DIGITS}|{_OTHER}[\r\n]*|{_LINE_ENDS}"

_ASCII_PUNCTUATION_WORD = r"[!-/:-@\[-`{-~][A-Za-z]+"
_DEEPSEEK_WORD = rf"{_ASCII_PUNCTUATION_WORD}|[^\r\n\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+| ?[\p{{P}}\p{{S}}]+"
DEEPSEEK3 = rf"{_DEEPSEEK_WORD}[\r\n]*|{_LINE_ENDS}"
SPARK2_5 = rf"{_DEEPSEEK_WORD}|[\r\n]|{_SPACES}"
DEEPSEEK_CJK = r"[一-龥ࠀ-一가-\ud7ff]+"
DEEPSEEK3_CJK = r"[一-龥\u3040-ゟ゠-ヿ]+"
DEEPSEEK_PUNCTUATION = r"\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"
DEEPSEEK_LETTERS = (
    r"A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-"
    r"ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-"
    r"𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
DEEPSEEK_WORD = rf"\s?[{DEEPSEEK_LETTERS}]+"
AFMOE_SCRIPTS = (
    r"[一-鿿㐀-䶿豈-\ufaff\u3040-ゟ゠-ヿ･-ﾟ⼀-\u2fdfเ-\u0e7f\u0e80-\u0effក-\u17ffက-႟ꩠ-ꩿꧠ-\ua9ff가-\ud7afᄀ-ᇿ]+"
)

CHAMELEON_SENTINEL = "<sentinel:[0-9]+>"
CHAMELEON_IMAGE = "IMGIMG[A-I]{1,4}Z"
CHAMELEON_SPACE = r"[\t\n]|    |  "
CHAMELEON_PUNCTUATION = r"[\p{P}!-/:-@\[-`{-~]"

COVERING = frozenset(
    {GPT2, LLAMA3, JAIS2, QWEN2, QWEN35, UFAKZEKA, BAILINGMOE, SEED_CODER, EXAONE_MOE, KIMI_K2, TEKKEN, GPT4O}
    | {GRANITE_EMBED, TINY_AYA, YOUTU, MINICPM5, K2_HORIZON, LINES}
)
"""Patterns that match at every position, so that there is never any text between two matches."""
