"""Recording edits the text of a suite: it adds and replaces expectations and changes nothing else."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tokverify.cases.loading import shipped_suites
from tokverify.cases.suite import parse_suite
from tokverify.cases.suite_writer import insert_expected

# A suite, the ids recorded for case `a` under the key `g`, and the resulting suite.
EDITS = {
    "no expect": (
        "cases:\n  - id: a\n    text: x\n  - id: b\n    text: y\n",
        "cases:\n  - id: a\n    text: x\n    expect:\n      g: [1, 2]\n  - id: b\n    text: y\n",
    ),
    "no expect, at the end without a newline": (
        "cases:\n- id: a\n  text: x",
        "cases:\n- id: a\n  text: x\n  expect:\n    g: [1, 2]",
    ),
    "comments stay where they are": (
        "cases: # all\n  # first\n  - id: a  # its id\n    text: x  # its text\n\n"
        "  # second\n  - {id: b, text: y}\n# end\n",
        "cases: # all\n  # first\n  - id: a  # its id\n    text: x  # its text\n    expect:\n      g: [1, 2]\n\n"
        "  # second\n  - {id: b, text: y}\n# end\n",
    ),
    "in braces": (
        "cases: [{id: a, text: x}, {id: b, text: y}]\n",
        "cases: [{id: a, text: x, expect: {g: [1, 2]}}, {id: b, text: y}]\n",
    ),
    "in braces over lines": (
        "cases:\n  - { id: a, # c\n      text: x, # d\n    }\n",
        "cases:\n  - { id: a, # c\n      text: x, expect: {g: [1, 2]}, # d\n    }\n",
    ),
    "another key": (
        "cases:\n- id: a\n  expect:\n    h: [3]  # h\n  text: x\n",
        "cases:\n- id: a\n  expect:\n    h: [3]  # h\n    g: [1, 2]\n  text: x\n",
    ),
    "another key in braces": (
        "cases:\n- id: a\n  expect: {h: [3]} # h\n  text: x\n",
        "cases:\n- id: a\n  expect: {h: [3], g: [1, 2]} # h\n  text: x\n",
    ),
    "empty braces": (
        "cases:\n- {id: a, text: x, expect: {}}\n",
        "cases:\n- {id: a, text: x, expect: {g: [1, 2]}}\n",
    ),
    "the key": (
        "cases:\n- id: a\n  expect:\n    g: [3, 4, 5]  # g\n    h: [6]\n  text: x\n",
        "cases:\n- id: a\n  expect:\n    g: [1, 2]  # g\n    h: [6]\n  text: x\n",
    ),
    "the key, quoted": (
        "cases:\n- {id: a, text: x, expect: {'g': [3]}}\n",
        "cases:\n- {id: a, text: x, expect: {'g': [1, 2]}}\n",
    ),
    "the key, in lines": (
        "cases:\n- id: a\n  text: x\n  expect:\n    g:\n    - 3\n    - 4\n\n- {id: b, text: y}\n",
        "cases:\n- id: a\n  text: x\n  expect:\n    g: [1, 2]\n\n- {id: b, text: y}\n",
    ),
    "after a text in lines": (
        "cases:\n  - id: a\n    text: |\n      x\n        y\n  - id: b\n    text: y\n",
        "cases:\n  - id: a\n    text: |\n      x\n        y\n    expect:\n      g: [1, 2]\n  - id: b\n    text: y\n",
    ),
    "after a folded text": (
        "cases:\n  - id: a\n    text: x\n      y\n  - id: b\n    text: y\n",
        "cases:\n  - id: a\n    text: x\n      y\n    expect:\n      g: [1, 2]\n  - id: b\n    text: y\n",
    ),
    "escapes and quotes": (
        "cases:\n  - text: \"e\\u0301 \\xa0\\t\"\n    id: 'a'\n",
        "cases:\n  - text: \"e\\u0301 \\xa0\\t\"\n    id: 'a'\n    expect:\n      g: [1, 2]\n",
    ),
    "an alias elsewhere": (
        "cases:\n  - {id: b, text: &t y, tags: [k]}\n  - id: a\n    text: *t\n",
        "cases:\n  - {id: b, text: &t y, tags: [k]}\n  - id: a\n    text: *t\n    expect:\n      g: [1, 2]\n",
    ),
    "an anchor on the case": (
        "cases:\n  - &c\n    id: a\n    text: x\n",
        "cases:\n  - &c\n    id: a\n    text: x\n    expect:\n      g: [1, 2]\n",
    ),
}


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def _each_parser(request, monkeypatch):
    if request.param == "SafeLoader":
        monkeypatch.delattr(yaml, "CSafeLoader")


@pytest.mark.usefixtures("_each_parser")
@pytest.mark.parametrize(("before", "after"), EDITS.values(), ids=EDITS)
def test_only_recorded_expectations_change(before, after):
    assert insert_expected(before, "g", {"a": (1, 2)}) == after
    assert insert_expected(after, "g", {"a": (1, 2)}) == after
    old, new = parse_suite(before, "f", "s"), parse_suite(after, "f", "s")
    assert not old.complaints + new.complaints
    assert [case.text for case in old.cases] == [case.text for case in new.cases]
    assert {case.id: case.expect.get("g") for case in new.cases}["a"] == (1, 2)


@pytest.mark.parametrize(("before", "after"), EDITS.values(), ids=EDITS)
def test_other_newlines_stay(before, after):
    windows = before.replace("\n", "\r\n")
    assert insert_expected(windows, "g", {"a": (1, 2)}).replace("\r\n", "\n") == after
    assert "\n" not in insert_expected(windows, "g", {"a": (1, 2)}).replace("\r\n", "")


def test_recording_nothing_changes_nothing():
    text = "cases:\n  - id: a\n    text: x\n    expect: {g: [1]}\n"
    assert insert_expected(text, "g", {}) == text
    assert insert_expected(text, "g", {"absent": (1,)}) == text


def test_expectations_of_several_cases_are_added_at_once():
    text = "cases:\n  - {id: a, text: x}\n  - {id: b, text: y}\n  - {id: c, text: z}\n"
    assert insert_expected(text, "g", {"c": (3,), "a": ()}) == (
        "cases:\n  - {id: a, text: x, expect: {g: []}}\n  - {id: b, text: y}\n  - {id: c, text: z, expect: {g: [3]}}\n"
    )


@pytest.mark.parametrize(
    "key", ["gemma-3", "no", "1e5", "12345678", "a: b", "a b", "x'\"\\\n\u202e", "~", "*a", "é", "y"]
)
def test_any_key_reads_back(key):
    text = insert_expected("cases:\n  - {id: a, text: x}\n  - id: b\n    text: y\n", key, {"a": (1,), "b": (2,)})
    suite = parse_suite(text, "f", "s")
    assert not suite.complaints
    assert [case.expect for case in suite.cases] == [{key: (1,)}, {key: (2,)}]
    assert insert_expected(text, key, {"a": (1,), "b": (2,)}) == text


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize("case", ["- {id: a, text: x}", "- id: a\n    text: x"])
def test_long_lists_are_broken_into_lines(case):
    ids = tuple(range(0, 100_000, 7))
    text = insert_expected(f"cases:\n  {case}\n", "g", {"a": ids})
    suite = parse_suite(text, "f", "s")
    assert not suite.complaints
    assert suite.cases[0].expect["g"] == ids
    assert max(map(len, text.split("\n"))) <= 140
    assert insert_expected(text, "g", {"a": (1,)}).count("\n") < 6


@pytest.mark.parametrize("path", sorted(shipped_suites().glob("*.yaml")), ids=lambda path: path.stem)
def test_the_shipped_suites_keep_every_line(path):
    text = path.read_text(encoding="utf-8")
    before = parse_suite(text, "f", path.stem)
    recorded = {case.id: (number, number + 1) for number, case in enumerate(before.cases)}
    edited = insert_expected(text, "new model", recorded)
    after = parse_suite(edited, "f", path.stem)
    assert not after.complaints
    assert len(after.hints) == len(before.hints)
    assert [case.expect["new model"] for case in after.cases] == list(recorded.values())
    assert [(c.id, c.text, c.tags, c.note) for c in after.cases] == [
        (c.id, c.text, c.tags, c.note) for c in before.cases
    ]
    left = iter(edited)
    assert all(character in left for character in text), "something was taken away"


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff"), max_size=20), max_size=4
    )
)
def test_any_text_is_left_unchanged(texts):
    from tokverify.case import Case
    from tokverify.cases.suite_writer import render_suite

    cases = [Case(id=f"c{n}", suite="s", text=text) for n, text in enumerate(texts)] or [
        Case(id="c0", suite="s", text="")
    ]
    before = render_suite(cases, note="n")
    recorded = {case.id: (1, 2, 3) for case in cases}
    suite = parse_suite(insert_expected(before, "g", recorded), "f", "s")
    assert [case.text for case in suite.cases] == [case.text for case in cases]
    assert all(case.expect == {"g": (1, 2, 3)} for case in suite.cases)
