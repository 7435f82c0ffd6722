import unicodedata
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.selection import thinned
from tokverify.engine import pre_pattern
from tokverify.engine.byte_level import byte_alphabet, from_byte_level, to_byte_level
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter
from tokverify.engine.unicode_version import has_unassigned

# Characters of all kinds, as old as Unicode 14, and then some whose kind depends on the version.
OLD = (
    "aZéßΩжאक中あ한ªʰǅ𝔸𐐀" "07½²Ⅷ٣०〇𝟗①" ".,!?'\"-_()/¿«…。，؟" "$+<=>^`|~€¬™🦙☃" "\u0301\u094d\u0e31\ufe0f\u20dd"
    " \t\n\v\f\r\x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000" "\0\x1c\x1f\x7f\xad\u200b\u200d\u2060\ufeff\ue000"
)  # fmt: skip
LETTERS_OF_15 = "\U0002ebf0\U0002ee5d\U00011f02\U0001e4d0"
NUMBERS_OF_15 = "\U00011f50\U0001d2c0"
UNKNOWN_IN_15 = "\u1c89\ua7cb\U000105c0\U00010d40\U0001ccf0\U0001cc00\u0897\u0378\uffff"
SPACES = set(" \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {
    chr(point) for point in range(0x2000, 0x200B)
}
TEXTS = st.text(OLD + LETTERS_OF_15 + NUMBERS_OF_15 + UNKNOWN_IN_15 + "'  \n\nastlvdmreSTLVDMRE11", max_size=25)


def kind(character: str) -> str:
    """Return the class of a character in Unicode 15.1: `L` letter, `N` number, ` ` space, `.` other, `` the end."""
    if character in SPACES or not character:
        return character and " "
    if character in LETTERS_OF_15 or character in NUMBERS_OF_15:
        return "L" if character in LETTERS_OF_15 else "N"
    category = unicodedata.category(character)[0]
    return category if category in "LN" and character not in UNKNOWN_IN_15 else "."


def scan(text: str, step: Callable[[str], int]) -> list[str]:
    """Split a text with a function that returns the length of the next pre-token."""
    found = []
    while text:
        length = step(text)
        found.append(text[:length])
        text = text[length:]
    return found


def run(text: str, start: int, *kinds: str, limit: int = 1_000) -> int:
    """Where a run of characters of these kinds that begins at `start` ends."""
    end = start
    while end - start < limit and kind(text[end : end + 1]) in kinds:
        end += 1
    return end


def contraction(text: str) -> int:
    for ending in ("s", "t", "m", "d", "re", "ve", "ll"):
        if text.startswith("'" + ending):
            return 1 + len(ending)
    return 0


def spaces(text: str) -> int:
    """The last space of several stays for what follows."""
    length = run(text, 0, " ")
    return length - 1 if 1 < length < len(text) else length


def gpt2_step(text: str) -> int:
    if contraction(text):
        return contraction(text)
    start = 1 if text[0] == " " else 0
    for kinds in "L", "N", ".":
        end = run(text, start, kinds)
        if end > start:
            return end
    return spaces(text)


def llama3_step(text: str, digits: int = 3) -> int:
    if text[0] == "'":
        lowered = "'" + "".join(chr(ord(mark) | 0x20) if mark.isascii() else mark for mark in text[1:3])
        if contraction(lowered):
            return contraction(lowered)
    first, second = kind(text[0]), kind(text[1:2])
    if first == "L" or (second == "L" and first != "N" and text[0] not in "\r\n"):
        return run(text, 1, "L")
    if first == "N":
        return run(text, 0, "N", limit=digits)
    start = 1 if text[0] == " " else 0
    end = run(text, start, ".")
    if end > start:
        return len(text) - len(text[end:].lstrip("\r\n"))
    blank = text[: run(text, 0, " ")]
    line_end = max(blank.rfind("\r"), blank.rfind("\n"))
    return line_end + 1 if line_end >= 0 else spaces(text)


