from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.case import Case
from tokverify.cases.loading import load_cases, load_suites
from tokverify.cases.suite_writer import quote_yaml, render_suite
from tokverify.cases.yaml_node import Mapping, Scalar, parse

HOSTILE = (
    "[/INST]",
    "\x1b[31m",
    "a\0b",
    "\u202ex",
    " a\tb\r\n",
    'say "\\n"',
    "no",
    "e\u0301",
    "\ufeff",
    "\u2028",
    "·→↵",
)


def read_back(text: str) -> str:
    root = parse(f"text: {quote_yaml(text)}\n")
    assert isinstance(root, Mapping)
    (_, value), *_ = root.pairs()
    assert isinstance(value, Scalar)
    return value.value


def case(text: str, number: int, **options) -> Case:
    return Case(id=f"ids-{number}", suite="found", text=text, note=f"of {text}", tags=("fuzz", "odd"), **options)


def test_a_written_suite_reads_back_unchanged_without_errors_or_hints(tmp_path: Path):
    cases = [
        case(text, number, add_special=number % 2 == 0, parse_special=number % 3 == 0)
        for number, text in enumerate(HOSTILE)
    ]
    path = tmp_path / "found.yaml"
    path.write_text(render_suite(cases, note="from a test: 'x'"), encoding="utf-8")
    read = load_cases([path])
    assert [(c.id, c.suite, c.text, c.note, c.tags, c.add_special, c.parse_special) for c in read] == [
        (c.id, c.suite, c.text, c.note, c.tags, c.add_special, c.parse_special) for c in cases
    ]
    assert load_suites([path])[0].hints == []


def test_expectations_are_written_too(tmp_path: Path):
    expect = {"gemma-3": (1, 20), "12345678": ("▁the", "no", "\n", '"'), "yes": ()}
    path = tmp_path / "found.yaml"
    path.write_text(render_suite([case("x", 1, expect=expect)], note="n"), encoding="utf-8")
    assert load_cases([path])[0].expect == expect


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a b", '"a b"'),
        ("\t\n\r", r'"\t\n\r"'),
        ('"\\', r'"\"\\"'),
        ("\0\x1b\x85", r'"\x00\x1b\u0085"'),
        ("\u00a0\u202e\ue000", r'"\u00a0\u202e\ue000"'),
        ("\U000e0001", r'"\U000e0001"'),
        ("é語🦙", '"é語🦙"'),
        ("e\u0301", r'"e\u0301"'),
    ],
)
def test_invisible_characters_are_escaped(text, written):
    assert quote_yaml(text) == written


@pytest.mark.process  # takes seconds
@given(st.text())
def test_any_text_reads_back(text):
    assert read_back(text) == text
