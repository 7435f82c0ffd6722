"""Find the `tokenizer.ggml.pre` name that splits texts like another pre-tokenizer.

GGUF stores no patterns, only names, and the same behavior can be expressed in many ways. Therefore both split the same
texts, and the results are compared. No name matches where llama.cpp's version of a pattern differs from the original,
as it does for combining marks in those of GPT-4o and Tekken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from tokverify.engine.byte_level import from_byte_level, to_byte_level
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer, splitter
from tokverify.text.sequence import common_length
from tokverify.text.wording import quote

PreTokens = Sequence[Sequence[str]]

PROBES = (
    "Hello world! It's we'll I'VE can'T they'Re 's 'S 'tis the 'Very best; x's x' don’t it'Swe'll",
    "a  b   c \t d\t\te \n f\n\ng \r\n\r\n h\n  \n   i  ",
    "   leading",
    "trailing   ",
    "\n\n",
    "\n \n\t\n x",
    "x\n",
    "\t\tz",
    "0 12 345 6789 1234567890 12345678901 3.14 1,234,567.89 v1.2.3 x86 2nd  1   22",
    "½ ⅓ ²³ ٣٤٥٦ Ⅷ",
    "foo_bar fooBar FOOBar camelCaseWord XMLHttpRequest iPhone ABC abc Abc aBc",
    "(a) [b] {c} <d> a+b=c $5 5$ #tag @me x^2 ~y |z| `code`. ``` a/b//c \\n http://a.b/c?d=e&f",
    "!!! ... ?! ---===*** \n!!\n ;;\n\n ://\n /\n//\nword.\n\nNext (x)\n",
    "a-b - c e- --f .g h. ,i j,k 'x' \"y\" «z» €5 £ ± × © ™ ° § ¡ ¿",
    "naïve café e\u0301x a\u0300\u0301",
    "नमस्ते सีखना สวัสดี ខ្មែរ မြန်မာ ລາວ",
    "你好世界 中文123中文abc 日本語テスト ひらがな カタカナ ｶﾀｶﾅ 한국어 ㄱㄴ ㄅㄆ，。！？、：；“引号”‘x’——…",
    "привет мир Ελληνικά עברית العربية ქართული",
    "😀😀 👩\u200d👩\u200d👧 🇩🇪 ✅ a😀b 😀",
    "\u00a0nbsp\u00a0\u00a0x \u2028 \u2003em\u3000y \u200bzwsp \ufeffbom",
    "<sentinel:12> IMGIMGABCDZ IMGIMGAZ     five  two",
    "x".join(" " * length for length in (1, 2, 3, 4, 8, 9, 17, 64, 600)),
)
"""Texts that distinguish any two different pre-tokenizers of llama.cpp.

They contain no character that is newer than llama.cpp's Unicode tables.
"""

_USUAL = ("gpt-2", "llama-bpe", "qwen2")
"""The names that llama.cpp's converter gives most models; other names are synonyms."""


@dataclass(frozen=True, slots=True)
class PreTokenizerMatch:
    """The evidence for a name, and the names that could replace it."""

    name: str
    texts: tuple[str, ...]
    """The texts that were split in the same way."""
    pre_tokens: int
    """The total number of pre-tokens."""
    alike: tuple[str, ...]
    """Other names that split the texts in the same way and imply the same `ignore_merges`, so their ids are equal."""
    unlike_in_merges: tuple[str, ...]
    """Other names that split the texts in the same way but imply the opposite `ignore_merges`."""


def find_matching_names(pre_tokens: PreTokens) -> list[str]:
    """Return the names that split all `PROBES` into `pre_tokens`, written in the GPT-2 alphabet."""
    return [name for name in _byte_level_names() if all(_compare(name, pre_tokens))]


