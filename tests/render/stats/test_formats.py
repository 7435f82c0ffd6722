import json
from dataclasses import replace

import lxml.html
import pytest

from support.ci_reading import check_visible
from support.fake_tokenizer import FakeTokenizer
from support.markdown_reading import check_plain
from tokverify.explain.stats.measure import StatsSubject, measure
from tokverify.render.kinds import FORMATS, present
from tokverify.render.options import RenderOptions
from tokverify.report.codec import SCHEMA_VERSION
from tokverify.report.stats import StatsReport

LETTERS = "abcdefghijklmnopqrstuvwxyz \n"
HOSTILE = ("[/INST] [red]", "\x1b[31mx\u202e")


def render(stats: StatsReport, options: RenderOptions) -> str:
    return FORMATS["stats"]["table"](stats, options)


@pytest.fixture
def stats(tmp_path):
    (tmp_path / "a.txt").write_text("some words \nand more\n")
    (tmp_path / "b.py").write_text("a = 1\n")
    subjects = [
        StatsSubject("[red]\x1bone", "one.gguf", FakeTokenizer(*LETTERS, *HOSTILE), unknown=frozenset([0])),
        StatsSubject("two", "two.gguf", FakeTokenizer(*LETTERS, "=", "1", "some", special_ids={"bos": 0})),
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


@pytest.mark.parametrize("width", [60, 80])
def test_on_narrow_terminals_sizes_and_tokens_are_separate_tables(stats, width: int):
    lines = render(stats, RenderOptions(width=width)).splitlines()
    assert "kind   text    bytes  characters  words" in lines
    assert "prose  Latin      21          21      4" in lines
    start = next(index for index, line in enumerate(lines) if "/byte" in line)
    assert lines[start : start + 4] == [
        "                        tokens  /byte  /character  /word",
        "Latin",
        "  [red]\\x1bone  21 (1 unknown)  1.000       1.000  5.250",
        "  two                       18  0.857       0.857  4.500",
    ]
    alone = render(replace(stats, **_first_only(stats)), RenderOptions(width=50)).splitlines()
    assert "Latin   21 (1 unknown)  1.000       1.000  5.250" in alone


def _first_only(stats) -> dict[str, object]:
    texts = [replace(text, counts=text.counts[:1]) for text in stats.texts]
    return {"tokenizers": stats.tokenizers[:1], "texts": tuple(texts)}


def test_a_text_that_a_tokenizer_cannot_encode_is_reported(stats):
    assert "[red]\\x1bone cannot encode code Python: no piece for '='" in render(stats, RenderOptions())


def test_the_remarks_are_those_that_apply(stats):
    shown = " ".join(render(stats, RenderOptions()).split())
    assert "two: tokens not counted as long or unused: 1 special" in shown
    assert "an unknown token can represent any amount of text" in shown
    assert "1 line of these texts ends in spaces or tabs" in shown
    assert "unused tokens" in shown
    assert "pieces" not in shown
    assert "samples" not in shown


def test_the_samples_are_named_as_ours():
    shown = render(measure([StatsSubject("one", "one", FakeTokenizer("a"))]), RenderOptions())
    assert "the bundled samples" in shown
    assert "counted only for files" in shown
    assert "tokenizer " not in shown.split("kind")[1].split("\n")[0]
    assert "unused tokens  " not in shown


@pytest.mark.parametrize("width", [40, 100])
def test_nothing_hostile_reaches_the_terminal(stats, width):
    shown = render(stats, RenderOptions(width=width))
    assert all(line.isprintable() for line in shown.split("\n"))


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("name", FORMATS["stats"])
def test_no_format_contains_anything_invisible(stats, name, verbose):
    check_visible(FORMATS["stats"][name](stats, RenderOptions(verbose=verbose)))


def test_the_verdict_compares_what_all_can_encode(stats):
    sentence = (
        "1 text, 21 bytes: 1.000 tokens per byte with [red]\\x1bone, 0.857 with two; [red]\\x1bone cannot encode 1 text"
    )
    assert present("stats", stats).verdict == sentence
    assert render(stats, RenderOptions(width=200)).split("\n")[-2] == sentence
    assert render(stats, RenderOptions(width=200, quiet=True)) == f"{sentence}\n"
    nothing = replace(
        stats, tokenizers=stats.tokenizers[:1], texts=(replace(stats.texts[1], counts=stats.texts[1].counts[:1]),)
    )
    assert present("stats", nothing).verdict.startswith("0 texts, 0 bytes: no text that all tokenizers can encode; ")


def test_verbose_shows_each_language_and_each_indentation():
    measured = measure([StatsSubject("one", "one", FakeTokenizer(*LETTERS), unknown=frozenset([0]))])
    probe = replace(measured.tokenizers[0].probe, against_english={"Thai": 2.5, "Lao": 4.0})
    measured = replace(measured, tokenizers=(replace(measured.tokenizers[0], probe=probe, fingerprint="ab"),))
    lines = [line.split() for line in render(measured, RenderOptions(verbose=True)).split("\n")]
    assert ["Thai", "2.50"] in lines
    assert ["tokens", "for", "16", "spaces", "16"] in lines
    assert ["fingerprint", "ab"] in lines
    brief = render(measured, RenderOptions())
    assert "Lao 4.00" in brief
    assert "for 16 spaces" not in brief


def test_markdown_is_a_table_for_each_thing(stats):
    text = FORMATS["stats"]["markdown"](stats, RenderOptions())
    assert "| prose | Latin | 21 | 21 | 4 | \\[red\\]\\\\x1bone | 21 (1 unknown) | 1.000 | 1.000 | 5.250 |" in text
    check_plain(text)


def test_the_page_has_a_bar_for_each_rate(stats):
    root = lxml.html.fromstring(FORMATS["stats"]["html"](stats, RenderOptions()))
    bars = root.xpath("//svg[@class='rate']/rect[@class!='ground']")
    assert [bar.get("width") for bar in bars] == ["100.0%", "85.71%", "100.0%"]
    assert [bar.get("class") for bar in bars].count("is-notice") == 1
    assert root.xpath("string(//h1)").split(maxsplit=1)[1] == "Not all measured"
    assert "[red]\\x1bone cannot encode code Python: no piece for '='" in root.text_content()


def test_json_contains_everything(stats):
    document = json.loads(FORMATS["stats"]["json"](stats, RenderOptions()))
    assert (document["schema_version"], document["kind"]) == (SCHEMA_VERSION, "stats")
    assert document["summary"] == {"exit_code": 1, "tokens_per_byte": [1.0, 18 / 21]}
    assert [tokenizer["name"] for tokenizer in document["tokenizers"]] == ["[red]\x1bone", "two"]
    prose, code = document["texts"]
    assert prose["counts"][1] == {
        "name": "two",
        "tokens": 18,
        "unknown": 0,
        "per_byte": 18 / 21,
        "per_character": 18 / 21,
        "per_word": 4.5,
    }
    assert code["counts"][0]["tokens"] is None
    assert document["tokenizers"][0]["failures"] == ["code Python: no piece for '='"]
    assert document["tokenizers"][0]["longest"][0]["piece"] == HOSTILE[0]
    assert document["tokenizers"][1]["excluded"] == {"special": 1}
    assert document["tokenizers"][0]["probe"]["single_numbers"] is None
    assert document["tokenizers"][1]["probe"]["indentation"] == {str(width): width for width in range(1, 17)}
    assert FORMATS["stats"]["json"](stats, RenderOptions()) == FORMATS["stats"]["json"](stats, RenderOptions())


@pytest.mark.parametrize("name", ["table", "markdown", "html"])
def test_a_very_long_token_is_shortened(tmp_path, name: str):
    (tmp_path / "a.txt").write_text("some words\n")
    long = StatsSubject("one", "one.gguf", FakeTokenizer(*LETTERS, "xy" * 50_000))
    shown = FORMATS["stats"][name](measure([long], [tmp_path / "a.txt"]), RenderOptions())
    assert shown.count("xy") < 1000
    assert "100,000" in shown


def test_a_hostile_name_in_a_remark_is_escaped(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    tokenizer = FakeTokenizer(*LETTERS, special_ids={"bos": 0})
    shown = render(measure([StatsSubject("[red]\x1bone", "x", tokenizer)], [tmp_path / "a.txt"]), RenderOptions())
    assert "- [red]\\x1bone: tokens not counted as long or unused" in shown
    assert "\x1b" not in shown
