"""The comparison of two recordings: what is replaced, what is expected, and what fails."""

import pytest
from gguf import GGUFReader

from oracles.comparison import Expectation, compare, divide, read_expectations, render
from oracles.inputs import VARIANTS, write_variant
from oracles.recording import normalize
from support.paths import SAMPLE


@pytest.fixture
def recordings(tmp_path):
    """Return a function that writes two recordings, given by the texts of each entry."""

    def write(**entries):
        for number, side in enumerate(("first", "second")):
            (tmp_path / side).mkdir()
            for name, texts in entries.items():
                if texts[number] is not None:
                    (tmp_path / side / f"{name}.txt").write_text(texts[number], encoding="utf-8")
        return tmp_path / "first", tmp_path / "second"

    return write


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/h/work/a.gguf and /h/cache", "<work>/a.gguf and <home>/cache"),
        ("tokverify, version 1.2.3 (native engine)", "tokverify, version <version> (native engine)"),
        ("1.2.34 and 11.2.3", "1.2.34 and 11.2.3"),
        ("at 2026-11-26T02:12:35.5+00:00", "at <time>"),
        ('<testcase name="a" time="0.123">', '<testcase name="a" time="<duration>">'),
        ("91.4 kB of text per second and worker", "<rate> of text per second and worker"),
        ('{"seconds": 1.5e-3, "count": 15}', '{"seconds": <duration>, "count": 15}'),
    ],
)
def test_what_changes_from_run_to_run_is_replaced(text, expected):
    assert normalize(text, {"/h": "<home>", "/h/work": "<work>"}, "1.2.3") == expected


def test_equal_recordings_have_no_difference(recordings):
    comparison = compare(*recordings(a=("x\n", "x\n"), b=("y\n", "y\n")), [])
    assert (comparison.entries, comparison.unexpected, comparison.absent) == (2, [], [])


def test_a_changed_message_is_shown_once_for_all_its_entries(recordings):
    changed = ("exit code 1\nold message\n", "exit code 1\nnew message\n")
    comparison = compare(*recordings(a=changed, b=changed, c=("x\n", "x\n")), [])
    assert [one.name for one in comparison.unexpected] == ["a", "b"]
    text = render(comparison)
    assert text.count("-old message\n+new message") == 1
    assert text.startswith("a, b\n")
    assert text.endswith("3 entries: 2 differ unexpectedly, 0 as expected")


def test_an_entry_of_only_one_recording_differs(recordings):
    comparison = compare(*recordings(a=("x\n", None), b=("y\n", "y\n")), [])
    assert [one.name for one in comparison.unexpected] == ["a"]


def test_a_listed_entry_may_differ_in_the_listed_lines_only(recordings):
    first, second = recordings(a=("old words\n", "new words\n"), b=("old words\n1\n", "new words\n2\n"))
    comparison = compare(first, second, [Expectation("?", "a reason", r"\bwords$")])
    assert [one.name for one in comparison.expected] == ["a"]
    assert [one.name for one in comparison.unexpected] == ["b"]
    assert compare(first, second, [Expectation("*")]).unexpected == []


def test_a_listed_difference_that_does_not_occur_is_reported(recordings):
    comparison = compare(
        *recordings(a=("x\n", "y\n")), [Expectation("a"), Expectation("a", lines="z"), Expectation("b")]
    )
    assert [one.pattern + one.lines for one in comparison.absent] == ["az", "b"]
    assert "expected, but does not occur: b" in render(comparison)


def test_recordings_without_entries_are_rejected(tmp_path):
    with pytest.raises(ValueError, match="contain no recordings"):
        compare(tmp_path, tmp_path, [])


def test_an_invalid_list_of_expected_differences_is_rejected(tmp_path):
    path = tmp_path / "expected.yaml"
    path.write_text("- {patern: a}\n")
    with pytest.raises(ValueError, match=r"expected\.yaml: each item has a `pattern`"):
        read_expectations(path)


def test_long_lines_are_divided_without_loss():
    text = "<p>a</p>" * 100 + "\nshort, line\n" + "x" * 1000
    assert "".join(divide(text)) == text
    assert "short, line\n" in divide(text)
    assert max(map(len, divide("<p>a</p>" * 100))) < 10


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("eos", "eos_token_id", 3),
        ("eot-5", "eot_token_id", 5),
        ("no-bos", "add_bos_token", False),
        ("second-pad", "padding_token_id", 2000),
    ],
)
def test_a_variant_differs_from_the_sample_as_named(tmp_path, name, key, value):
    path = tmp_path / "variant.gguf"
    write_variant(SAMPLE / "sample.gguf", path, VARIANTS[name])
    before, after = (GGUFReader(one).fields for one in (SAMPLE / "sample.gguf", path))
    assert after[f"tokenizer.ggml.{key}"].contents() == value
    assert after["general.name"].contents() == before["general.name"].contents()
    assert before.keys() <= after.keys()
    if key.endswith("_id"):
        assert after[f"tokenizer.ggml.{key}"].types == before["tokenizer.ggml.eos_token_id"].types
