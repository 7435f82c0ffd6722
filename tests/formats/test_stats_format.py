import json

import pytest
from fake_tokenizer import FakeTokenizer

from tokverify.formats import RenderOptions
from tokverify.formats.stats import render_json
from tokverify.formats.stats_table import render
from tokverify.stats.measure import measure
from tokverify.stats.subject import Subject

LETTERS = "abcdefghijklmnopqrstuvwxyz \n"
HOSTILE = ("[/INST] [red]", "\x1b[31mx\u202e")


@pytest.fixture
def stats(tmp_path):
    (tmp_path / "a.txt").write_text("some words \nand more\n")
    (tmp_path / "b.py").write_text("a = 1\n")
    subjects = [
        Subject("[red]\x1bone", "one.gguf", FakeTokenizer(*LETTERS, *HOSTILE), unknown=frozenset([0])),
        Subject("two", "two.gguf", FakeTokenizer(*LETTERS, "=", "1", "some", special_ids={"bos": 0})),
    ]
    return measure(subjects, [tmp_path / "a.txt", tmp_path / "b.py"])


def test_the_table_shows_each_text_with_each_tokenizer(stats):
    shown = render(stats, RenderOptions(width=120))
    lines = [line.split() for line in shown.splitlines()]
    assert [
        "prose",
        "Latin",
        "21",
        "21",
        "4",
        "[red]\\x1bone",
        "21",
        "(1",
        "unknown)",
        "1.000",
        "1.000",
        "5.250",
    ] in lines
    assert ["two", "18", "0.857", "0.857", "4.500"] in lines
    assert ["code", "Python", "6", "6", "3", "[red]\\x1bone", "-", "-", "-", "-"] in lines
    assert ["two", "6", "1.000", "1.000", "2.000"] in lines


def test_what_a_tokenizer_cannot_encode_is_told(stats):
    assert "[red]\\x1bone cannot encode code Python: no piece for '='" in render(stats, RenderOptions())


def test_the_remarks_are_those_that_apply(stats):
    shown = " ".join(render(stats, RenderOptions()).split())
    assert "two: not counted as long or never used: 1 special" in shown
    assert "an unknown token stands for any amount of text" in shown
    assert "1 line of these texts ends in spaces or tabs" in shown
    assert "tokens never used" in shown
    assert "pieces" not in shown
    assert "samples" not in shown


def test_the_samples_are_named_as_ours():
    shown = render(measure([Subject("one", "one", FakeTokenizer("a"))]), RenderOptions())
    assert "our own samples" in shown
    assert "told for files only" in shown
    assert "tokenizer " not in shown.split("kind")[1].split("\n")[0]
    assert "tokens never used" not in shown


@pytest.mark.parametrize("width", [40, 100])
def test_nothing_hostile_reaches_the_terminal(stats, width):
    shown = render(stats, RenderOptions(width=width))
    assert all(line.isprintable() for line in shown.split("\n"))


def test_json_holds_all_of_it(stats):
    document = json.loads(render_json(stats))
    assert document["schema_version"] == 1
    assert [tokenizer["name"] for tokenizer in document["tokenizers"]] == ["[red]\x1bone", "two"]
    prose, code = document["texts"]
    assert prose["tokenizers"][1] == {
        "name": "two",
        "tokens": 18,
        "unknown": 0,
        "per_byte": 0.8571,
        "per_character": 0.8571,
        "per_word": 4.5,
    }
    assert code["tokenizers"][0]["tokens"] is None
    assert document["tokenizers"][0]["failures"] == ["code Python: no piece for '='"]
    assert document["tokenizers"][0]["longest"][0]["piece"] == HOSTILE[0]
    assert document["tokenizers"][1]["excluded"] == {"special": 1}
    assert document["tokenizers"][0]["single_token_numbers"] is None
    assert document["tokenizers"][1]["indentation"] == {str(width): width for width in range(1, 17)}
    assert render_json(stats) == render_json(stats)


def test_a_hostile_name_is_shown_in_a_remark_as_everywhere_else(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    tokenizer = FakeTokenizer(*LETTERS, special_ids={"bos": 0})
    shown = render(measure([Subject("[red]\x1bone", "x", tokenizer)], [tmp_path / "a.txt"]), RenderOptions())
    assert "- [red]\\x1bone: not counted as long or never used" in shown
    assert "\x1b" not in shown
