from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.texts.sample import Sample
from tokverify.texts.shrink import shrink


def shrunk(text: str, fails: Callable[[str], bool]) -> str:
    assert fails(text)
    return shrink(Sample(text, False, False), lambda sample: fails(sample.text)).text


@pytest.mark.parametrize(
    ("text", "fails", "minimal"),
    [
        ("Hello  wonderful\nworld", lambda text: "  " in text, "  "),
        ("Hello wonderful world", lambda text: len(text) >= 3, "aaa"),
        ("Hello wonderful world", lambda _: True, ""),
        ("abc xyzzy def", lambda text: any(a == b for a, b in pairwise(text)), "aa"),
        ("a<start_of_turn>user b", lambda text: "<start_of_turn>" in text, "<start_of_turn>"),
        ("xx[one]yy[two]zz", lambda text: "[one]" in text and "[two]" in text, "[one][two]"),
        ("naïve \u05ffwörld", lambda text: "\u05ff" in text, "\u05ff"),
        ("na\u0301i\u05ff", lambda text: any(c in text for c in "\u05ff\u0378"), "\u0378"),
        ("The YEAR 1984", lambda text: any(c.isdigit() for c in text), "0"),
        ("Straße Ünder", lambda text: any(not c.isascii() for c in text), "µ"),
        ("bar\tbaz", lambda text: any(c.isspace() for c in text), " "),
        ("say 'xyz' now", lambda text: text.count("'") == 2, "''"),
        ("\x1b[0m", lambda text: any(ord(c) < 32 for c in text), "\n"),
    ],
)
def test_shrinking_keeps_only_what_matters(text, fails, minimal):
    assert shrunk(text, fails) == minimal


@pytest.mark.parametrize(
    ("needs", "left"),
    [
        (lambda sample: True, (False, False)),
        (lambda sample: sample.add_special, (True, False)),
        (lambda sample: sample.parse_special, (False, True)),
        (lambda sample: sample.add_special and sample.parse_special, (True, True)),
        (lambda sample: sample.add_special or sample.parse_special, (False, True)),
    ],
)
def test_options_are_dropped_unless_they_are_needed(needs, left):
    assert shrink(Sample("x", True, True), needs) == Sample("", *left)


def test_shrinking_is_deterministic_and_respects_the_limit():
    calls: list[Sample] = []

    def fails(sample: Sample) -> bool:
        calls.append(sample)
        return sum(map(ord, sample.text)) % 7 == 3

    sample = Sample("abcdefghij" * 20 + "j", True, True)
    assert fails(sample._replace(text=sample.text)) == fails(sample)
    first = shrink(sample, fails)
    once = calls[2:]
    assert shrink(sample, fails) == first
    assert calls[2 + len(once) :] == once
    calls.clear()
    assert len(shrink(sample, fails, max_calls=10).text) > len(first.text)
    assert len(calls) == 10


@given(st.text(max_size=30), st.text(min_size=1, max_size=5), st.text(max_size=30))
def test_only_the_part_that_fails_is_left(before, needle, after):
    assert shrunk(before + needle + after, lambda text: needle in text) == needle


@given(st.text(min_size=1, max_size=40))
def test_the_result_fails_and_is_no_longer(text):
    def fails(candidate: str) -> bool:
        return hash_of(candidate) % 3 == hash_of(text) % 3

    minimal = shrunk(text, fails)
    assert fails(minimal)
    assert len(minimal) <= len(text)


def hash_of(text: str) -> int:
    return sum(index * ord(character) for index, character in enumerate(text, 1))
