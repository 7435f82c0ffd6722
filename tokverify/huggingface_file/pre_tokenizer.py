"""Find the `tokenizer.ggml.pre` name that cuts texts as a tokenizer.json's pre-tokenizer does.

GGUF holds no patterns, only names, and the same behavior can be written in many ways; so both cut the same texts, and
the results are compared. Where llama.cpp's own version of a pattern departs from the original one, as it does for the
combining marks in those of GPT-4o and Tekken, there is no name that agrees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.errors import UnsupportedError
from tokverify.pre_tokenizer import PRE_TOKENIZERS, from_byte_level, splitter, to_byte_level
from tokverify.references.library_error import raised_as
from tokverify.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokverify.huggingface_file.document import Document
    from tokverify.pre_tokenizer import PreTokenizer

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


def find_pre_tokenizer(document: Document, *, adds_bos: bool, ignore_merges: bool) -> str:
    """Return the name that cuts all `PROBES` alike and implies the same `ignore_merges`.

    Of several such names, the first one that also implies the same about BOS.

    Raises:
        UnsupportedError: If there is none.
    """
    with raised_as(UnsupportedError, f"{document.source}: pre_tokenizer: cannot cut a text"):
        cut = [[piece for piece, _ in document.library.pre_tokenizer.pre_tokenize_str(text)] for text in PROBES]
    agreeing = [name for name in _byte_level_names() if all(_agreement(name, cut))]
    names = [name for name in agreeing if PRE_TOKENIZERS[name].ignore_merges == ignore_merges]
    if names:
        return min(names, key=lambda name: _implies_otherwise(PRE_TOKENIZERS[name], adds_bos=adds_bos))
    if agreeing:
        raise document.unsupported(
            "model.ignore_merges",
            f"is {ignore_merges}, but where llama.cpp cuts texts as this pre-tokenizer does "
            f"({', '.join(agreeing)}), it is always {not ignore_merges}",
        )
    raise document.unsupported("pre_tokenizer", _nearest(cut))


def _byte_level_names() -> list[str]:
    return [name for name, pre_tokenizer in PRE_TOKENIZERS.items() if pre_tokenizer.byte_level]


def _agreement(name: str, cut: Sequence[Sequence[str]]) -> Iterator[bool]:
    """Tell of each probe, one by one, whether it is cut so."""
    split = splitter(PRE_TOKENIZERS[name])
    return (list(map(to_byte_level, split(text))) == pieces for text, pieces in zip(PROBES, cut, strict=True))


def _implies_otherwise(pre_tokenizer: PreTokenizer, *, adds_bos: bool) -> tuple[bool, bool]:
    return not pre_tokenizer.has_bos, pre_tokenizer.add_bos != adds_bos


def _nearest(cut: Sequence[Sequence[str]]) -> str:
    name = max(_byte_level_names(), key=lambda name: sum(_agreement(name, cut)))
    index = list(_agreement(name, cut)).index(False)
    theirs = splitter(PRE_TOKENIZERS[name])(PROBES[index])
    ours = [from_byte_level(piece).decode(errors="replace") for piece in cut[index]]
    differing = next((pair for pair in zip(theirs, ours, strict=False) if pair[0] != pair[1]), (theirs[-1], ours[-1]))
    return (
        f"llama.cpp has none that cuts texts so; the nearest, {name}, cuts off {visible(differing[0])} where this one "
        f"cuts off {visible(differing[1])}"
    )
