"""The unigram model of the native engine compared with the Python engine, and both compared with llama.cpp."""

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.charsmap_maker import make_charsmap
from support.spec_maker import unigram_spec
from tokverify.engine import encoder as encoders
from tokverify.engine.text_pipeline import TextPipeline
from tokverify.errors import BrokenFileError, EncodeError
from tokverify.references.llama_cpp import LlamaCppTokenizer
from tokverify.spec import TokenizerSpec, TokenType

NORMAL, USER_DEFINED, UNUSED = (type.value for type in (TokenType.NORMAL, TokenType.USER_DEFINED, TokenType.UNUSED))
FLAGS = ("add_bos", "add_eos", "add_space_prefix", "remove_extra_whitespaces")

letters = st.text("ab é–—€か\u3099▁ \u0301\n", max_size=4)
some_scores = st.sampled_from([-1.0, -2.0, -1.5, -0.1, -3.3, -(2.0**-24), -(2.0**30), 0.0, 1.0])
parts = st.sampled_from(["\udce2", "\udcc3", "\udce2\udc80", "\udcbd", "a\udce2\udcef\udcbf", "\udc80b"])


@st.composite
def specs(draw: st.DrawFn) -> TokenizerSpec:
    scores = draw(st.dictionaries(letters.filter(bool) | parts, some_scores, min_size=1, max_size=25))
    kinds = st.sampled_from([NORMAL] * 6 + [USER_DEFINED, UNUSED])
    charsmap = draw(st.none() | st.dictionaries(letters.filter(bool), letters, max_size=8).map(make_charsmap))
    if charsmap and draw(st.booleans()):
        place, byte = draw(st.integers(4, len(charsmap) - 1)), draw(st.integers(0, 255))
        charsmap = charsmap[:place] + bytes([byte]) + charsmap[place + 1 :]
    types = {piece: draw(kinds) for piece in scores}
    return unigram_spec(
        scores, types, charsmap=charsmap, **{name: draw(st.none() | st.booleans()) for name in FLAGS[2:]}
    )


def assert_engines_agree(spec: TokenizerSpec, texts: list[str]) -> None:
    encoder = encoders.Encoder(spec)
    plain = TextPipeline(spec, encoder.settings)
    for text in texts:
        assert outcome(encoder.encode, text) == outcome(plain.encode, text)


def outcome(encode: Callable[..., list[int]], text: str) -> list[int] | None:
    try:
        return encode(text, add_special=True, parse_special=True)
    except EncodeError:
        return None


@settings(max_examples=100)
@given(specs(), st.lists(st.lists(letters, max_size=12).map("".join), min_size=1, max_size=5))
def test_both_engines_agree(spec: TokenizerSpec, texts: list[str]):
    with suppress(BrokenFileError):
        assert_engines_agree(spec, texts)


def random_texts(spec: TokenizerSpec, count: int, seed: int) -> list[str]:
    choose = random.Random(seed)  # noqa: S311 - texts, not secrets
    shown = [token.replace("▁", " ") for token in spec.tokens]
    strange = "  \n\t\u3000\0\ufeff\ufffd▁—“”€£①ﬁ\u0301\u3099か각😀\U000e0041<"
    ranges = [(1, 0x3000), (0x2000, 0x2FFF), (0x3000, 0xD7FF), (0xE000, 0x10FFFF)]
    return [
        "".join(
            choose.choice([choose.choice(shown), choose.choice(strange), chr(choose.randint(*choose.choice(ranges)))])
            for _ in range(choose.randrange(1, 20))
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("name", ["t5", "xlnet"])
def test_both_engines_agree_on_real_vocabularies(shared: Path, spec_of: Callable[[str], TokenizerSpec], name: str):
    spec = spec_of(name)
    texts = random_texts(spec, 300, seed=1)
    for language in ("en", "ja"):
        corpus = (shared / "corpus" / f"{language}.txt").read_text(encoding="utf-8")
        texts += [corpus[start : start + 300] for start in range(0, 30_000, 1000)]
    assert_engines_agree(spec, texts)


# Against llama.cpp itself.


def random_spec(seed: int) -> TokenizerSpec:
    choose = random.Random(seed)  # noqa: S311 - texts, not secrets
    some = "ab é–—€か\u3099▁ \u0301\n"
    texts = ["".join(choose.choices(some, k=choose.choice([1, 1, 2, 3, 4]))) for _ in range(60)]
    broken = ["\udce2", "\udce2\udcef\udcbf", "\udcbd", "\udc80b", "\udcc3"]
    scores = {piece: -choose.choice([1, 2, 1.5, choose.random() * 9]) for piece in [*texts, *broken]}
    types = {piece: choose.choice([NORMAL] * 9 + [USER_DEFINED, UNUSED]) for piece in texts}
    map_of = {text: "".join(choose.choices(some, k=choose.choice([0, 1, 2]))) for text in texts[:20] if text != "\n"}
    flags = {name: choose.choice([None, False, True]) for name in FLAGS[1:]}
    return unigram_spec(scores, types, charsmap=choose.choice([None, make_charsmap(map_of)]), **flags)


@pytest.mark.parametrize("seed", range(6))
def test_llama_cpp_agrees(llama_cpp: Callable[..., tuple[encoders.Encoder, LlamaCppTokenizer]], seed: int):
    spec = random_spec(seed)
    encoder, reference = llama_cpp(spec)
    texts = [*random_texts(spec_without_broken(spec), 200, seed), "", "a", "\n"]
    expected = reference.encode_many(texts, add_special=True, parse_special=True)
    assert [encoder.encode(text, add_special=True) for text in texts] == expected
    assert [encoder.decode(ids, clean_up=True) for ids in expected] == reference.decode_many(expected)
    reference.close()


def spec_without_broken(spec: TokenizerSpec) -> TokenizerSpec:
    whole = [token.encode("utf-8", "surrogateescape").decode(errors="ignore") for token in spec.tokens]
    return replace(spec, tokens=whole)
