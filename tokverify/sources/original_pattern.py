"""Define the patterns that models publish and that llama.cpp's converter knows by a name.

llama.cpp splits differently by some of these names: combining marks are not parts of words for `gpt-4o` and `tekken`,
and its function for `kimi-k2` ignores case, too. What it does is in `engine/pre_pattern.py`.

The syntax is that of tiktoken; `regex` reads it in version 1.
"""

from __future__ import annotations

from collections.abc import Mapping

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)


def _words(number: str) -> str:
    other = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    return rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{number}|{other}"


def _cased_words(number: str, contraction: str = "", *, slash: str = "/", without: str = "") -> str:
    """Return a pattern for words that change from uppercase to lowercase at most once."""
    first = r"[^\r\n\p{L}\p{N}]?"
    upper = rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{without}]"
    lower = rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{without}]"
    words = f"{first}{upper}*{lower}+{contraction}|{first}{upper}+{lower}*{contraction}"
    return rf"{words}|{number}| ?[^\s\p{{L}}\p{{N}}]+[\r\n{slash}]*|\s*[\r\n]+|\s+(?!\S)|\s+"


O200K = _cased_words(r"\p{N}{1,3}", f"{_CONTRACTIONS}?")

ORIGINALS: Mapping[str, str] = {
    "gpt-2": GPT2,
    "llama-bpe": _words(r"\p{N}{1,3}"),
    "qwen2": _words(r"\p{N}"),
    "gpt-4o": O200K,
    "tekken": _cased_words(r"\p{N}"),
    "kimi-k2": r"[\p{Han}]+|" + _cased_words(r"\p{N}{1,3}", f"{_CONTRACTIONS}?", slash="", without=r"&&[^\p{Han}]"),
}
"""Name of a pre-tokenizer -> the pattern that the converter gives this name to."""
