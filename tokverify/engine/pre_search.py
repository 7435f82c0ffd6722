"""Search for the `tokenizer.ggml.pre` name that cuts texts as another pre-tokenizer does.

GGUF holds no patterns, only names, and the same behavior can be written in many ways; so both cut the same texts, and
the results are compared. Where llama.cpp's own version of a pattern departs from the original one, as it does for the
combining marks in those of GPT-4o and Tekken, there is no name that agrees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, from_byte_level, splitter, to_byte_level
from tokverify.text.visible import visible

if TYPE_CHECKING:
    from tokverify.engine.pre_tokenizer import PreTokenizer

    Cut = Sequence[Sequence[str]]

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
    "(a) [b] {c} <d> a+b=c $5 5$ #tag @me x^2 ~y |z| `code` ``` a/b//c \\n http://a.b/c?d=e&f",
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
"""Texts that any two different pre-tokenizers of llama.cpp cut differently somewhere.

They hold no character that is newer than llama.cpp's Unicode tables.
"""

_USUAL = ("gpt-2", "llama-bpe", "qwen2")
"""The names that llama.cpp's converter gives the models most files come from; others stand for the same."""


@dataclass(frozen=True, slots=True)
class PreTokenizerMatch:
    """Which texts show that a name is right: `texts` were cut alike, into `pre_tokens` parts in all.

    `alike` are the other names that cut them so and imply the same `ignore_merges`: they give the same ids. Those of
    `unlike_in_merges` cut them so too, and imply the opposite.
    """

    name: str
    texts: tuple[str, ...]
    pre_tokens: int
    alike: tuple[str, ...]
    unlike_in_merges: tuple[str, ...]


def names_that_cut(cut: Cut) -> list[str]:
    """Return the names that cut all `PROBES` so; `cut` holds, for each, the parts in the GPT-2 alphabet."""
    return [name for name in _byte_level_names() if all(_agreement(name, cut))]


def best_name(names: Sequence[str], *, adds_bos: bool | None = None) -> str:
    """Choose among names that give the same ids: one that also implies the same of BOS, the usual one if there is.

    Where it is not known whether BOS goes before a text, what a name implies of that does not count.
    """
    return min(names, key=lambda name: (*_implies_otherwise(PRE_TOKENIZERS[name], adds_bos), name not in _USUAL))


def match_of(name: str) -> PreTokenizerMatch:
    """Return what shows that a name, which was found by `PROBES`, is right, and what else could stand in its place."""
    split = splitter(PRE_TOKENIZERS[name])
    cut = [list(map(to_byte_level, split(text))) for text in PROBES]
    others = [other for other in names_that_cut(cut) if other != name]
    ignores = PRE_TOKENIZERS[name].ignore_merges
    return PreTokenizerMatch(
        name,
        texts=PROBES,
        pre_tokens=sum(map(len, cut)),
        alike=tuple(other for other in others if PRE_TOKENIZERS[other].ignore_merges == ignores),
        unlike_in_merges=tuple(other for other in others if PRE_TOKENIZERS[other].ignore_merges != ignores),
    )


def no_such_name(cut: Cut) -> str:
    """Say that no name cuts `PROBES` so, which one is nearest, and where it departs."""
    name = max(_byte_level_names(), key=lambda name: sum(_agreement(name, cut)))
    index = list(_agreement(name, cut)).index(False)
    theirs = splitter(PRE_TOKENIZERS[name])(PROBES[index])
    ours = [from_byte_level(piece).decode(errors="replace") for piece in cut[index]]
    differing = next((pair for pair in zip(theirs, ours, strict=False) if pair[0] != pair[1]), (theirs[-1], ours[-1]))
    return (
        f"llama.cpp has none that cuts texts so; the nearest, {name}, cuts off {visible(differing[0])} where this one "
        f"cuts off {visible(differing[1])}"
    )


def _byte_level_names() -> list[str]:
    return [name for name, pre_tokenizer in PRE_TOKENIZERS.items() if pre_tokenizer.byte_level]


def _agreement(name: str, cut: Cut) -> Iterator[bool]:
    """Tell of each probe, one by one, whether it is cut so."""
    split = splitter(PRE_TOKENIZERS[name])
    return (list(map(to_byte_level, split(text))) == pieces for text, pieces in zip(PROBES, cut, strict=True))


def _implies_otherwise(pre_tokenizer: PreTokenizer, adds_bos: bool | None) -> tuple[bool, bool]:
    return not pre_tokenizer.has_bos, adds_bos not in {None, pre_tokenizer.add_bos}