def choose_name(names: Sequence[str], *, adds_bos: bool | None = None, cleans_spaces: bool | None = None) -> str:
    """Choose among names with the same ids: prefer the same default for BOS, then the same decoding, then usual names.

    Args:
        names: The names.
        adds_bos: Whether BOS is added; None if that is unknown, so that the default is ignored.
        cleans_spaces: Whether decoding removes spaces before punctuation; None if that is unknown.
    """

    def rank(name: str) -> tuple[bool, ...]:
        pre_tokenizer = PRE_TOKENIZERS[name]
        begins_otherwise = adds_bos not in {None, pre_tokenizer.add_bos}
        decodes_otherwise = cleans_spaces not in {None, pre_tokenizer.clean_spaces}
        return not pre_tokenizer.has_bos, begins_otherwise, decodes_otherwise, name not in _USUAL

    return min(names, key=rank)


def find_match(name: str, pre_tokens: PreTokens | None = None) -> PreTokenizerMatch:
    """Return the evidence for a name, and the names that could replace it.

    Args:
        name: The name.
        pre_tokens: What `PROBES` were split into, in the GPT-2 alphabet; None if the name splits all of them so.
    """
    own = [_split_probe(PRE_TOKENIZERS[name], text) for text in PROBES]
    alike = [text for text, pieces, wanted in zip(PROBES, own, pre_tokens or own, strict=True) if pieces == wanted]
    others = [other for other in find_matching_names(own) if other != name]
    ignores = PRE_TOKENIZERS[name].ignore_merges
    return PreTokenizerMatch(
        name,
        texts=tuple(alike),
        pre_tokens=sum(len(pieces) for text, pieces in zip(PROBES, own, strict=True) if text in alike),
        alike=tuple(other for other in others if PRE_TOKENIZERS[other].ignore_merges == ignores),
        unlike_in_merges=tuple(other for other in others if PRE_TOKENIZERS[other].ignore_merges != ignores),
    )


def explain_no_match(pre_tokens: PreTokens) -> str:
    """Explain that no name splits `PROBES` like this, which name is most similar, and where it differs."""
    name = max(_byte_level_names(), key=lambda name: sum(_compare(name, pre_tokens)))
    difference = describe_difference(name, PROBES, pre_tokens)
    return f"llama.cpp has no pre-tokenizer that splits texts like this; the most similar, {name}, {difference}"


def describe_difference(name: str, texts: Sequence[str], pre_tokens: PreTokens) -> str | None:
    """Say where a name first splits one of the texts differently; None if it splits all of them like `pre_tokens`."""
    split = splitter(PRE_TOKENIZERS[name])
    for text, pieces in zip(texts, pre_tokens, strict=True):
        theirs, ours = split(text), [from_byte_level(piece).decode(errors="replace") for piece in pieces]
        if theirs != ours:
            place = common_length(theirs, ours)
            return f"splits off {_piece_at(theirs, place)} where this one splits off {_piece_at(ours, place)}"
    return None


def _piece_at(pieces: Sequence[str], place: int) -> str:
    return quote(pieces[place]) if place < len(pieces) else "nothing"


def _byte_level_names() -> list[str]:
    return [name for name, pre_tokenizer in PRE_TOKENIZERS.items() if pre_tokenizer.byte_level]


def _compare(name: str, pre_tokens: PreTokens) -> Iterator[bool]:
    """Yield for each probe whether it is split in the same way."""
    for text, pieces in zip(PROBES, pre_tokens, strict=True):
        yield _split_probe(PRE_TOKENIZERS[name], text) == pieces


@cache
def _split_probe(pre_tokenizer: PreTokenizer, text: str) -> list[str]:
    """Split a probe; many names share a pre-tokenizer, and each file that is read is compared with all of them."""
    return list(map(to_byte_level, _make_splitter(pre_tokenizer)(text)))


@cache
def _make_splitter(pre_tokenizer: PreTokenizer) -> Callable[[str], list[str]]:
    return splitter(pre_tokenizer)