def qwen2_step(text: str) -> int:
    return llama3_step(text, digits=1)


STEPS = {"gpt-2": gpt2_step, "llama-bpe": llama3_step, "qwen2": qwen2_step}


def cut(name: str, text: str) -> list[str]:
    return splitter(PRE_TOKENIZERS[name])(text)


@pytest.mark.parametrize(
    ("name", "text", "pre_tokens"),
    [
        ("gpt-2", "Hello world", ["Hello", " world"]),
        ("gpt-2", "a  b \n", ["a", " ", " b", " \n"]),
        ("gpt-2", "a\n\nb", ["a", "\n", "\n", "b"]),
        ("gpt-2", "I've 12345 it'S", ["I", "'ve", " 12345", " it", "'", "S"]),
        ("gpt-2", "x=1; é½", ["x", "=", "1", ";", " é", "½"]),
        ("gpt-2", "\u3000a", ["\u3000", "a"]),
        ("llama-bpe", "I'VE 12345\n\n b", ["I", "'VE", " ", "123", "45", "\n\n", " b"]),
        ("llama-bpe", "a.\n\nb \t\nc", ["a", ".\n\n", "b", " \t\n", "c"]),
        ("llama-bpe", "(word) \u3000x", ["(word", ")", " ", "\u3000x"]),
        ("llama-bpe", "a'LLb'Rec'vEd'De'Mf", ["a", "'LL", "b", "'Re", "c", "'vE", "d", "'D", "e", "'M", "f"]),
        ("llama-bpe", "'ſ", ["'ſ"]),
        ("qwen2", "don't 123", ["don", "'t", " ", "1", "2", "3"]),
        (
            "default",
            "Hi, it's $5.00 or 1234!",
            ["Hi", ",", " it", "'", "s", " ", "$", "5", ".", "00", " or", " ", "123", "4", "!"],
        ),
        ("mpt", "a  b", ["a", " ", " b"]),
        ("gemma4", "a b\n\n\n c", ["a b", "\n\n\n", " c"]),
        ("starcoder", "ab 12", ["ab", " ", "1", "2"]),
        ("deepseek-v3", "1234好的ok", ["123", "4", "好的", "ok"]),
        ("tekken", "HelloWorld ABc", ["Hello", "World", " ABc"]),
        ("tiny_aya", "x1234567", ["x", "1", "234", "567"]),
        ("qwen35", "नमस्ते", ["नमस्ते"]),
        ("qwen2", "नमस्ते", ["नमस", "्त", "े"]),
    ],
)
def test_examples_computed_by_hand(name: str, text: str, pre_tokens: list[str]):
    assert cut(name, text) == pre_tokens


def test_characters_newer_than_15_1_are_not_letters():
    # U+1C89 is a letter since Unicode 16, U+2EBF0 since 15.1.
    assert cut("gpt-2", "a\u1c89b\U0002ebf0") == ["a", "\u1c89", "b\U0002ebf0"]


@pytest.mark.parametrize("name", thinned(3, sorted(PRE_TOKENIZERS.keys() - {"mmbert"})))
def test_pre_tokens_tile_the_text(name: str):
    @settings(max_examples=30)
    @given(TEXTS)
    def check(text: str) -> None:
        pre_tokens = cut_by_name(text)
        assert "".join(pre_tokens) == text
        assert all(pre_tokens)

    cut_by_name = splitter(PRE_TOKENIZERS[name])
    check()


@pytest.mark.parametrize("name", STEPS)
def test_patterns_equal_the_hand_written_scan(name: str):
    @given(TEXTS)
    def check(text: str) -> None:
        assert cut_by_name(text) == scan(text, STEPS[name])

    cut_by_name = splitter(PRE_TOKENIZERS[name])
    check()


RUNS = st.lists(
    st.tuples(st.sampled_from(" \t\n\r\u3000\x85a1!'\u0378"), st.sampled_from([1, 1, 2, 3, 5, 700])), max_size=9
)


@given(RUNS)
def test_the_look_behind_of_jais_2_changes_nothing(runs: list[tuple[str, int]]):
    literal = replace(PRE_TOKENIZERS["jais-2"], patterns=(pre_pattern.JAIS2.replace(r"(?<![^\S\r\n])", ""),))
    text = "".join(character * count for character, count in runs)
    assert splitter(PRE_TOKENIZERS["jais-2"])(text) == splitter(literal)(text)


def test_jais_2_splits_long_runs_of_spaces_in_halves():
    cut = splitter(PRE_TOKENIZERS["jais-2"])
    assert list(map(len, cut(" " * 1000 + "a"))) == [512, 256, 128, 64, 32, 4, 2, 1, 2]
    assert list(map(len, cut(" " * 1023))) == [512, 256, 128, 64, 32, 16, 8, 4, 2, 1]
    assert list(map(len, cut(" " * 600 + "\n" + " " * 5))) == [601, 4, 1]


@pytest.mark.slow  # some 150,000 characters, each in four surroundings
@pytest.mark.parametrize("name", STEPS)
def test_patterns_equal_the_scan_for_every_character(name: str):
    cut_by_name = splitter(PRE_TOKENIZERS[name])
    for character in map(chr, range(0x110000)):
        if unicodedata.category(character) not in {"Cn", "Cs", "Co"} and not has_unassigned(character):
            text = f"a{character}1{character} {character}{character}'"
            assert cut_by_name(text) == scan(text, STEPS[name]), hex(ord(character))


def test_the_byte_alphabet_is_that_of_gpt2():
    alphabet = byte_alphabet()
    assert sorted(alphabet) == list(range(0x100))
    assert len(set(alphabet.values())) == 0x100
    assert [alphabet[byte] for byte in b" \n\t!~\x7f\xa0\xa1\xad\xff\x00"] == [*"ĠĊĉ!~ġł¡Ńÿ", "Ā"]


def test_byte_level_text_has_one_character_per_byte():
    assert to_byte_level("é \n🦙") == "Ã©ĠĊðŁ¦Ļ"
    assert from_byte_level("Ã©ĠĊðŁ¦Ļ") == "é \n🦙".encode()


@given(st.text())
def test_byte_level_can_be_undone(text: str):
    assert from_byte_level(to_byte_level(text)) == text.encode()


def test_characters_outside_the_alphabet_become_llama_cpps_placeholder():
    assert from_byte_level("a▁") == "a[UNK_BYTE_0xe29681a▁]".encode()
    assert from_byte_level(" ") == b"[UNK_BYTE_0x20 ]"
    assert from_byte_level("a\udcff") == b"a[UNK_BYTE_0xefbfbda\xff]"
    assert from_byte_level("\udced\udca0\udc80x") == b"[UNK_BYTE_0xeda080\xed\xa0\x80x]x"


def test_names_with_their_own_settings():
    names = PRE_TOKENIZERS
    assert {name for name, pre in names.items() if pre.add_bos} >= {"llama-bpe", "llama3", "tekken", "chameleon"}
    assert {name for name, pre in names.items() if not pre.has_bos} == {"chatglm-bpe", "glm4", "glm5"}
    assert {name for name, pre in names.items() if pre.add_sep} == {"jina-v1-en", "jina-v2-code", "roberta-bpe"}
    assert {name for name, pre in names.items() if not pre.byte_level} == {
        "gemma4", "granite-embed-multi-311m", "mmbert", "sarvam-moe", "whitespace",
    }  # fmt: skip
    assert {name for name, pre in names.items() if pre.always_bos} == {"gemma4", "granite-embed-multi-311m"}
    assert names["gpt-2"].clean_spaces
    assert not names["qwen2"].clean_spaces


def test_mmbert_adds_a_space_before_each_line_and_splits_at_each_space():
    cut = splitter(PRE_TOKENIZERS["mmbert"])
    assert cut("a▁b▁▁c\n\n▁d\u0378") == ["▁a", "▁b", "▁", "▁c", "\n\n", "▁d\u0378"]
